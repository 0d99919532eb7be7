//go:build unix

package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/loomwork/loom/store"
)

// case 61: a hint may be stale or spurious, but a commit of any process, this one
// too, is followed by one.
func TestHints(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	v, err := db.Await(ctx, 0)
	if err != nil || v == 0 {
		t.Fatal(v, err)
	}
	for what, act := range map[string]func(){
		"this handle":   func() { commit(t, db, startOf("a")) },
		"another":       func() { commit(t, openAt(t, db.Path()), startOf("b")) },
		"another again": func() { spawn(t, "start", db.Path(), "c").ended(t) },
	} {
		woken := make(chan int64)
		go func() {
			now, err := db.Await(ctx, v)
			if err != nil {
				t.Error(err)
			}
			woken <- now
		}()
		act()
		if now := <-woken; now == v {
			t.Fatalf("a commit by %s: the version is still %d", what, now)
		}
		if v, err = db.Await(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	done, cancel := context.WithCancelCause(ctx)
	why := errors.New("enough")
	cancel(why)
	if _, err := db.Await(done, v); !errors.Is(err, why) {
		t.Fatalf("await with a ctx that is over: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- second(db.Await(ctx, v)) }()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrClosed) {
		t.Fatalf("await while the store is closed: %v", err)
	}
}
