package sqlite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loomwork/loom/store"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Connection settings.
const (
	pageSize       = 4096
	autoCheckpoint = 4000             // pages; the writer checkpoints earlier when it is idle
	walLimit       = 64 << 20         // bytes that the -wal keeps after a checkpoint
	cacheKiB       = 16 << 10         // page cache of the writer
	readerCacheKiB = 4 << 10          // page cache of a reader
	readerPatience = 10 * time.Second // a reader waits only for recovery after a crash
)

// checkEngine returns an error that matches store.ErrTooOld for an engine that
// can lose data. Up to 3.51.2 two connections that write and checkpoint at the
// same instant can corrupt a WAL file; 3.50.7 carries the repair; 3.52.0 was
// withdrawn by its authors.
func checkEngine(version string) error {
	var n [3]int
	parts := strings.Split(version, ".")
	for i := range min(len(parts), 3) {
		n[i], _ = strconv.Atoi(parts[i])
	}
	number := n[0]*1_000_000 + n[1]*1_000 + n[2]
	switch {
	case number == 3_050_007:
		return nil
	case number == 3_052_000:
		return fmt.Errorf("%w: SQLite %s was withdrawn", store.ErrTooOld, version)
	case number < 3_051_003:
		return fmt.Errorf("%w: SQLite %s, 3.51.3 is needed", store.ErrTooOld, version)
	}
	return nil
}

// connect opens one connection to a file that exists. No connection is ever
// allowed to create the file.
func connect(path string) (*sqlite3.Conn, error) {
	c, err := sqlite3.OpenConn(path, sqlite3.OpenReadWrite, sqlite3.OpenPrivateCache)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(readerPatience)
	return c, nil
}

// connectWriter opens the connection that writes and makes sure of everything
// that durability rests on.
func connectWriter(path string, o *options) (*sqlite3.Conn, error) {
	c, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := prepareWriter(c, o); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func prepareWriter(c *sqlite3.Conn, o *options) error {
	version := o.engine
	if version == "" {
		var err error
		if version, err = text(c, "SELECT sqlite_version()"); err != nil {
			return err
		}
	}
	if err := checkEngine(version); err != nil {
		return err
	}
	level, name := 2, "FULL"
	if o.normal {
		level, name = 1, "NORMAL"
	}
	for _, pragma := range []string{
		fmt.Sprintf("page_size = %d", pageSize), // counts in a new file only
		"mmap_size = 0",
		"synchronous = " + name,
		"fullfsync = ON", // what FULL means on Apple's systems; nothing elsewhere
		"temp_store = MEMORY",
		fmt.Sprintf("cache_size = -%d", cacheKiB),
		fmt.Sprintf("wal_autocheckpoint = %d", autoCheckpoint),
		fmt.Sprintf("journal_size_limit = %d", walLimit),
	} {
		if err := run(c, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	if err := makeWAL(c, o.patience); err != nil {
		return err
	}
	got, err := number(c, "PRAGMA synchronous")
	if err != nil {
		return err
	}
	if got != int64(level) {
		return fmt.Errorf("synchronous is %d, asked for %s", got, name)
	}
	if o.maxPages > 0 {
		if err := run(c, fmt.Sprintf("PRAGMA max_page_count = %d", o.maxPages)); err != nil {
			return err
		}
	}
	return nil
}

// makeWAL switches the file to WAL. The switch needs the file for itself, and
// the engine does not wait for that, so the wait is here.
func makeWAL(c *sqlite3.Conn, patience time.Duration) error {
	return persist(patience, func() error {
		mode, err := text(c, "PRAGMA journal_mode = WAL")
		if err != nil {
			return err
		}
		if !strings.EqualFold(mode, "wal") {
			return fmt.Errorf("the journal mode stays %q; Loom needs WAL, which needs a local file system", mode)
		}
		return nil
	})
}

// connectReader opens a connection that cannot write.
func connectReader(path string) (*sqlite3.Conn, error) {
	c, err := connect(path)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"query_only = ON", "mmap_size = 0", fmt.Sprintf("cache_size = -%d", readerCacheKiB)} {
		if err := run(c, "PRAGMA "+pragma); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// persist calls act until it does not fail for busyness, at most for patience.
// Waits grow from 50 µs to 5 ms: a writer's turn is mostly shorter than the
// engine's own shortest wait.
func persist(patience time.Duration, act func() error) error {
	began := time.Now()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		err := act()
		if err == nil || time.Since(began) >= patience {
			return err
		}
		if code, _ := classify(err); code != ErrBusy {
			return err
		}
		<-time.After(pause)
	}
}

// run executes one statement that returns nothing of interest.
func run(c *sqlite3.Conn, query string) error {
	st, _, err := c.PrepareTransient(query)
	if err != nil {
		return err
	}
	defer st.Finalize()
	for {
		if more, err := st.Step(); err != nil || !more {
			return err
		}
	}
}

func text(c *sqlite3.Conn, query string) (s string, err error) {
	st, _, err := c.PrepareTransient(query)
	if err != nil {
		return "", err
	}
	defer st.Finalize()
	if ok, err := st.Step(); err != nil || !ok {
		return "", err
	}
	return st.ColumnText(0), nil
}

func number(c *sqlite3.Conn, query string) (n int64, err error) {
	st, _, err := c.PrepareTransient(query)
	if err != nil {
		return 0, err
	}
	defer st.Finalize()
	if ok, err := st.Step(); err != nil || !ok {
		return 0, err
	}
	return st.ColumnInt64(0), nil
}
