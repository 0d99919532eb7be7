//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

const ttl = 15 * time.Second

func renew(t testing.TB, db *DB, id store.NodeID) store.Lease {
	t.Helper()
	l, err := db.Renew(context.Background(), id, ttl, []string{"flow"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// startFor is a start of id by the node that drives it.
func startFor(id event.ExecutionID, node store.NodeID) store.Request {
	req := startOf(id)
	req.Release, req.Claim = nil, &store.Claim{Owner: node, When: store.AnyOwner}
	return req
}

func take(id event.ExecutionID, tip store.Tip, node store.NodeID, when store.When) store.Request {
	return store.Request{Execution: id, Nonce: nonce(), Expect: tip, Claim: &store.Claim{Owner: node, When: when}}
}

func runnable(t testing.TB, db *DB) int {
	t.Helper()
	heads, _, _, err := db.Runnable(context.Background(), store.Demand{Flows: []store.FlowVersion{{Flow: "flow"}}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return len(heads)
}

func isAlive(t testing.TB, db *DB, id store.NodeID) bool {
	t.Helper()
	all, err := db.Nodes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Node == id {
			return l.Alive
		}
	}
	return false
}

// childNode is the node args[1] on the file args[0]. It is told its clock and
// what to do: "renew MICROSECONDS", "start ID".
func childNode(args []string, in *bufio.Scanner) error {
	ctx := context.Background()
	c := newClock()
	db, err := OpenDB(ctx, args[0], WithClock(c.now))
	if err != nil {
		return err
	}
	node := store.NodeID(args[1])
	for in.Scan() {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "renew":
			us, _ := strconv.ParseInt(arg, 10, 64)
			c.us.Store(us)
			if _, err := db.Renew(ctx, node, ttl, []string{"flow"}); err != nil {
				return err
			}
		case "start":
			req := startFor(event.ExecutionID(arg), node)
			copy(req.Nonce[:], "node "+arg)
			res, err := db.Commit(ctx, req)
			if err != nil || res[0].Outcome != store.Committed {
				return fmt.Errorf("start: %v, %v", res, err)
			}
		}
		fmt.Println("done")
	}
	return db.Close()
}

// A killed process's node is dead at once, whatever its lease says.
func TestKilledNodeIsDeadAtOnce(t *testing.T) {
	c := newClock()
	db := open(t, WithClock(c.now))
	renew(t, db, "mine")
	p := spawn(t, "node", db.Path(), "other")
	p.tell(t, "renew %d", c.now())
	p.hear(t)
	p.tell(t, "start job")
	p.hear(t)
	tip, err := db.Tip(context.Background(), "job")
	if err != nil {
		t.Fatal(err)
	}
	if !isAlive(t, db, "other") || runnable(t, db) != 0 {
		t.Fatal("a living node counts as dead")
	}
	if res := try(t, db, take("job", tip, "mine", store.Lapsed)); res.Refusal != store.RefusedOwner {
		t.Fatalf("a living node's execution: %v", res.Refusal)
	}
	p.kill(t)
	if isAlive(t, db, "other") || runnable(t, db) != 1 {
		t.Fatal("a killed node counts as alive")
	}
	commit(t, db, take("job", tip, "mine", store.Lapsed))
	// Its row and its lock file go once nobody needs them.
	c.advance(2 * ttl)
	renew(t, db, "mine")
	renew(t, db, "mine")
	if _, err := os.Stat(db.locks.path("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the dead node's lock file: %v", err)
	}
	if all, _ := db.Nodes(context.Background()); len(all) != 1 {
		t.Fatalf("nodes: %+v", all)
	}
}

// race 32: two processes, one file, the clock jumps by two hours. All leases are
// over by the clock, and nobody loses anything; a process that does not run any
// more still does, after a ttl of time that passed in truth.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			c, mono := newClock(), &steady{}
			db := open(t, WithClock(c.now), withMono(mono))
			renew(t, db, "mine")
			p := spawn(t, "node", db.Path(), "other")
			p.tell(t, "renew %d", c.now())
			p.hear(t)
			p.tell(t, "start theirs")
			p.hear(t)
			theirs, err := db.Tip(context.Background(), "theirs")
			if err != nil {
				t.Fatal(err)
			}
			mine := commit(t, db, startFor("ours", "mine")).Tip

			c.advance(jump)
			refused := func() {
				t.Helper()
				if res := try(t, db, take("theirs", theirs, "mine", store.Lapsed)); res.Refusal != store.RefusedOwner {
					t.Fatalf("taken from a living node: %v %v", res.Outcome, res.Refusal)
				}
				if n := runnable(t, db); n != 0 {
					t.Fatalf("%d runnable", n)
				}
			}
			refused()
			mine = commit(t, db, take("ours", mine, "mine", store.Mine)).Tip // our own lease is over by the clock too
			mono.advance(ttl - time.Millisecond)
			refused()
			p.tell(t, "renew %d", c.now()) // it lives: it renews in its time
			p.hear(t)
			renew(t, db, "mine")
			mono.advance(ttl)
			refused()

			// Now it is stopped, and the clock jumps once more.
			if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			c.advance(jump)
			refused()
			mono.advance(ttl / 2)
			refused()
			mono.advance(ttl)
			renew(t, db, "mine")
			if n := runnable(t, db); n != 1 {
				t.Fatalf("%d runnable after the other node did not renew for a ttl", n)
			}
			commit(t, db, take("theirs", theirs, "mine", store.Lapsed))
			commit(t, db, take("ours", mine, "mine", store.Mine))
		})
	}
}

// race 9: a node that let its lease run out and lives gets it back.
func TestRenewalAfterTheEnd(t *testing.T) {
	c, mono := newClock(), &steady{}
	db := open(t, WithClock(c.now), withMono(mono))
	renew(t, db, "a")
	c.advance(2 * ttl)
	isAlive(t, db, "a")
	mono.advance(2 * ttl)
	if isAlive(t, db, "a") {
		t.Fatal("still alive")
	}
	if l := renew(t, db, "a"); !l.Alive || !isAlive(t, db, "a") {
		t.Fatal("not alive after a renewal")
	}
}

func TestLockFiles(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	id := store.NodeID("with/odd name")
	renew(t, db, id)
	path := db.locks.path(id)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("lock file: %v, %v", info, err)
	}
	// Somebody tidies up: that proves no death, and the next renewal repairs it.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !isAlive(t, db, id) {
		t.Fatal("dead because its lock file is missing")
	}
	renew(t, db, id)
	if got := ask(path); got != lockHeld {
		t.Fatalf("lock after the repair: %d", got)
	}
	// Another handle, as another process, may not be the same node.
	other := openAt(t, db.Path())
	if _, err := other.Renew(ctx, id, ttl, nil); !errors.Is(err, ErrBusy) {
		t.Fatalf("one node twice: %v", err)
	}
	for range 2 {
		if err := db.Leave(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("lock file after leaving: %v", err)
	}
	renew(t, other, id) // free again
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if isAlive(t, db, id) {
		t.Fatal("alive after its handle was closed")
	}
}

// Owners without a row are dead: their leases were left or pruned.
func TestOwnerWithoutLease(t *testing.T) {
	db := open(t)
	renew(t, db, "a")
	renew(t, db, "b")
	tip := commit(t, db, startFor("job", "a")).Tip
	if err := db.Leave(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	if n := runnable(t, db); n != 1 {
		t.Fatalf("%d runnable", n)
	}
	commit(t, db, take("job", tip, "b", store.Lapsed))
}
