package sqlite

import (
	"context"
	"fmt"
	"os"
	"strings"

	sqlite3 "zombiezen.com/go/sqlite"
)

// Gravity says how much a finding matters.
type Gravity string

// Gravities.
const (
	Fine  Gravity = "ok"
	Warn  Gravity = "warning" // works, and somebody should know
	Wrong Gravity = "error"   // a promise does not hold
)

// Finding is one thing that Diagnose looked at.
type Finding struct {
	// Check is the stable name of what was looked at: open, engine, journal_mode,
	// synchronous, integrity, schema, incarnations, heads, nodes, locks, disk, wal
	// or mode.
	Check   string
	Gravity Gravity
	Detail  string // one sentence for people
}

// minFree is the free space, in bytes, below which Diagnose warns.
const minFree = 256 << 20

// Diagnose looks at the file as [DB.Diagnose] does, through the handle that is
// open or through one of its own; it does not create the file. A file that cannot
// be opened gives one finding, "open".
func (s *Source) Diagnose(ctx context.Context) []Finding {
	if db := s.DB(); db != nil {
		return db.Diagnose(ctx)
	}
	db, err := OpenDB(ctx, s.path, append(append([]Option{}, s.opts...), MustExist())...)
	if err != nil {
		return []Finding{{"open", Wrong, err.Error()}}
	}
	defer db.Close()
	return db.Diagnose(ctx)
}

// Diagnose looks at everything that the store's promises rest on and that can be
// seen from here. It reads each head row, each page's structure and nothing of
// the payloads: minutes for a file of many gigabytes. What cannot be looked at is
// a finding of gravity Wrong.
func (db *DB) Diagnose(ctx context.Context) []Finding {
	d := &doctor{db: db, ctx: ctx}
	d.settings()
	d.integrity()
	d.schema()
	d.heads()
	d.nodes()
	d.disk()
	return d.found
}

type doctor struct {
	db    *DB
	ctx   context.Context
	found []Finding
}

func (d *doctor) note(check string, g Gravity, format string, args ...any) {
	d.found = append(d.found, Finding{check, g, fmt.Sprintf(format, args...)})
}

// ask reads one text by query, on a reader, or notes why not.
func (d *doctor) ask(check, query string) (answer string, ok bool) {
	err := d.db.read(d.ctx, "diagnose", func(c *sqlite3.Conn) (err error) {
		answer, err = text(c, query)
		return err
	})
	if err != nil {
		d.note(check, Wrong, "%v", err)
	}
	return answer, err == nil
}

// expect notes whether an answer is the wanted one.
func (d *doctor) expect(check, query, want, meaning string) {
	got, ok := d.ask(check, query)
	switch {
	case !ok:
	case strings.EqualFold(got, want):
		d.note(check, Fine, "%s: %s", meaning, got)
	default:
		d.note(check, Wrong, "%s: %s, not %s", meaning, got, want)
	}
}

func (d *doctor) settings() {
	if v, ok := d.ask("engine", "SELECT sqlite_version()"); ok {
		if err := checkEngine(v); err != nil {
			d.note("engine", Wrong, "%v", err)
		} else {
			d.note("engine", Fine, "SQLite %s", v)
		}
	}
	d.expect("journal_mode", "PRAGMA journal_mode", "wal", "journal mode")
	var level int64
	err := d.db.writer.do(d.ctx, "diagnose", false, func(t *tx) (err error) {
		level, err = number(t.conn, "PRAGMA synchronous")
		return err
	})
	switch {
	case err != nil:
		d.note("synchronous", Wrong, "%v", err)
	case level >= 2:
		d.note("synchronous", Fine, "every commit is forced to disk (FULL)")
	case level == 1 && d.db.o.normal:
		d.note("synchronous", Warn, "the last commits may be lost at power loss (NORMAL), as the program asked for")
	default:
		d.note("synchronous", Wrong, "synchronous is %d, which nobody asked for", level)
	}
}

func (d *doctor) integrity() {
	d.expect("integrity", "PRAGMA quick_check(1)", "ok", "structure of the file")
}

func (d *doctor) schema() {
	var have int
	err := d.db.read(d.ctx, "diagnose", func(c *sqlite3.Conn) (err error) {
		have, err = schemaOf(c)
		return err
	})
	switch {
	case err != nil:
		d.note("schema", Wrong, "%v", err)
	case have != d.db.schema:
		d.note("schema", Warn, "schema version %d, used as %d", have, d.db.schema)
	default:
		d.note("schema", Fine, "schema version %d", have)
	}
	if have < schemaIncarnation {
		return
	}
	if n, ok := d.ask("incarnations", "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name = 'loom_events_incarnation'"); ok && n != "1" {
		d.note("incarnations", Wrong, "the trigger loom_events_incarnation is gone: new executions cannot be told from deleted ones")
	}
	n, ok := d.ask("incarnations", `SELECT count(*) FROM loom_heads h CROSS JOIN loom_events e ON e.key = h.key AND e.sequence = 0
  WHERE e.incarnation IS NULL AND h.state <> 10`)
	switch {
	case !ok:
	case n == "0":
		d.note("incarnations", Fine, "every execution has one")
	default:
		d.note("incarnations", Warn, "%s executions have none: they are older than schema version 2, or a tool wrote them without the trigger", n)
	}
	d.count("heads", `SELECT count(*) FROM loom_heads h CROSS JOIN loom_events e ON e.key = h.key AND e.sequence = 0
  WHERE h.state <> 10 AND (h.incarnation IS NOT e.incarnation OR h.first_ts <> e.ts)`, "head rows do not repeat what sequence 0 says")
}

func (d *doctor) heads() {
	d.count("heads", `SELECT count(*) FROM loom_heads h WHERE h.state NOT IN (8, 10)
  AND h.head IS NOT (SELECT max(sequence) FROM loom_events e WHERE e.key = h.key)`, "logs do not end where their head row says")
}

func (d *doctor) count(check, query, bad string) {
	n, ok := d.ask(check, query)
	switch {
	case !ok:
	case n == "0":
		d.note(check, Fine, "0 %s", bad)
	default:
		d.note(check, Wrong, "%s %s", n, bad)
	}
}

func (d *doctor) nodes() {
	leases, err := d.db.Nodes(d.ctx)
	if err != nil {
		d.note("nodes", Wrong, "%v", err)
		return
	}
	alive := 0
	for _, l := range leases {
		if l.Alive {
			alive++
			continue
		}
		d.note("nodes", Warn, "node %s is dead, its lease ended at %s; what it owned is taken over by the next node that knows the flow",
			l.Node, l.Expires.Time().Format("2006-01-02T15:04:05Z"))
	}
	d.note("nodes", Fine, "%d alive, %d dead", alive, len(leases)-alive)
	switch {
	case !canLock:
		d.note("locks", Warn, "this system has no flock: a killed node is replaced after its lease only")
	case d.db.o.noLocks:
		d.note("locks", Warn, "node locks are off, as the program asked for")
	default:
		d.note("locks", Fine, "each node holds an OS lock")
	}
}

func (d *doctor) disk() {
	path := d.db.file.path
	if free, ok := freeBytes(path); ok {
		g := Fine
		if free < minFree {
			g = Warn
		}
		d.note("disk", g, "%d MiB free", free>>20)
	}
	wal := sizeOf(path + "-wal")
	g := Fine
	if wal > 4*walLimit {
		g = Warn // a reader that never ends, or a writer that never rests
	}
	d.note("wal", g, "the write-ahead log has %d KiB", wal>>10)
	if info, err := os.Stat(path); err == nil {
		if others := info.Mode().Perm() & 0o077; others != 0 && canLock {
			d.note("mode", Warn, "the file may be used by others than its owner: %v", info.Mode().Perm())
		} else {
			d.note("mode", Fine, "%v", info.Mode().Perm())
		}
	}
}
