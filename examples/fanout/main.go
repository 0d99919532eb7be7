// Fanout: the words in all files below a directory are counted, a child for each folder and
// a step for each file, so many at a time and no more.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	ctx := context.Background()
	folder := NewFolder(func(ctx context.Context, file string) (Count, error) {
		c, err := readFile(ctx, file)
		fmt.Printf("%6d words in %s\n", c.Words, file)
		return c, err
	})
	tree := NewTree(folder)
	rt, err := loom.Open(ctx, sqlite.Open("fanout.db"), loom.Flows(tree, folder))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := tree.Start(ctx, rt, Job{Dir: dir, Files: 4, Folders: 2})
	if err != nil {
		log.Fatal(err)
	}
	total, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d words and %d lines in %d files\n", total.Words, total.Lines, total.Files)
}
