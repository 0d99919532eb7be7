package storetest_test

import (
	"context"
	"errors"
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

// clock is a store's clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now event.Time
}

func (c *clock) Now() event.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// opener returns benches of memory stores at a level, each store under wrap.
func opener(level store.Level, wrap func(store.Store) store.Store) storetest.Opener {
	return func(context.Context) (storetest.Bench, error) {
		c := &clock{now: 1_800_000_000_000_000}
		s := store.Of(memstore.New(&memstore.Options{Now: c.Now, Level: level}))
		if wrap != nil {
			s = wrap(s)
		}
		b := storetest.Bench{Store: s, Advance: c.Advance, Close: func() error { return nil }}
		b.Reopen = func(context.Context) (storetest.Bench, error) { return b, nil }
		return b, nil
	}
}

func TestMemstore(t *testing.T) {
	storetest.Run(t, opener(store.Level23, nil), storetest.Claim{SPI: "2.3.0"})
}

// The machine's clock in place of one that can be moved: the kit waits.
func TestMemstoreOnRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for half a minute")
	}
	t.Parallel()
	open := func(context.Context) (storetest.Bench, error) {
		return storetest.Bench{Store: store.Of(memstore.New(nil))}, nil
	}
	if err := storetest.Check(t.Context(), open, storetest.Claim{}); err != nil {
		t.Fatal(err)
	}
}

// outcome lists the names of cases that failed and of those that were skipped.
func outcome(t *testing.T, open storetest.Opener, claim string) (failed, skipped []string) {
	t.Helper()
	vs, err := storetest.Examine(t.Context(), open, storetest.Claim{SPI: claim})
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != len(storetest.Cases()) {
		t.Fatalf("%d verdicts on %d cases", len(vs), len(storetest.Cases()))
	}
	for _, v := range vs {
		if v.Err != nil {
			failed = append(failed, v.Case.Name)
			var ce *storetest.CaseError
			if !errors.As(v.Err, &ce) || ce.Quote != v.Case.Quote || len(ce.Found) == 0 {
				t.Errorf("the error of %s is %v", v.Case.Name, v.Err)
			}
		}
		if v.Skipped != "" {
			skipped = append(skipped, v.Case.Name)
		}
	}
	return failed, skipped
}

// claim: a store without incarnations.
func TestLegacyStoreAtEachClaim(t *testing.T) {
	legacy := opener(store.Level22, nil)
	three := []string{"incarnation/byte-identical-recreation", "incarnation/observations-agree", "incarnation/stable"}
	failed, skipped := outcome(t, legacy, "2.2.0")
	if len(failed) > 0 || !slices.Equal(skipped, three) {
		t.Errorf("claiming 2.2.0: failed %q, skipped %q; want none and %q", failed, skipped, three)
	}
	failed, skipped = outcome(t, legacy, "2.3.0")
	if !slices.Equal(failed, three[:1]) || len(skipped) > 0 {
		t.Errorf("claiming 2.3.0: failed %q, skipped %q; want %q and none", failed, skipped, three[:1])
	}
	if err := storetest.Check(t.Context(), legacy, storetest.Claim{}); err == nil || !strings.Contains(err.Error(), "rule: Incarnation") {
		t.Errorf("the default claim is 2.3.0: %v", err)
	}
	if failed, skipped = outcome(t, opener(store.Level23, nil), "2.2.0"); len(failed) > 0 || !slices.Equal(skipped, three) {
		t.Errorf("a newer store claiming 2.2.0: failed %q, skipped %q", failed, skipped)
	}
}

// claim A-34
func TestClaimsThatAreNone(t *testing.T) {
	for _, text := range []string{"2.4.0", "2.3", "2.3.0 ", "v2.3.0", "02.3.0", "2.3.0.0", "latest", "2.10.0", "-2.3.0"} {
		called := false
		open := func(context.Context) (storetest.Bench, error) { called = true; return storetest.Bench{}, nil }
		var le *store.LevelError
		if err := storetest.Check(t.Context(), open, storetest.Claim{SPI: text}); !errors.As(err, &le) || called {
			t.Errorf("the claim %q: %v, store opened %v", text, err, called)
		}
	}
}

// A case that needs a part is skipped, with the reason, by a store without it.
func TestMissingPartsAreSkippedVisibly(t *testing.T) {
	open := opener(store.Level23, func(s store.Store) store.Store {
		return s.Withhold(store.PartRecords, "nobody asked for them").Withhold(store.PartInbox, "no mail today")
	})
	vs, err := storetest.Examine(t.Context(), open, storetest.Claim{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		if v.Err != nil {
			t.Errorf("%v", v.Err)
		}
		needs := slices.Contains(v.Case.Parts, store.PartRecords) || slices.Contains(v.Case.Parts, store.PartInbox)
		if needs != (v.Skipped != "") {
			t.Errorf("%s: skipped %q, needs a missing part: %v", v.Case.Name, v.Skipped, needs)
		}
		if needs && !strings.Contains(v.Skipped, "nobody asked") && !strings.Contains(v.Skipped, "no mail today") {
			t.Errorf("%s is skipped without the reason: %q", v.Case.Name, v.Skipped)
		}
	}
}

// A store that does not open, panics, or closes badly fails; it does not end the
// kit.
func TestStoresThatFallOver(t *testing.T) {
	shut := errors.New("will not shut")
	for name, open := range map[string]storetest.Opener{
		"open":  func(context.Context) (storetest.Bench, error) { return storetest.Bench{}, shut },
		"panic": func(context.Context) (storetest.Bench, error) { panic("boom") },
		"close": func(ctx context.Context) (storetest.Bench, error) {
			b, err := opener(store.Level23, nil)(ctx)
			b.Close = func() error { return shut }
			return b, err
		},
	} {
		if failed, _ := outcome(t, open, "2.3.0"); len(failed) != len(storetest.Cases()) {
			t.Errorf("%s: %d of %d cases failed", name, len(failed), len(storetest.Cases()))
		}
	}
}
