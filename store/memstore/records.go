package memstore

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// records implements store.Records.
type records struct {
	now func() event.Time

	mu     sync.Mutex
	spaces map[string][]store.Record // by name
}

// find returns where name stands in its space, or would. It needs mu.
func (rs *records) find(space, name string) (int, bool) {
	return slices.BinarySearchFunc(rs.spaces[space], name, func(r store.Record, name string) int {
		return strings.Compare(r.Name, name)
	})
}

// Get implements store.Records.
func (rs *records) Get(ctx context.Context, space, name string) (store.Record, bool, error) {
	if err := ctx.Err(); err != nil {
		return store.Record{}, false, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i, ok := rs.find(space, name)
	if !ok {
		return store.Record{}, false, nil
	}
	return copied(rs.spaces[space][i]), true, nil
}

// Put implements store.Records.
func (rs *records) Put(ctx context.Context, space, name string, version int64, body []byte) (int64, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i, there := rs.find(space, name)
	var current int64
	if there {
		current = rs.spaces[space][i].Version
	}
	if current != version {
		return current, false, nil
	}
	rec := store.Record{Space: space, Name: name, Version: version + 1, Body: bytes.Clone(body), Updated: rs.now()}
	if there {
		rs.spaces[space][i] = rec
		return rec.Version, true, nil
	}
	if rs.spaces == nil {
		rs.spaces = map[string][]store.Record{}
	}
	rs.spaces[space] = slices.Insert(rs.spaces[space], i, rec)
	return rec.Version, true, nil
}

// Delete implements store.Records.
func (rs *records) Delete(ctx context.Context, space, name string, version int64) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i, there := rs.find(space, name)
	if !there || rs.spaces[space][i].Version != version {
		return false, nil
	}
	rs.spaces[space] = slices.Delete(rs.spaces[space], i, i+1)
	return true, nil
}

// List implements store.Records. limit below 1 is no limit.
func (rs *records) List(ctx context.Context, space, after string, limit int) ([]store.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i, there := rs.find(space, after)
	if there {
		i++
	}
	all := rs.spaces[space]
	if after == "" {
		i = 0 // above nothing is everything, a record without a name included
	}
	all = all[i:]
	if limit > 0 && limit < len(all) {
		all = all[:limit]
	}
	out := make([]store.Record, len(all))
	for j := range all {
		out[j] = copied(all[j])
	}
	return out, nil
}

func copied(r store.Record) store.Record {
	r.Body = bytes.Clone(r.Body)
	return r
}
