//go:build !unix

package sqlite

import "os"

// identity tells one file from another that has its name.
type identity struct{ info os.FileInfo }

func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	return identity{info}, err
}

func (i identity) same(o identity) bool { return os.SameFile(i.info, o.info) }
