package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// Option changes how a file is opened.
type Option func(*options)

type options struct {
	normal   bool // synchronous=NORMAL
	existing bool
	noLocks  bool
	schema   int
	clock    func() event.Time

	// Tests only.
	mono     func() time.Duration
	maxPages int
	patience time.Duration
	engine   string // claimed version
	piece    int    // events that one query of a read returns at most
	pool     int    // reads that run at once
	deferred bool   // write transactions begin without the write lock: a defect
}

func defaults(opts []Option) options {
	o := options{schema: schemaNewest, patience: 10 * time.Second, piece: pieceEvents, pool: poolSize}
	o.clock = func() event.Time { return event.At(time.Now()) }
	began := time.Now()
	o.mono = func() time.Duration { return time.Since(began) }
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// MayLoseLastCommits opens the file with synchronous=NORMAL: commits that were
// answered may be gone after a power loss or a crash of the operating system,
// the last ones first, never one out of the middle. A crash of the process loses
// nothing. It is several times faster for one execution alone.
func MayLoseLastCommits() Option { return func(o *options) { o.normal = true } }

// MustExist refuses to create the file. Opening a missing one is an error that
// matches store.ErrVanished and fs.ErrNotExist.
func MustExist() Option { return func(o *options) { o.existing = true } }

// WithClock gives the store another clock than the machine's, for tests and
// simulation. It is called from several goroutines.
func WithClock(now func() event.Time) Option { return func(o *options) { o.clock = now } }

// WithoutNodeLocks leaves out the OS lock a node, so that leases alone tell who
// is alive: for a simulation, whose nodes live in one process.
func WithoutNodeLocks() Option { return func(o *options) { o.noLocks = true } }

// SchemaVersion makes a new file with, or keeps an older one at, schema version
// n: 1 is SPI 2.2.0, without incarnations; 2, the default, is SPI 2.3.0. A file
// that is at 2 already stays at 2 and is used as code of version n would. It is
// for tests of migrations. Opening panics if there is no version n.
func SchemaVersion(n int) Option {
	if n < 1 || n > schemaNewest {
		panic("sqlite: no such schema version")
	}
	return func(o *options) { o.schema = n }
}

// Source opens one file. It implements store.Source.
type Source struct {
	path string
	opts []Option

	mu struct {
		sync.Mutex
		db *DB // the last one opened, nil once closed
	}
}

// Open names the file to use. Nothing is touched until OpenStore is called,
// which loom.Open does.
func Open(path string, opts ...Option) *Source {
	return &Source{path: path, opts: opts}
}

// OpenStore implements store.Source. Errors are those of [OpenDB].
func (s *Source) OpenStore(ctx context.Context) (store.Store, func() error, error) {
	db, err := OpenDB(ctx, s.path, s.opts...)
	if err != nil {
		return store.Store{}, nil, err
	}
	s.mu.Lock()
	s.mu.db = db
	s.mu.Unlock()
	return store.Of(db), func() error {
		s.mu.Lock()
		if s.mu.db == db {
			s.mu.db = nil
		}
		s.mu.Unlock()
		return db.Close()
	}, nil
}

// DB returns what OpenStore opened last and nobody closed yet, else nil. It is
// the way to the file that no decorator stands in.
func (s *Source) DB() *DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.db
}

// Path returns the path that the source was made with.
func (s *Source) Path() string { return s.path }
