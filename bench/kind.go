package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// kind is a store to measure: an engine and its settings.
type kind struct {
	name   string
	memory bool
	normal bool // SQLite: synchronous=NORMAL
}

var kinds = []*kind{
	{name: "memory", memory: true},
	{name: "sqlite-full"},
	{name: "sqlite-normal", normal: true},
}

// kindOf returns the store called name, nil if there is none.
func kindOf(name string) *kind {
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return kinds[i]
}

// source returns a store at path, which memory does not look at.
func (k *kind) source(path string) store.Source {
	switch {
	case k.memory:
		return memstore.New(nil)
	case k.normal:
		return sqlite.Open(path, sqlite.MayLoseLastCommits())
	}
	return sqlite.Open(path)
}

// fresh opens a new, empty store for one piece of work, with its files at path. shut
// closes it.
func (k *kind) fresh(ctx context.Context, dir, work string) (st store.Store, path string, shut func() error, err error) {
	path = filepath.Join(dir, k.name+"-"+work+".db")
	if err := remove(path); err != nil {
		return store.Store{}, "", nil, err
	}
	st, shut, err = k.source(path).OpenStore(ctx)
	return st, path, shut, err
}

// remove removes a database and all that belongs to it.
func remove(path string) error {
	all, err := filepath.Glob(path + "*")
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
