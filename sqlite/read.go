package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// A read hands on what it has once it has so much, and lets go of its connection
// while the caller looks at it: a slow caller, or one that reads another log
// meanwhile, blocks nobody, and no long read transaction makes the -wal grow.
const (
	pieceEvents = 16384
	pieceBytes  = 16 << 20
)

const sqlReadOn = `SELECT h.key, h.head, e.sequence, e.kind, e.ts, e.payload, e.meta
  FROM loom_heads h CROSS JOIN loom_events e ON e.key = h.key
  WHERE h.key = ?1 AND e.sequence >= ?2 ORDER BY e.sequence LIMIT ?3`

// Read implements store.Log. A log of up to 16,384 events and 16 MiB is read by
// one query; of a longer one every piece is, and its end is where it was at the
// first piece. If the execution is deleted between two pieces the error matches
// store.ErrRefused.
func (db *DB) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		p := piece{id: id, from: max(r.From, 0), left: r.Limit, most: db.o.piece}
		if r.Limit <= 0 {
			p.left = -1
		}
		for {
			if err := db.read(ctx, "read", func(c *sqlite3.Conn) error { return p.fill(ctx, c, db.sql.read) }); err != nil {
				yield(event.Envelope{}, err)
				return
			}
			for i := range p.events {
				if !yield(p.events[i], nil) {
					return
				}
			}
			if p.ended {
				return
			}
		}
	}
}

// piece is the part of a log that was read at once, and where the next begins.
type piece struct {
	id    event.ExecutionID
	from  event.Seq
	left  int // events still wanted, -1 for all
	most  int // events at once
	key   int64
	head  event.Seq // where the log ended at the first piece
	ended bool

	events []event.Envelope // new for each piece: the caller owns them
}

func (p *piece) fill(ctx context.Context, c *sqlite3.Conn, first string) error {
	st, err := p.prepare(c, first)
	if err != nil {
		return err
	}
	defer st.Reset() // a piece may stop before the statement has ended
	p.events = nil
	want, bytes := p.from, 0
	for {
		if len(p.events) == p.most || bytes >= pieceBytes {
			p.from = want
			if p.left > 0 {
				p.left -= len(p.events)
			}
			return nil
		}
		more, err := st.Step()
		if err != nil {
			return err
		}
		if !more {
			p.ended = true
			return p.complete(want)
		}
		if p.key == 0 {
			p.key, p.head = st.ColumnInt64(0), event.Seq(st.ColumnInt64(1))
			p.events = make([]event.Envelope, 0, p.room())
		}
		e := event.Envelope{
			Execution: p.id, Sequence: event.Seq(st.ColumnInt64(2)), Kind: kindOf(st, 3), Time: event.Time(st.ColumnInt64(4)),
			Payload: columnBlob(st, 5), Meta: columnBlob(st, 6),
		}
		if e.Sequence > p.head {
			p.ended = true // committed after the first piece
			return nil
		}
		if e.Sequence != want {
			return corrupt("event %s stands where %s is due", e.ID(), event.EnvelopeID(p.id, want))
		}
		want++
		bytes += e.Size()
		p.events = append(p.events, e)
		if len(p.events)%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (p *piece) prepare(c *sqlite3.Conn, first string) (*sqlite3.Stmt, error) {
	query := first
	if p.key != 0 {
		query = sqlReadOn
	}
	st, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	if p.key != 0 {
		st.BindInt64(1, p.key)
	} else {
		st.BindText(1, string(p.id))
	}
	st.BindInt64(2, int64(p.from))
	st.BindInt64(3, int64(p.left))
	return st, nil
}

func (p *piece) room() int {
	n := int(p.head-p.from) + 1
	if p.left >= 0 {
		n = min(n, p.left)
	}
	return max(0, min(n, p.most))
}

// complete checks that the events reach as far as the head says.
func (p *piece) complete(next event.Seq) error {
	if p.key == 0 || next > p.head || p.left >= 0 && len(p.events) == p.left {
		return nil
	}
	if len(p.events) == 0 {
		return fmt.Errorf("%w: %s was deleted while it was read", store.ErrRefused, p.id)
	}
	return corrupt("event %s is missing", event.EnvelopeID(p.id, next))
}

// kindOf avoids a new string for a kind that this build knows.
func kindOf(st *sqlite3.Stmt, col int) event.Kind {
	var b [64]byte
	n := st.ColumnBytes(col, b[:])
	if k, ok := knownKinds[string(b[:n])]; ok {
		return k
	}
	return event.Kind(st.ColumnText(col))
}

var knownKinds = func() map[string]event.Kind {
	m := map[string]event.Kind{}
	for _, k := range event.Kinds() {
		m[string(k)] = k
	}
	return m
}()

// Tip implements store.Log, by one statement.
func (db *DB) Tip(ctx context.Context, id event.ExecutionID) (tip store.Tip, err error) {
	tip = store.Absent()
	err = db.read(ctx, "tip", func(c *sqlite3.Conn) error {
		st, err := c.Prepare(db.sql.tip)
		if err != nil {
			return err
		}
		st.BindText(1, string(id))
		ok, err := st.Step()
		if err != nil || !ok {
			return err
		}
		tip.Head, tip.Fence = event.Seq(st.ColumnInt64(0)), store.Fence(st.ColumnInt64(1))
		if st.ColumnBytes(2, tip.Mark[:]) != len(tip.Mark) {
			return corrupt("head row of %s: its mark is no nonce", id)
		}
		tip.Anchor = anchorOf(st, 3, 4, id)
		return st.Reset()
	})
	return tip, err
}
