// Polling: a flow waits for a file that somebody else writes, for as long as it takes. Every
// hundred looks it continues as new, so that its log need not be read from its beginning.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

func main() {
	id := flag.String("id", "watch-1", "the watch's `id`")
	file := flag.String("file", "report.csv", "the `file` that is waited for")
	flag.Parse()
	ctx := context.Background()
	polling := NewPolling(func(file string) (int64, error) {
		size, err := sizeOf(file)
		fmt.Printf("%s: %d bytes\n", file, size)
		return size, err
	})
	rt, err := loom.Open(ctx, sqlite.Open("polling.db"), loom.Flows(polling))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := polling.Start(ctx, rt, Watch{File: *file, Every: time.Second, Batch: 100}, loom.ID(*id))
	if errors.Is(err, loom.ErrAlreadyExists) {
		fmt.Println(*id, "is there already: going on with it")
		run, err = loom.Attach[Report](rt, *id)
	}
	if err != nil {
		log.Fatal(err)
	}
	report, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("complete: %d bytes, after %d looks\n", report.Size, report.Looks)
}

// sizeOf returns how many bytes a file has, -1 if there is none.
func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return -1, nil
	case err != nil:
		return -1, err
	}
	return info.Size(), nil
}
