//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
)

// An execution whose owners die one after the other is offered again only after
// 2^strikes seconds, and after MaxStrikes not at all.
func TestStrikes(t *testing.T) {
	c := newClock()
	db := open(t, WithClock(c.now), WithoutNodeLocks())
	lease := func(d time.Duration) {
		t.Helper()
		if _, err := db.Renew(context.Background(), "n", d, []string{"flow"}); err != nil {
			t.Fatal(err)
		}
	}
	lease(time.Minute)
	tip := commit(t, db, startFor("job", "n")).Tip
	for strike := range store.MaxStrikes {
		if strike == 0 {
			c.advance(time.Minute) // the first owner's lease is over
		} else {
			head, _, err := db.Get(context.Background(), "job")
			if err != nil || head.Strikes != strike {
				t.Fatal(head.Strikes, err)
			}
			due := head.Updated.Add(time.Second << strike)
			c.us.Store(int64(due) - 1)
			if n := runnable(t, db); n != 0 {
				t.Fatalf("strike %d: offered 1 µs early", strike)
			}
			c.us.Store(int64(due))
		}
		if n := runnable(t, db); n != 1 {
			t.Fatalf("strike %d: %d offered", strike, n)
		}
		node := store.NodeID(fmt.Sprint("m", strike))
		if _, err := db.Renew(context.Background(), node, time.Hour, []string{"flow"}); err != nil {
			t.Fatal(err)
		}
		tip = commit(t, db, take("job", tip, node, store.Lapsed)).Tip
		if err := db.Leave(context.Background(), node); err != nil { // it dies without having done anything
			t.Fatal(err)
		}
	}
	c.advance(1000 * time.Hour)
	if n := runnable(t, db); n != 0 {
		t.Fatal("offered after the last strike")
	}
	lease(time.Minute)
	tip = commit(t, db, take("job", tip, "n", store.AnyOwner)).Tip // an operator can
	head, _, err := db.Get(context.Background(), "job")
	if err != nil || head.Strikes != store.MaxStrikes {
		t.Fatal(head.Strikes, err)
	}
	commit(t, db, next("job", tip, "n"))
	if head, _, err = db.Get(context.Background(), "job"); err != nil || head.Strikes != 0 {
		t.Fatalf("%d strikes after progress, %v", head.Strikes, err)
	}
}
