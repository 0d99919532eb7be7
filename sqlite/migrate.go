package sqlite

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	sqlite3 "zombiezen.com/go/sqlite"
)

// migrate brings the file to schema version want, or further if it is further
// already, gives it what files of every version have since they were first made, and
// returns the version that it has. A file that needs nothing is not
// written. Migrators in other processes are waited for, and found to have done
// the work.
func migrate(c *sqlite3.Conn, o *options) (have int, err error) {
	if have, err = schemaOf(c); err != nil {
		return 0, err
	}
	if have >= o.schema {
		if whole, err := hasPublished(c); whole || err != nil {
			return have, err
		}
	}
	if err = persist(o.patience, func() error { return run(c, "BEGIN IMMEDIATE") }); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = run(c, "ROLLBACK") // the cause is what counts
		}
	}()
	// Again, now that nobody else can write: another process may have migrated
	// the file while this one waited.
	if have, err = schemaOf(c); err != nil {
		return 0, err
	}
	for have < o.schema {
		if err = steps[have](c); err != nil {
			return 0, fmt.Errorf("migration to schema version %d: %w", have+1, err)
		}
		have++
		if err = setMeta(c, "schema", fmt.Sprint(have)); err != nil {
			return 0, err
		}
	}
	if err = addPublished(c); err != nil {
		return 0, fmt.Errorf("adding published pairs: %w", err)
	}
	return have, run(c, "COMMIT")
}

var steps = []func(*sqlite3.Conn) error{toPlain, toIncarnation, toVersions}

func toPlain(c *sqlite3.Conn) error {
	if err := script(c, step1); err != nil {
		return err
	}
	return setMeta(c, "epoch", newEpoch())
}

func toIncarnation(c *sqlite3.Conn) error {
	for _, table := range []string{"loom_events", "loom_heads"} {
		// A copy of the file that a tool made may have the column but not the stamp.
		n, err := number(c, "SELECT count(*) FROM pragma_table_info('"+table+"') WHERE name = 'incarnation'")
		if err != nil {
			return err
		}
		if n == 0 {
			if err := run(c, "ALTER TABLE "+table+" ADD COLUMN incarnation INTEGER"); err != nil {
				return err
			}
		}
	}
	if err := script(c, step2Counter); err != nil {
		return err
	}
	return run(c, step2Trigger)
}

func toVersions(c *sqlite3.Conn) error { return script(c, step3) }

// newEpoch returns a random text that no other file has.
func newEpoch() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// schemaOf returns the schema version of the file, 0 if it has no tables of
// Loom's. A version that this build does not know is an error that matches
// ErrNewer.
func schemaOf(c *sqlite3.Conn) (int, error) {
	n, err := number(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'loom_meta'")
	if err != nil || n == 0 {
		return 0, err
	}
	v, err := number(c, "SELECT CAST(value AS INTEGER) FROM loom_meta WHERE name = 'schema'")
	if err != nil {
		return 0, err
	}
	if v > schemaNewest {
		return 0, fmt.Errorf("%w: the file has schema version %d, this build knows %d", ErrNewer, v, schemaNewest)
	}
	return int(v), nil
}

func setMeta(c *sqlite3.Conn, name, value string) error {
	st, _, err := c.PrepareTransient("INSERT INTO loom_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2")
	if err != nil {
		return err
	}
	defer st.Finalize()
	st.BindText(1, name)
	st.BindText(2, value)
	_, err = st.Step()
	return err
}

// script runs the statements of text one by one. It knows no strings or
// triggers: a trigger is a statement of its own, for run.
func script(c *sqlite3.Conn, text string) error {
	for statement := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := run(c, statement); err != nil {
			return err
		}
	}
	return nil
}
