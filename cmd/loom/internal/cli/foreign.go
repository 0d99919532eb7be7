package cli

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// foreign reports whether the file at path is a database in which Loom keeps nothing:
// opening it as a store would put Loom's tables into it. What cannot be looked at is
// not called foreign; opening it tells what is wrong.
func foreign(path string) bool {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return false
	}
	defer c.Close()
	found := false
	err = sqlitex.ExecuteTransient(c, "SELECT 1 FROM sqlite_schema WHERE name = 'loom_meta'", &sqlitex.ExecOptions{
		ResultFunc: func(*sqlite.Stmt) error { found = true; return nil },
	})
	return err == nil && !found
}
