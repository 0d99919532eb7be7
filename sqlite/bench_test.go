//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	sqlite3 "zombiezen.com/go/sqlite"
)

// The benchmarks print rows/s of events, and, where that says something, the
// ratio to raw: one-row commits, or batches of as many rows, into a bare table
// with the same settings on the same file system, measured in the same run.

// rawTable is the least that a commit of one event could be.
func rawTable(b *testing.B, opts ...Option) (*sqlite3.Conn, *sqlite3.Stmt) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "raw.db")
	if err := create(path); err != nil {
		b.Fatal(err)
	}
	o := defaults(opts)
	c, err := connectWriter(path, &o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := run(c, "CREATE TABLE raw (key INTEGER, sequence INTEGER, payload BLOB, PRIMARY KEY (key, sequence))"); err != nil {
		b.Fatal(err)
	}
	st, err := c.Prepare("INSERT INTO raw VALUES (?1, ?2, ?3)")
	if err != nil {
		b.Fatal(err)
	}
	return c, st
}

var payload100 = make([]byte, 100)

// raw returns rows a second of n transactions of each rows.
func raw(b *testing.B, n, each int, opts ...Option) float64 {
	b.Helper()
	c, st := rawTable(b, opts...)
	seq := 0
	began := nowForBench()
	for range n {
		if err := step(c, "BEGIN IMMEDIATE"); err != nil {
			b.Fatal(err)
		}
		for range each {
			seq++
			st.Reset()
			st.BindInt64(1, int64(seq%each))
			st.BindInt64(2, int64(seq))
			st.BindBytes(3, payload100)
			if _, err := st.Step(); err != nil {
				b.Fatal(err)
			}
		}
		if err := step(c, "COMMIT"); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n*each) / began().Seconds()
}

func BenchmarkRawOneRow(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			b.ReportMetric(raw(b, b.N, 1, m.opts...), "rows/s")
		})
	}
}

var modes = []struct {
	name string
	opts []Option
}{{"FULL", nil}, {"NORMAL", []Option{MayLoseLastCommits()}}}

// BenchmarkLone is one execution that commits one event after the other.
func BenchmarkLone(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			limit := raw(b, max(200, min(b.N, 3000)), 1, m.opts...)
			rate := writers(b, 1, b.N, m.opts...)
			b.ReportMetric(rate, "rows/s")
			b.ReportMetric(rate/limit, "of-raw")
		})
	}
}

// BenchmarkGroup is many executions that each commit one event after the other.
func BenchmarkGroup(b *testing.B) {
	for _, m := range modes {
		for _, n := range []int{64, 512} {
			b.Run(fmt.Sprintf("%s/%d", m.name, n), func(b *testing.B) {
				limit := raw(b, max(20, min(b.N/n, 300)), n, m.opts...)
				rate := writers(b, n, b.N, m.opts...)
				b.ReportMetric(rate, "rows/s")
				b.ReportMetric(rate/limit, "of-raw")
			})
		}
	}
}

// BenchmarkGathered is the same with commits gathered above the writer's own queue,
// beside the rate without.
func BenchmarkGathered(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			direct := writers(b, n, b.N)
			db := open(b, WithoutNodeLocks())
			s, err := store.Stack(store.Of(db), coalesce.New(nil))
			if err != nil {
				b.Fatal(err)
			}
			rate := writersOver(b, db, s.Log, n, b.N)
			b.ReportMetric(rate, "rows/s")
			b.ReportMetric(rate/direct, "of-direct")
		})
	}
}

// writers returns events a second of total commits of one event by n executions,
// each of which waits for its answer before it sends the next.
func writers(b *testing.B, n, total int, opts ...Option) float64 {
	b.Helper()
	db := open(b, append(opts, WithoutNodeLocks())...)
	return writersOver(b, db, db, n, total)
}

// writersOver is writers over a file of which log is the way that commits take.
func writersOver(b *testing.B, db *DB, log store.Log, n, total int) float64 {
	b.Helper()
	ctx := context.Background()
	tips := make([]store.Tip, n)
	for i := range tips {
		req := startOf(execution(i))
		req.Release = nil
		tips[i] = commit(b, db, req).Tip
	}
	var left atomic.Int64
	left.Store(int64(total))
	b.ReportAllocs()
	b.ResetTimer()
	b.StartTimer() // an earlier measurement stopped it
	began := nowForBench()
	var all sync.WaitGroup
	for i := range tips {
		all.Go(func() {
			id, tip := execution(i), tips[i]
			for left.Add(-1) >= 0 {
				e := event.Envelope{Execution: id, Sequence: tip.Head + 1, Kind: event.KindEffectCompleted, Time: 1, Payload: payload100}
				res, err := log.Commit(ctx, store.Request{Execution: id, Nonce: nonce(), Expect: tip, Events: []event.Envelope{e}})
				if err != nil || res[0].Outcome != store.Committed {
					b.Error(res, err)
					return
				}
				tip = res[0].Tip
			}
		})
	}
	all.Wait()
	took := began()
	b.StopTimer()
	return float64(total) / took.Seconds()
}

// BenchmarkStart is 64 callers that start executions.
func BenchmarkStart(b *testing.B) {
	db := open(b)
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	began := nowForBench()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := db.Commit(context.Background(), startOf(execution(int(n.Add(1)))))
			if err != nil || res[0].Outcome != store.Committed {
				b.Error(res, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/began().Seconds(), "starts/s")
}

// BenchmarkRead is one log of 10,000 events read whole.
func BenchmarkRead(b *testing.B) {
	db := open(b)
	tip := commit(b, db, startOf("long")).Tip
	for range 10 {
		req := next("long", tip, "")
		req.Events = nil
		for i := range 1000 {
			req.Events = append(req.Events, ev("long", tip.Head+1+event.Seq(i), string(payload100)))
		}
		tip = commit(b, db, req).Tip
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range db.Read(context.Background(), "long", store.Range{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_001 {
			b.Fatal(n)
		}
	}
}

func execution(i int) event.ExecutionID { return event.ExecutionID(fmt.Sprintf("01JBENCH%018d", i)) }
