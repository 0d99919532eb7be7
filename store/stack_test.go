package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loomwork/loom/store"
)

// claim H-19: each order of up to five decorators stands in the order of ranks,
// or is refused and wraps nothing.
func TestStackOrder(t *testing.T) {
	var trace []string
	deco := func(name string, rank store.Rank) store.Decorator {
		return store.Decorator{Name: name, Rank: rank, Wrap: func(s store.Store) store.Store {
			trace = append(trace, name)
			return s
		}}
	}
	all := []store.Decorator{
		deco("fault", store.RankFault), deco("coalesce", store.RankCoalesce), deco("shard", store.RankShard), deco("replica", store.RankReplica),
		deco("audit", store.RankAudit), deco("offload", store.RankOffload), deco("encrypt", store.RankEncrypt), deco("tenant", store.RankTenant),
		deco("profile", store.RankProfile),
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].Rank >= all[i].Rank {
			t.Fatalf("%s does not stand outside of %s", all[i].Name, all[i-1].Name)
		}
	}
	tried, good := 0, 0
	var stack []store.Decorator
	var extend func()
	extend = func() {
		tried++
		trace = nil
		s, err := store.Stack(stubs(), stack...)
		ordered := slices.IsSortedFunc(stack, func(a, b store.Decorator) int { return int(a.Rank - b.Rank) })
		twice := false
		for i := 1; i < len(stack); i++ {
			twice = twice || slices.ContainsFunc(stack[:i], func(d store.Decorator) bool { return d.Name == stack[i].Name })
		}
		if want := ordered && !twice; want != (err == nil) {
			t.Fatalf("%v: %v", names(stack), err)
		}
		if err != nil {
			var se *store.StackError
			if !errors.As(err, &se) || !strings.Contains(err.Error(), se.Inner) || !strings.Contains(err.Error(), se.Outer) || s.Log != nil || len(trace) > 0 {
				t.Fatalf("%v: %v, wrapped by %q", names(stack), err, trace)
			}
		} else {
			good++
			if !slices.Equal(trace, names(stack)) || s.Log == nil {
				t.Fatalf("%v wrapped in the order %q", names(stack), trace)
			}
		}
		if len(stack) == 5 {
			return
		}
		for _, d := range all {
			stack = append(stack, d)
			extend()
			stack = stack[:len(stack)-1]
		}
	}
	extend()
	if good != 1+9+36+84+126+126 {
		t.Errorf("of %d stacks %d are in order", tried, good)
	}
}

// Two decorators of one rank may stand in either order; one of them twice not.
func TestStackOfEqualRanks(t *testing.T) {
	same := func(s store.Store) store.Store { return s }
	one, two := store.Decorator{Name: "one", Rank: 3, Wrap: same}, store.Decorator{Name: "two", Rank: 3, Wrap: same}
	for _, ds := range [][]store.Decorator{nil, {one}, {one, two}, {two, one}} {
		if _, err := store.Stack(stubs(), ds...); err != nil {
			t.Errorf("%v: %v", names(ds), err)
		}
	}
	if _, err := store.Stack(stubs(), one, two, one); err == nil {
		t.Error("one decorator stands twice")
	}
}

func names(ds []store.Decorator) []string {
	out := []string{}
	for _, d := range ds {
		out = append(out, d.Name)
	}
	return out
}
