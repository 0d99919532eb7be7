//go:build unix

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// hold keeps the writer from starting a flush until the returned function is
// called, so that a queue forms.
func hold(db *DB) (release func()) {
	db.writer.drive.Lock()
	return db.writer.drive.Unlock
}

func (w *writer) length() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mu.waiting) + len(w.mu.urgent)
}

// "It MUST overtake commits that wait in the backend's own queue."
func TestRenewalOvertakes(t *testing.T) {
	db := open(t)
	release := hold(db)
	const n = 3000
	var mu sync.Mutex
	answered := 0
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			res, err := db.Commit(context.Background(), startOf(execution(i)))
			if err != nil || res[0].Outcome != store.Committed {
				t.Error(res, err)
			}
			mu.Lock()
			answered++
			mu.Unlock()
		})
	}
	eventually(t, "the queue is long", func() bool { return db.writer.length() == n })
	before := make(chan int)
	go func() {
		renew(t, db, "late")
		mu.Lock()
		defer mu.Unlock()
		before <- answered
	}()
	eventually(t, "the renewal waits", func() bool { return db.writer.length() == n+1 })
	release()
	if got := <-before; got > n/2 {
		t.Errorf("%d commits were answered before the renewal", got)
	}
	all.Wait()
}

// Requests of one flush share a transaction and no fate: refused, failed and
// committed side by side. claim B-19: a uniqueness error of the engine that the head row
// did not foresee is a failure, and never a verdict about the execution.
func TestVerdictsOfOneFlush(t *testing.T) {
	db := open(t)
	good := commit(t, db, startOf("good")).Tip
	bad := commit(t, db, startOf("bad")).Tip
	// An event row stands where the next one of "bad" belongs: its insert fails.
	raw1(t, db, "INSERT INTO loom_events (key, sequence, kind, ts) SELECT key, 1, 'x', 0 FROM loom_heads WHERE id = 'bad'")
	release := hold(db)
	type verdict struct {
		name string
		res  store.Result
	}
	verdicts := make(chan verdict, 4)
	stale := good
	stale.Fence = 7
	for name, req := range map[string]store.Request{
		"good": next("good", good, ""), "bad": next("bad", bad, ""), "stale": next("good", stale, ""), "new": startOf("new"),
	} {
		go func() { verdicts <- verdict{name, try(t, db, req)} }()
	}
	eventually(t, "all wait", func() bool { return db.writer.length() == 4 })
	release()
	got := map[string]store.Result{}
	for range 4 {
		v := <-verdicts
		got[v.name] = v.res
	}
	if got["good"].Outcome != store.Committed || got["new"].Outcome != store.Committed {
		t.Errorf("good %v %v, new %v %v", got["good"].Outcome, got["good"].Err, got["new"].Outcome, got["new"].Err)
	}
	if got["stale"].Refusal != store.RefusedFence {
		t.Errorf("stale %v", got["stale"].Refusal)
	}
	if r := got["bad"]; r.Outcome != store.Failed || !errors.Is(r.Err, store.ErrCorrupt) {
		t.Errorf("bad %v %v", r.Outcome, r.Err)
	}
	if tip, err := db.Tip(context.Background(), "bad"); err != nil || tip != bad {
		t.Errorf("tip of the failed one: %+v, %v", tip, err)
	}
}

// Many writers share few transactions.
func TestFlushTakesAllThatWaits(t *testing.T) {
	db := open(t)
	release := hold(db)
	const n = 500
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { commitAsync(t, db, startOf(execution(i))) })
	}
	eventually(t, "all wait", func() bool { return db.writer.length() == n })
	before, err := db.Await(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	release()
	all.Wait()
	after, err := db.Await(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if after-before != 1 {
		t.Errorf("%d starts took %d transactions", n, after-before)
	}
}

func commitAsync(t *testing.T, db *DB, req store.Request) {
	res, err := db.Commit(context.Background(), req)
	if err != nil || res[0].Outcome != store.Committed {
		t.Error(res, err)
	}
}

// Close answers what waits; afterwards everything says that the store is closed.
func TestClose(t *testing.T) {
	ctx := context.Background()
	src := Open(t.TempDir() + "/loom.db")
	s, closer, err := src.OpenStore(ctx)
	if err != nil {
		t.Fatal(err)
	}
	db := src.DB()
	release := hold(db)
	const n = 50
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { commitAsync(t, db, startOf(execution(i))) })
	}
	eventually(t, "all wait", func() bool { return db.writer.length() == n })
	closed := make(chan error)
	go func() { closed <- closer() }()
	eventually(t, "close began", db.isClosed)
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if sizeOf(db.Path()+"-wal") != 0 {
		t.Error("the log was not written back")
	}
	if src.DB() != nil {
		t.Error("the source still has a handle")
	}
	_, err = s.Log.Commit(ctx, startOf("late"))
	for what, err := range map[string]error{
		"commit": err,
		"tip":    second(s.Log.Tip(ctx, "x")),
		"renew":  second(s.Leaser.Renew(ctx, "n", ttl, nil)),
		"leave":  s.Leaser.Leave(ctx, "n"),
		"post":   second(s.Inbox.Post(ctx, "x", store.Message{})),
		"delete": second(s.Deleter.Delete(ctx, "x", store.Tip{})),
		"await":  second(s.Hints.Await(ctx, 0)),
		"close":  nil,
	} {
		if what != "close" && !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
	for _, err := range s.Log.Read(ctx, "x", store.Range{}) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("read after close: %v", err)
		}
	}
	if err := closer(); err != nil {
		t.Errorf("close again: %v", err)
	}
	db = openAt(t, db.Path())
	if got := query(t, db, "SELECT count(*) FROM loom_heads"); got != n {
		t.Errorf("%d executions", got)
	}
	if free := ask(db.locks.path("n")); free != lockUnknown {
		t.Errorf("a lock file of a node that never was: %d", free)
	}
}

// H-17: a delete in pieces, with events that one call does not manage; what is
// left after each piece is never taken for a log.
func TestDeleteInPieces(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	tip := commit(t, db, startOf("long")).Tip
	for range 5 {
		req := next("long", tip, "")
		for i := range 999 {
			req.Events = append(req.Events, ev("long", tip.Head+2+event.Seq(i), "x"))
		}
		tip = commit(t, db, req).Tip
	}
	if _, err := db.Delete(ctx, "long", tip); !errors.Is(err, store.ErrRefused) {
		t.Fatalf("delete of a running execution: %v", err)
	}
	for i := range 10 {
		if _, err := db.Post(ctx, "long", store.Message{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	del := store.Request{Execution: "long", Nonce: nonce(), Expect: tip, State: store.StateDeleting, Claim: &store.Claim{When: store.Unowned}}
	tip = commit(t, db, del).Tip
	wrong := tip
	wrong.Anchor = "77"
	if _, err := db.Delete(ctx, "long", wrong); !errors.Is(err, store.ErrRefused) {
		t.Fatalf("delete of another incarnation: %v", err)
	}
	calls := 0
	for done := false; !done; calls++ {
		var err error
		if done, err = db.Delete(ctx, "long", tip); err != nil {
			t.Fatal(err)
		}
		if !done {
			if runnable(t, db) != 0 {
				t.Fatal("half a log is runnable")
			}
			if res := try(t, db, startOf("long")); res.Refusal != store.RefusedState {
				t.Fatalf("a start meanwhile: %v", res.Refusal)
			}
			if err := db.Close(); err != nil { // as if the process had died here
				t.Fatal(err)
			}
			db = openAt(t, db.Path())
		}
	}
	if calls < 3 {
		t.Errorf("%d calls removed 5,001 events", calls)
	}
	for _, table := range []string{"loom_events", "loom_inbox", "loom_heads", "loom_attrs"} {
		if n := query(t, db, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// A log longer than one piece, read while reads run inside the loop and the log
// grows.
func TestReadInPieces(t *testing.T) {
	const piece = 300
	db := open(t, func(o *options) { o.piece = piece })
	tip := commit(t, db, startOf("long")).Tip
	big := strings.Repeat("x", 100)
	for tip.Head < 2*piece+100 {
		req := next("long", tip, "")
		for i := range 199 {
			req.Events = append(req.Events, ev("long", tip.Head+2+event.Seq(i), big))
		}
		tip = commit(t, db, req).Tip
	}
	n := event.Seq(0)
	for e, err := range db.Read(context.Background(), "long", store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence != n {
			t.Fatalf("%d instead of %d", e.Sequence, n)
		}
		if n++; n%piece == 0 {
			for range 2 * db.o.pool {
				for _, err := range db.Read(context.Background(), "long", store.Range{Limit: 1}) {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			tip = commit(t, db, next("long", tip, "")).Tip
		}
	}
	if n <= 2*piece || n > tip.Head {
		t.Fatalf("%d events", n)
	}
	for _, r := range []struct {
		from  event.Seq
		limit int
		want  int
	}{{5, 7, 7}, {tip.Head, 0, 1}, {tip.Head + 1, 0, 0}, {piece - 1, piece + 5, piece + 5}, {0, piece, piece}} {
		got := 0
		for e, err := range db.Read(context.Background(), "long", store.Range{From: r.from, Limit: r.limit}) {
			if err != nil || e.Sequence != r.from+event.Seq(got) {
				t.Fatal(e.Sequence, err)
			}
			got++
		}
		if got != r.want {
			t.Errorf("from %d, at most %d: %d events, want %d", r.from, r.limit, got, r.want)
		}
	}
}
