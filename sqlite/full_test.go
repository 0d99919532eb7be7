//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// sound checks the whole file: structure, and every log as long as its head row
// says.
func sound(t *testing.T, db *DB) {
	t.Helper()
	for _, f := range db.Diagnose(context.Background()) {
		if f.Gravity == Wrong {
			t.Errorf("%s: %s", f.Check, f.Detail)
		}
	}
}

// A full file: the request that does not fit fails, with nothing of it written,
// its neighbours in the same flush do not, and it goes on when there is room.
func TestFullFile(t *testing.T) {
	db := open(t, func(o *options) { o.maxPages = 60 })
	small := commit(t, db, startOf("small")).Tip
	large := commit(t, db, startOf("large")).Tip
	req := next("large", large, "")
	req.Events = append(req.Events, ev("large", 2, strings.Repeat("x", 1<<20)))
	req.Post = []store.Post{{To: "small", Message: store.Message{ID: "m", Name: "n"}}}
	release := hold(db)
	var all sync.WaitGroup
	var res store.Result
	all.Go(func() { commitAsync(t, db, next("small", small, "")) })
	eventually(t, "one waits", func() bool { return db.writer.length() == 1 })
	all.Go(func() { res = try(t, db, req) })
	eventually(t, "two wait", func() bool { return db.writer.length() == 2 })
	all.Go(func() { commitAsync(t, db, startOf("another")) })
	eventually(t, "three wait", func() bool { return db.writer.length() == 3 })
	release()
	all.Wait()
	if res.Outcome != store.Failed || !errors.Is(res.Err, store.ErrFull) {
		t.Fatalf("%v %v", res.Outcome, res.Err)
	}
	if tip, err := db.Tip(context.Background(), "large"); err != nil || tip != large {
		t.Fatalf("tip of the one that failed: %+v, %v", tip, err)
	}
	if _, mail, _ := db.Pending(context.Background(), "small", 0, 1); mail != 0 {
		t.Fatal("its message was posted")
	}
	sound(t, db)
	if err := run(db.writer.conn, "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if got := commit(t, db, req); got.Again || got.Tip.Head != 2 {
		t.Fatalf("%+v", got)
	}
	sound(t, db)
}

// A full disk, in truth. Needs root, to mount a small file system.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "loom-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v, %s", err, out)
	}
	defer exec.Command("umount", "-l", dir).Run()
	filler := filepath.Join(dir, "filler")
	db := openAt(t, filepath.Join(dir, "loom.db"))
	if err := os.WriteFile(filler, bytes.Repeat([]byte{1}, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	tip := commit(t, db, startOf("x")).Tip
	chunk := strings.Repeat("x", 64<<10)
	var failed store.Request
	acked := 1
	for range 100 {
		req := next("x", tip, "")
		req.Events[0].Payload = []byte(chunk)
		res := try(t, db, req)
		if res.Outcome != store.Committed {
			if res.Outcome != store.Failed || !errors.Is(res.Err, store.ErrFull) {
				t.Fatalf("%v %v", res.Outcome, res.Err)
			}
			failed = req
			break
		}
		tip, acked = res.Tip, acked+1
	}
	if failed.Execution == "" {
		t.Fatal("the disk did not get full")
	}
	if got := log(t, db, "x"); len(got) != acked {
		t.Fatalf("%d events, %d acknowledged", len(got), acked)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := commit(t, db, failed); got.Again || got.Tip.Head != event.Seq(acked) {
		t.Fatalf("%+v", got)
	}
	sound(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
