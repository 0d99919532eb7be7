package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// inbox is the pending mail of one execution, by number.
type inbox struct {
	ms  []store.Message
	ids map[string]int64 // id → number, once there are too many to look through
}

// lookThrough is how many messages are searched one by one.
const lookThrough = 16

// Post implements store.Inbox.
func (db *DB) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	if err := db.lock(ctx); err != nil {
		return store.Receipt{}, err
	}
	defer db.mu.Unlock()
	rec := db.deliver(to, m)
	if rec.Delivery == store.Posted && !rec.Repeat {
		db.touch()
	}
	return rec, nil
}

// deliver puts one message in, or not.
func (db *DB) deliver(to event.ExecutionID, m store.Message) store.Receipt {
	r := db.rows[to]
	if r == nil {
		return store.Receipt{Delivery: store.NoSuch, Now: db.now}
	}
	d, next := store.Deliver(&r.Row, db.now)
	rec := store.Receipt{Delivery: d, Owner: r.Owner, State: r.State, Now: db.now}
	if next == nil {
		return rec
	}
	if r.inbox == nil {
		r.inbox = &inbox{}
	}
	if n, ok := r.inbox.find(m.ID); ok {
		rec.Repeat, rec.N = true, n
		return rec
	}
	m.N, m.Posted = next.Mail, db.now
	r.inbox.add(m)
	r.Row = *next
	db.file(r)
	rec.N = m.N
	return rec
}

// Pending implements store.Inbox. limit below 1 is no limit.
func (db *DB) Pending(ctx context.Context, id event.ExecutionID, after int64, limit int) ([]store.Message, int64, error) {
	if err := db.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer db.mu.Unlock()
	r := db.rows[id]
	if r == nil {
		return nil, 0, nil
	}
	if r.inbox == nil {
		return nil, r.Mail, nil
	}
	ms := r.inbox.ms[r.inbox.search(after+1):]
	if limit > 0 && limit < len(ms) {
		ms = ms[:limit]
	}
	return slices.Clone(ms), r.Mail, nil
}

// search returns the place of the first message with a number of at least n.
func (b *inbox) search(n int64) int {
	i, _ := slices.BinarySearchFunc(b.ms, n, func(m store.Message, n int64) int { return cmp.Compare(m.N, n) })
	return i
}

func (b *inbox) find(id string) (n int64, ok bool) {
	if b.ids != nil {
		n, ok = b.ids[id]
		return n, ok
	}
	for i := range b.ms {
		if b.ms[i].ID == id {
			return b.ms[i].N, true
		}
	}
	return 0, false
}

func (b *inbox) add(m store.Message) {
	b.ms = append(b.ms, m)
	if b.ids == nil && len(b.ms) > lookThrough {
		b.ids = make(map[string]int64, 2*lookThrough)
		for i := range b.ms {
			b.ids[b.ms[i].ID] = b.ms[i].N
		}
	} else if b.ids != nil {
		b.ids[m.ID] = m.N
	}
}

// drop removes the messages with these numbers.
func (b *inbox) drop(ns []int64) {
	for _, n := range ns {
		i := b.search(n)
		if i == len(b.ms) || b.ms[i].N != n {
			continue
		}
		if b.ids != nil {
			delete(b.ids, b.ms[i].ID)
		}
		if i == 0 { // mail is mostly taken in order
			b.ms[0] = store.Message{}
			b.ms = b.ms[1:]
		} else {
			b.ms = slices.Delete(b.ms, i, i+1)
		}
	}
	if len(b.ms) == 0 {
		b.ms, b.ids = nil, nil
	}
}
