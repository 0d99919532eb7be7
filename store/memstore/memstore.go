// Package memstore keeps the logs of a Loom store in memory: the reference
// backend, an executable specification of package store.
//
// Nouns: a [DB] is one store. It is lost with its process, it may be shared by
// any number of runtimes in that process, and it has every part that the kernel
// needs.
//
//	db := memstore.New(nil)
//	rt, err := loom.Open(ctx, db, loom.Flows(Checkout))
//
// Rules are not written here a second time: store.Judge and store.Deliver decide
// under one mutex, and what this package adds is where rows are kept so that no
// call has to look at all of them.
//
// Who owns what: envelopes and messages never change once they were handed in.
// A DB keeps the payload, metadata, label and message bytes of a request without
// copying them and gives the same bytes to its readers, so neither side may
// write to them. The same holds for the published pairs of a head row. Slices of
// requests themselves (Events, Consume, Post, Publish) stay the caller's. Records are
// copied both ways.
package memstore

import (
	"context"
	"strconv"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Options tune a [DB]. The zero Options, like nil, are the defaults.
type Options struct {
	// Now is the store's clock; nil for the machine's, which then never steps
	// back. It is called from any goroutine, mostly under the DB's mutex, and may
	// not call the DB.
	Now func() event.Time
	// Level is the SPI level to behave as; the zero Level for store.Level23. At
	// store.Level22 anchors are legacy ones, and the token of a deleted execution
	// is remembered: an execution of that id that is created later begins above
	// it.
	Level store.Level
}

// DB is a store in memory. All methods may be called from any goroutine. It
// implements store.Log, Index, Leaser, Inbox, Deleter, Hints, About and
// store.Source.
type DB struct {
	level store.Level
	epoch string
	clock func() event.Time
	alive func(store.NodeID) bool // judges by now; needs mu

	mu      sync.Mutex // guards all below, and every row, node and tree
	now     event.Time // the clock as the call that holds mu read it
	rows    map[event.ExecutionID]*row
	created int64                       // incarnations given out, never reset
	births  []birth                     // rows by incarnation, some of them deleted
	gone    int                         // entries of births whose row is deleted
	wakeups map[store.FlowVersion]*tree // unowned running rows, by wake-up
	nodes   map[store.NodeID]*node      // who has a lease or owns a row
	byID    []*node                     // the same, by id
	floors  map[event.ExecutionID]store.Fence
	version int64         // of Hints, from 1
	changed chan struct{} // closed at the next change; nil if nobody waits

	records records
}

// New returns an empty store. opts may be nil.
func New(opts *Options) *DB {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = machineClock()
	}
	if o.Level == (store.Level{}) {
		o.Level = store.Level23
	}
	db := &DB{
		level:   o.Level,
		clock:   o.Now,
		epoch:   "memory-" + strconv.FormatInt(int64(o.Now()), 36),
		rows:    map[event.ExecutionID]*row{},
		wakeups: map[store.FlowVersion]*tree{},
		nodes:   map[store.NodeID]*node{},
		floors:  map[event.ExecutionID]store.Fence{},
		version: 1,
	}
	db.records.now = o.Now
	db.alive = func(id store.NodeID) bool {
		n := db.nodes[id]
		return n != nil && n.alive(db.now)
	}
	return db
}

// OpenStore implements store.Source. Closing does nothing: the DB lives as long
// as somebody holds it.
func (db *DB) OpenStore(context.Context) (store.Store, func() error, error) {
	return store.Of(db), func() error { return nil }, nil
}

// Records returns the part of that name. It has a mutex of its own.
func (db *DB) Records() store.Records { return &db.records }

// Level implements store.About: the level of the options.
func (db *DB) Level(ctx context.Context) (store.Level, error) { return db.level, ctx.Err() }

// Epoch implements store.About: one text for the life of the DB.
func (db *DB) Epoch(ctx context.Context) (string, error) { return db.epoch, ctx.Err() }

// lock takes the mutex and reads the clock, unless ctx is over already.
func (db *DB) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db.mu.Lock()
	db.now = db.clock()
	return nil
}

var (
	_ store.Log     = (*DB)(nil)
	_ store.Index   = (*DB)(nil)
	_ store.Leaser  = (*DB)(nil)
	_ store.Inbox   = (*DB)(nil)
	_ store.Deleter = (*DB)(nil)
	_ store.Hints   = (*DB)(nil)
	_ store.About   = (*DB)(nil)
	_ store.Source  = (*DB)(nil)
	_ store.Records = (*records)(nil)
)
