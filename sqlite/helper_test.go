//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

var nonces atomic.Uint64

// nonce returns one that no other call in this process returns.
func nonce() store.Nonce {
	var n store.Nonce
	copy(n[:], fmt.Sprintf("%016x", nonces.Add(1)))
	return n
}

// open opens a new file, and closes it with the test.
func open(t testing.TB, opts ...Option) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "loom.db"), opts...)
}

func openAt(t testing.TB, path string, opts ...Option) *DB {
	t.Helper()
	db, err := OpenDB(context.Background(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tidy(t, db)
		_ = db.Close()
	})
	return db
}

// tidy checks that no statement was left standing on a row: it would keep its
// snapshot, and the writer could not begin on a newer one.
func tidy(t testing.TB, db *DB) {
	t.Helper()
	if db.isClosed() {
		return
	}
	db.writer.drive.Lock()
	defer db.writer.drive.Unlock()
	if db.writer.conn != nil {
		if q := db.writer.conn.CheckReset(); q != "" {
			t.Errorf("the writer left this open: %s", q)
		}
	}
	for range db.o.pool {
		c := <-db.readers.slots
		if c != nil {
			if q := c.CheckReset(); q != "" {
				t.Errorf("a reader left this open: %s", q)
			}
		}
		db.readers.slots <- c
	}
}

// clock is a store's clock that a test moves.
type clock struct{ us atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.us.Store(int64(event.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))))
	return c
}

func (c *clock) now() event.Time         { return event.Time(c.us.Load()) }
func (c *clock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }

// steady is a monotonic clock that a test moves.
type steady struct{ ns atomic.Int64 }

func (s *steady) since() time.Duration    { return time.Duration(s.ns.Load()) }
func (s *steady) advance(d time.Duration) { s.ns.Add(int64(d)) }

func withMono(s *steady) Option { return func(o *options) { o.mono = s.since } }

func ev(id event.ExecutionID, seq event.Seq, text string) event.Envelope {
	kind := event.KindEffectCompleted
	if seq == 0 {
		kind = event.KindExecutionStarted
	}
	return event.Envelope{Execution: id, Sequence: seq, Kind: kind, Time: event.Time(1_700_000_000_000_000 + int64(seq)), Payload: []byte(text)}
}

// startOf is a start of id for nobody, due now.
func startOf(id event.ExecutionID) store.Request {
	return store.Request{
		Execution: id, Nonce: nonce(), Expect: store.Absent(), Events: []event.Envelope{ev(id, 0, "{}")},
		Index: &store.IndexEntry{Flow: "flow"}, Release: &store.Release{},
	}
}

// next is a commit of one event on tip.
func next(id event.ExecutionID, tip store.Tip, as store.NodeID) store.Request {
	return store.Request{Execution: id, Nonce: nonce(), Expect: tip, As: as, Events: []event.Envelope{ev(id, tip.Head+1, "{}")}}
}

// commit commits one request and wants it committed.
func commit(t testing.TB, db *DB, req store.Request) store.Result {
	t.Helper()
	res := try(t, db, req)
	if res.Outcome != store.Committed {
		t.Fatalf("commit of %s: %v %v, %v", req.Execution, res.Outcome, res.Refusal, res.Err)
	}
	return res
}

func try(t testing.TB, db *DB, req store.Request) store.Result {
	t.Helper()
	res, err := db.Commit(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res[0]
}

// log reads a whole log.
func log(t testing.TB, db *DB, id event.ExecutionID) []event.Envelope {
	t.Helper()
	var all []event.Envelope
	for e, err := range db.Read(context.Background(), id, store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// query returns the number that a query over the file gives, by a connection of
// its own.
func query(t testing.TB, db *DB, sql string) int64 {
	t.Helper()
	c, err := connectReader(db.file.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n, err := number(c, sql)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nowForBench returns a function that tells how long ago this was.
func nowForBench() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

func executionID(s string) event.ExecutionID { return event.ExecutionID(s) }
