package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Names of the raw figures.
const (
	rawOneRow = "one row a commit"
	rawCommit = "one commit, p50"
)

func rawBatch(n int) string { return fmt.Sprintf("%d rows a commit", n) }

// payload is what each row and each step's result holds.
var payload = func() []byte {
	b := make([]byte, 100)
	for i := range b {
		b[i] = 'x'
	}
	b[0], b[99] = '"', '"' // a JSON text of 100 bytes
	return b
}()

// raw measures what the store's engine could do at most: rows of 100 bytes into a bare
// table, through the same library with the same settings, one writer. For memory it is
// the store itself, without a kernel above it.
func (l *lab) raw(ctx context.Context) error {
	pass := l.rawSQLite
	if l.kind.memory {
		pass = l.rawMemory
	}
	took, err := pass(ctx, l.more(l.size.commits), 1)
	if err != nil {
		return err
	}
	l.add("raw", rawOneRow, "rows/s", rate(took, 1))
	l.add("raw", rawCommit, "ms", ms(percentile(took, 50)))
	for _, n := range l.size.batches {
		took, err := pass(ctx, max(l.more(l.size.rows)/n, 1), n)
		if err != nil {
			return err
		}
		l.add("raw", rawBatch(n), "rows/s", rate(took, n))
	}
	return nil
}

// rate returns rows a second of commits that took so long, of n rows each.
func rate(took []time.Duration, n int) float64 {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return float64(len(took)*n) / sum.Seconds()
}

// rawSQLite makes commits of n rows and returns how long each took.
func (l *lab) rawSQLite(_ context.Context, commits, n int) (took []time.Duration, err error) {
	path := filepath.Join(l.dir, l.kind.name+"-raw.db")
	if err := remove(path); err != nil {
		return nil, err
	}
	c, err := sqlite3.OpenConn(path, sqlite3.OpenReadWrite, sqlite3.OpenCreate, sqlite3.OpenPrivateCache)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := c.Close(); err == nil {
			err = e
		}
		if e := remove(path); err == nil {
			err = e
		}
	}()
	synchronous := "FULL"
	if l.kind.normal {
		synchronous = "NORMAL"
	}
	// The settings of package sqlite's writer.
	for _, q := range []string{
		"PRAGMA page_size = 4096", "PRAGMA mmap_size = 0", "PRAGMA synchronous = " + synchronous,
		"PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -16384", "PRAGMA wal_autocheckpoint = 4000",
		"PRAGMA journal_size_limit = 67108864", "PRAGMA journal_mode = WAL",
		"CREATE TABLE raw (key INTEGER, sequence INTEGER, payload BLOB, PRIMARY KEY (key, sequence))",
	} {
		if err := query(c, q); err != nil {
			return nil, err
		}
	}
	insert, err := c.Prepare("INSERT INTO raw VALUES (?1, ?2, ?3)")
	if err != nil {
		return nil, err
	}
	for i := range commits {
		began := time.Now()
		if n > 1 { // a lone statement is its own transaction
			if err := query(c, "BEGIN IMMEDIATE"); err != nil {
				return nil, err
			}
		}
		for k := range n {
			insert.BindInt64(1, int64(k))
			insert.BindInt64(2, int64(i))
			insert.BindBytes(3, payload)
			if _, err := insert.Step(); err != nil {
				return nil, err
			}
			if err := insert.Reset(); err != nil {
				return nil, err
			}
		}
		if n > 1 {
			if err := query(c, "COMMIT"); err != nil {
				return nil, err
			}
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// query runs a statement to its end.
func query(c *sqlite3.Conn, text string) error {
	st, err := c.Prepare(text)
	if err != nil {
		return err
	}
	for {
		row, err := st.Step()
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if !row {
			return st.Reset()
		}
	}
}

// rawMemory makes calls of n requests of one event each, for n executions, and returns
// how long each took.
func (l *lab) rawMemory(ctx context.Context, commits, n int) (took []time.Duration, err error) {
	db := memstore.New(nil)
	ids, err := asleep(ctx, db, n)
	if err != nil {
		return nil, err
	}
	tips := make([]store.Tip, n)
	for i, id := range ids {
		if tips[i], err = db.Tip(ctx, id); err != nil {
			return nil, err
		}
	}
	reqs := make([]store.Request, n)
	for call := range commits {
		for i, id := range ids {
			var nonce store.Nonce
			binary.LittleEndian.PutUint64(nonce[:], uint64(call*n+i+1))
			reqs[i] = store.Request{Execution: id, Nonce: nonce, Expect: tips[i], Events: []event.Envelope{
				{Execution: id, Sequence: tips[i].Head + 1, Kind: event.KindEffectCompleted, Time: 1, Payload: payload}}}
		}
		began := time.Now()
		res, err := db.Commit(ctx, reqs...)
		took = append(took, time.Since(began))
		if err != nil {
			return nil, err
		}
		for i := range res {
			if res[i].Outcome != store.Committed {
				return nil, fmt.Errorf("a raw commit was %s: %s, %v", res[i].Outcome, res[i].Refusal, res[i].Err)
			}
			tips[i] = res[i].Tip
		}
	}
	return took, nil
}

// asleep starts n executions that nobody drives, and returns their ids.
func asleep(ctx context.Context, db *memstore.DB, n int) (ids []event.ExecutionID, err error) {
	flow := loom.NewFlow("raw", func(loom.Context, int) (int, error) { return 0, nil })
	rt, err := loom.Open(ctx, db, loom.Tuning{ClientOnly: true})
	if err != nil {
		return nil, err
	}
	for i := range n {
		run, err := flow.Start(ctx, rt, i, loom.Delay(24*time.Hour))
		if err != nil {
			return nil, errors.Join(err, rt.Close())
		}
		ids = append(ids, event.ExecutionID(run.ID()))
	}
	return ids, rt.Close()
}
