package sqlite

import (
	"context"
	"sync"
	"time"

	sqlite3 "zombiezen.com/go/sqlite"
)

// hintEvery is how often the file's version is looked at while somebody waits:
// one read of shared memory.
const hintEvery = 8 * time.Millisecond

// hints watches the engine's data_version, which moves with every commit of
// another connection: another process, or this one's writer. The connection has
// no other use, because the number is a connection's own.
type hints struct {
	db *DB

	mu   sync.Mutex // guards conn; held for one look
	conn *sqlite3.Conn
}

// Await implements store.Hints. Commits of this process move the version too.
func (db *DB) Await(ctx context.Context, since int64) (version int64, err error) {
	var tick *time.Ticker
	for {
		if err := ctx.Err(); err != nil {
			return since, context.Cause(ctx)
		}
		if db.isClosed() {
			return since, db.errClosed("await")
		}
		if version, err = db.hints.look(); err != nil || version != since {
			return version, err
		}
		if tick == nil {
			tick = time.NewTicker(hintEvery)
			defer tick.Stop()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		case <-db.closed:
		}
	}
}

// look returns the file's version now, never 0.
func (h *hints) look() (int64, error) {
	if err := h.db.file.check(); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db.isClosed() {
		return 0, h.db.errClosed("await")
	}
	if h.conn == nil {
		c, err := connectReader(h.db.file.path)
		if err != nil {
			return 0, h.db.wrap("await", err)
		}
		h.conn = c
	}
	st, err := h.conn.Prepare("PRAGMA data_version")
	if err != nil {
		return 0, h.db.wrap("await", err)
	}
	if _, err := st.Step(); err != nil {
		return 0, h.db.wrap("await", err)
	}
	v := st.ColumnInt64(0)
	return v + 1, h.db.wrap("await", st.Reset())
}

func (h *hints) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		_ = h.conn.Close() // it holds nothing that could be lost
		h.conn = nil
	}
}
