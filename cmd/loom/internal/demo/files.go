package demo

import (
	"path/filepath"
	"strings"
)

// files are what the demo itself writes, all beside the database: they are not part
// of the tree that it audits.
type files struct {
	dir  string // of the database, symbolic links resolved
	base string // its name
	id   string
}

// filesOf returns the files of the demo id over the database at path.
func filesOf(path, id string) (*files, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(dir, filepath.Base(full))
	} else {
		return nil, err
	}
	return &files{dir: filepath.Dir(full), base: filepath.Base(full), id: id}, nil
}

func (f *files) db() string     { return filepath.Join(f.dir, f.base) }
func (f *files) ledger() string { return f.db() + "." + f.id + ".ledger.jsonl" }
func (f *files) report() string { return f.db() + "." + f.id + ".report.json" }

// holds reports whether the file called name in dir (symbolic links resolved) is
// one that a demo over this database writes, with whatever id.
func (f *files) holds(dir, name string) bool {
	rest, ours := strings.CutPrefix(name, f.base)
	if !ours || dir != f.dir {
		return false
	}
	switch rest {
	case "", "-wal", "-shm", "-journal":
		return true
	}
	if rest[0] != '.' {
		return false
	}
	for _, end := range []string{".lock", ".ledger.jsonl", ".report.json", ".report.json.new"} {
		if strings.HasSuffix(rest, end) {
			return true
		}
	}
	return false
}
