//go:build linux

package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/loomwork/loom/store"
)

func init() { children["ioerror"] = childIOError }

// A commit whose write the operating system fails may or may not be found later:
// it is Unknown, and sending it again resolves it.
func TestWriteErrorIsUnknown(t *testing.T) {
	db := open(t)
	tip := commit(t, db, startOf("x")).Tip
	p := spawn(t, "ioerror", db.Path())
	if got := p.hear(t); got != "unknown io" {
		t.Fatalf("a commit whose write failed: %s", got)
	}
	if got := p.hear(t); got != "committed" {
		t.Fatalf("sent again: %s", got)
	}
	p.ended(t)
	after, err := db.Tip(context.Background(), "x")
	if err != nil || after.Head != tip.Head+1 {
		t.Fatalf("head %d, %v", after.Head, err)
	}
	sound(t, db)
}

// childIOError lets no file of this process grow, commits, lifts the limit and
// commits the same again.
func childIOError(args []string, _ *bufio.Scanner) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	db, err := OpenDB(ctx, args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	tip, err := db.Tip(ctx, "x")
	if err != nil {
		return err
	}
	req := next("x", tip, "")
	copy(req.Nonce[:], "from the child")
	req.Events[0].Payload = []byte(strings.Repeat("x", 1<<20))
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	now := was
	now.Cur = uint64(sizeOf(args[0]+"-wal") + 64<<10)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	res, err := db.Commit(ctx, req)
	if err != nil {
		return err
	}
	code, _ := classify(res[0].Err)
	fmt.Println(res[0].Outcome, string(code))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if res, err = db.Commit(ctx, req); err != nil {
		return err
	}
	fmt.Println(res[0].Outcome)
	if res[0].Outcome != store.Committed {
		return errors.Join(res[0].Err)
	}
	return nil
}
