package storetest_test

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
)

// looks are the methods of parts that change nothing.
var looks = []string{
	"Log.Read", "Log.Tip", "Index.Get", "Index.List", "Index.Runnable", "Index.Owned", "Leaser.Nodes", "Inbox.Pending",
	"Records.Get", "Records.List", "Hints.Await", "About.Level", "About.Epoch", "Feed.Since", "Snapshots.Latest", "Blobs.GetBlob",
}

// conditions are the fields of a request that say when it holds and how it travels, and
// so change nothing.
var conditions = []string{"Request.Execution", "Request.Expect", "Request.As", "Request.Alone"}

// changes returns every method of every part that some backend has, and every field of a
// request, without those that change nothing.
func changes(t *testing.T) (names []string) {
	there := store.Of(memstore.New(nil))
	parts := reflect.TypeFor[store.Store]()
	found := 0
	for i := range parts.NumField() {
		f := parts.Field(i)
		if f.Type.Kind() != reflect.Interface {
			continue
		}
		for m := range f.Type.NumMethod() {
			name := f.Name + "." + f.Type.Method(m).Name
			if slices.Contains(looks, name) {
				found++
			} else if there.Has(store.Part(f.Name)) { // a part that no backend has has no kit yet
				names = append(names, name)
			}
		}
	}
	req := reflect.TypeFor[store.Request]()
	for i := range req.NumField() {
		if name := "Request." + req.Field(i).Name; slices.Contains(conditions, name) {
			found++
		} else {
			names = append(names, name)
		}
	}
	if found != len(looks)+len(conditions) {
		t.Errorf("%d of %d methods and fields that change nothing are there", found, len(looks)+len(conditions))
	}
	slices.Sort(names)
	return names
}

// case 62: whatever changes a store has a case in the kit.
func TestEveryMutationHasACase(t *testing.T) {
	named := storetest.Mutations()
	var cases []string
	for _, c := range storetest.Cases() {
		cases = append(cases, c.Name)
	}
	if got, want := slices.Sorted(maps.Keys(named)), changes(t); !slices.Equal(got, want) {
		t.Errorf("the kit tries %q,\nand what changes a store is %q", got, want)
	}
	for name, by := range named {
		if len(by) == 0 {
			t.Errorf("no case tries %s", name)
		}
		for _, c := range by {
			if !slices.Contains(cases, c) {
				t.Errorf("%s is tried by %s, and there is no such case", name, c)
			}
		}
	}
}

// without returns a store that takes a field of a request for unset, once the execution
// is there; dropping what a start needs is refused, and no test of the kit.
func without(change func(*store.Request)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			reqs = slices.Clone(reqs)
			for i := range reqs {
				change(&reqs[i])
			}
			return l.Commit(ctx, reqs...)
		}}
		return s
	}
}

// swallowed are stores that take a change and do nothing, by what they swallow. The one
// that swallows whole commits is the first of defects.
var swallowed = map[string]func(store.Store) store.Store{
	"Leaser.Renew":   func(s store.Store) store.Store { s.Leaser = idleLeaser{s.Leaser, true}; return s },
	"Leaser.Leave":   func(s store.Store) store.Store { s.Leaser = idleLeaser{s.Leaser, false}; return s },
	"Inbox.Post":     func(s store.Store) store.Store { s.Inbox = idleInbox{s.Inbox}; return s },
	"Records.Put":    func(s store.Store) store.Store { s.Records = idleRecords{s.Records, true}; return s },
	"Records.Delete": func(s store.Store) store.Store { s.Records = idleRecords{s.Records, false}; return s },
	"Deleter.Delete": func(s store.Store) store.Store { s.Deleter = idleDeleter{s.Deleter}; return s },
	"Request.Nonce": func(s store.Store) store.Store {
		var mu sync.Mutex
		n := byte(0)
		return without(func(r *store.Request) {
			mu.Lock()
			defer mu.Unlock()
			if n++; !r.Nonce.IsZero() {
				r.Nonce[1], r.Nonce[2] = n, 1
			}
		})(s)
	},
	"Request.Events": without(func(r *store.Request) { r.Events = r.Events[:min(1, len(r.Events))] }),
	"Request.Claim": without(func(r *store.Request) {
		if r.Expect.Exists() {
			r.Claim = nil
		}
	}),
	"Request.Release": without(func(r *store.Request) { r.Release = nil }),
	"Request.State":   without(func(r *store.Request) { r.State = store.StateKeep }),
	"Request.Index": without(func(r *store.Request) {
		if r.Index != nil {
			r.Index = &store.IndexEntry{Flow: r.Index.Flow}
		}
	}),
	"Request.Seen":    without(func(r *store.Request) { r.Seen = 0 }),
	"Request.Consume": without(func(r *store.Request) { r.Consume = nil }),
	"Request.Publish": without(func(r *store.Request) { r.Publish = nil }),
	"Request.Post":    without(func(r *store.Request) { r.Post = nil }),
}

type idleLeaser struct {
	store.Leaser
	renew bool
}

func (l idleLeaser) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	if l.renew {
		return store.Lease{Node: node, Flows: flows, Alive: true, Expires: event.Never}, nil
	}
	return l.Leaser.Renew(ctx, node, ttl, flows)
}

func (l idleLeaser) Leave(ctx context.Context, node store.NodeID) error {
	if l.renew {
		return l.Leaser.Leave(ctx, node)
	}
	return nil
}

type idleInbox struct{ store.Inbox }

func (idleInbox) Post(context.Context, event.ExecutionID, store.Message) (store.Receipt, error) {
	return store.Receipt{Delivery: store.Posted, N: 1}, nil
}

type idleRecords struct {
	store.Records
	put bool
}

func (r idleRecords) Put(ctx context.Context, space, name string, version int64, body []byte) (int64, bool, error) {
	if r.put {
		return version + 1, true, nil
	}
	return r.Records.Put(ctx, space, name, version, body)
}

func (r idleRecords) Delete(ctx context.Context, space, name string, version int64) (bool, error) {
	if r.put {
		return r.Records.Delete(ctx, space, name, version)
	}
	return true, nil
}

type idleDeleter struct{ store.Deleter }

func (idleDeleter) Delete(context.Context, event.ExecutionID, store.Tip) (bool, error) {
	return true, nil
}

// case 62: a case that tries a mutation fails where nothing comes of it.
func TestACaseThatTriesAMutationSeesItMissing(t *testing.T) {
	all := storetest.Mutations()
	for _, c := range all["Log.Commit"] {
		if !slices.Contains(defects[0].want, c) {
			t.Errorf("no defect shows that %s sees a swallowed commit", c)
		}
	}
	delete(all, "Log.Commit")
	if got, want := slices.Sorted(maps.Keys(swallowed)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("swallowed are %q, want %q", got, want)
	}
	for name, by := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed, _ := outcome(t, opener(store.Level23, swallowed[name]), "2.3.0")
			for _, c := range by {
				if !slices.Contains(failed, c) {
					t.Errorf("%s passed", c)
				}
			}
		})
	}
}

// case 62: stores that merge a value into the one before, as one engine's patch function
// does and another's does not, are seen.
func TestMergingIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		wrap func(store.Store) store.Store
		want string
	}{
		"records, recursively":       {func(s store.Store) store.Store { s.Records = merging{s.Records, true}; return s }, "records/replaces"},
		"records, their first level": {func(s store.Store) store.Store { s.Records = merging{s.Records, false}; return s }, "records/replaces"},
		"the flows of a lease": {func(s store.Store) store.Store {
			s.Leaser = &hoarder{Leaser: s.Leaser, flows: map[string]bool{}}
			return s
		}, "lease/flows-are-replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed, _ := outcome(t, opener(store.Level23, c.wrap), "2.3.0")
			if !slices.Contains(failed, c.want) {
				t.Errorf("failed are %s", strings.Join(failed, ", "))
			}
		})
	}
}

// merging is a store that patches JSON objects.
type merging struct {
	store.Records
	deep bool
}

func (m merging) Put(ctx context.Context, space, name string, version int64, body []byte) (int64, bool, error) {
	var old, fresh map[string]any
	if rec, ok, err := m.Records.Get(ctx, space, name); err == nil && ok && json.Unmarshal(rec.Body, &old) == nil && json.Unmarshal(body, &fresh) == nil && old != nil && fresh != nil {
		if patched, err := json.Marshal(m.patch(old, fresh)); err == nil {
			body = patched
		}
	}
	return m.Records.Put(ctx, space, name, version, body)
}

func (m merging) patch(old, fresh map[string]any) map[string]any {
	for k, v := range fresh {
		a, okA := old[k].(map[string]any)
		b, okB := v.(map[string]any)
		if m.deep && okA && okB {
			v = m.patch(a, b)
		}
		old[k] = v
	}
	return old
}

// hoarder keeps every flow that a node ever had.
type hoarder struct {
	store.Leaser
	mu    sync.Mutex
	flows map[string]bool
}

func (h *hoarder) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	h.mu.Lock()
	for _, f := range flows {
		h.flows[f] = true
	}
	all := slices.Sorted(maps.Keys(h.flows))
	h.mu.Unlock()
	return h.Leaser.Renew(ctx, node, ttl, all)
}
