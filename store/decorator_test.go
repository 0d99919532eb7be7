package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/coalesce"
	"github.com/loomwork/loom/store/fault"
)

// answer is what a decorator does with a part.
type answer string

const (
	wrap     answer = "wrap"     // the part is another one, over the inner one
	pass     answer = "pass"     // the part is the inner one
	withhold answer = "withhold" // there is none, and Require says who took it away
)

// decorators is the table of architecture: every decorator has an answer for
// every part. A new decorator adds a row, a new part adds a column, and the
// tests below fail until both are complete and true.
var decorators = map[string]struct {
	make func() store.Decorator
	does map[store.Part]answer
}{
	"coalesce": {
		make: func() store.Decorator { return coalesce.New(nil) },
		does: map[store.Part]answer{
			store.PartLog: wrap, store.PartIndex: pass, store.PartLeaser: pass, store.PartInbox: pass,
			store.PartRecords: pass, store.PartDeleter: pass, store.PartTrimmer: pass, store.PartFeed: pass,
			store.PartSnapshots: pass, store.PartBlobs: pass, store.PartHints: pass, store.PartAbout: pass,
		},
	},
	"fault": {
		make: func() store.Decorator { return fault.New(nil).Decorator() },
		does: map[store.Part]answer{
			store.PartLog: wrap, store.PartIndex: wrap, store.PartLeaser: wrap, store.PartInbox: wrap,
			store.PartRecords: wrap, store.PartDeleter: wrap, store.PartTrimmer: pass, store.PartFeed: pass,
			store.PartSnapshots: pass, store.PartBlobs: pass, store.PartHints: pass, store.PartAbout: pass,
		},
	},
}

// noDecorators are the directories beside the decorators.
var noDecorators = map[string]bool{"memstore": true, "storetest": true, "testdata": true}

// claim H-18, A-31
func TestEveryDecoratorHasARow(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || noDecorators[e.Name()] {
			continue
		}
		if _, ok := decorators[e.Name()]; !ok {
			t.Errorf("store/%s is a decorator without a row in the table", e.Name())
		}
		if !runsTheKit(t, e.Name()) {
			t.Errorf("store/%s does not run the conformance kit", e.Name())
		}
	}
}

// runsTheKit looks for a call of the kit in the tests of a directory.
func runsTheKit(t *testing.T, dir string) bool {
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") {
			text, err := os.ReadFile(dir + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "storetest.Run(") {
				return true
			}
		}
	}
	return false
}

func TestDecoratorsDoWhatTheTableSays(t *testing.T) {
	for name, row := range decorators {
		t.Run(name, func(t *testing.T) {
			d := row.make()
			if d.Name != name {
				t.Errorf("its name is %q", d.Name)
			}
			in := stubs()
			out := d.Wrap(in)
			for _, p := range store.Parts() {
				does, ok := row.does[p]
				if !ok {
					t.Errorf("no answer for %s", p)
					continue
				}
				is := withhold
				switch {
				case out.Has(p) && part(out, p) == part(in, p):
					is = pass
				case out.Has(p):
					is = wrap
				}
				if is != does {
					t.Errorf("%s: the table says %s, the decorator does %s", p, does, is)
				}
				if err := out.Require(p); is == withhold && !strings.Contains(err.Error(), name) {
					t.Errorf("%s is withheld, and the error does not say by whom: %v", p, err)
				}
				// What the store under it does not have, nobody can add.
				if p != store.PartLog && d.Wrap(in.Withhold(p, "the backend has none")).Has(p) {
					t.Errorf("%s appears where there is none", p)
				}
			}
			if len(row.does) != len(store.Parts()) {
				t.Errorf("%d answers for %d parts", len(row.does), len(store.Parts()))
			}
		})
	}
}

// claim H-19: gathering outside of shards would let one flush span stores, of which one may
// take its part while another refuses. The stack says so before anything is wrapped.
func TestGatheringStandsInsideOfShards(t *testing.T) {
	wrapped := 0
	shard := store.Decorator{Name: "shard", Rank: store.RankShard, Wrap: func(s store.Store) store.Store { wrapped++; return s }}
	var refused *store.StackError
	if _, err := store.Stack(stubs(), shard, coalesce.New(nil)); !errors.As(err, &refused) || refused.Outer != "coalesce" || refused.Inner != "shard" || wrapped > 0 {
		t.Errorf("outside: %v, %d wrapped", err, wrapped)
	}
	if _, err := store.Stack(stubs(), coalesce.New(nil), shard); err != nil || wrapped != 1 {
		t.Errorf("inside: %v, %d wrapped", err, wrapped)
	}
	if _, err := store.Stack(stubs(), coalesce.New(nil), coalesce.New(&coalesce.Options{MaxRequests: 2})); !errors.As(err, &refused) {
		t.Errorf("twice: %v", err)
	}
}
