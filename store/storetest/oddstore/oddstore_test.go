package oddstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
	"github.com/loomwork/loom/store/storetest/oddstore"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// opener returns benches of memory stores under wrap, on a clock that moves.
func opener(wrap func(store.Store) store.Store) storetest.Opener {
	return func(context.Context) (storetest.Bench, error) {
		var now atomic.Int64
		now.Store(1_800_000_000_000_000)
		s := wrap(store.Of(memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }})))
		b := storetest.Bench{Store: s, Advance: func(d time.Duration) { now.Add(d.Microseconds()) }}
		b.Reopen = func(context.Context) (storetest.Bench, error) { return b, nil }
		return b, nil
	}
}

// withLog returns a wrapper that replaces the write and read door.
func withLog(door func(store.Log) store.Log) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		s.Log = door(s.Log)
		return s
	}
}

// An odd store has the fault that it says, and the kit sees it there and nowhere
// else.
func TestEachHasItsFault(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrap  func(store.Store) store.Store
		claim string
		want  []string // cases that fail, or the noun of them
	}{
		{"coalescer", func(s store.Store) store.Store { return oddstore.NewCoalescer(s).Store() }, "",
			[]string{"fate/innocents", "fate/two-starts-of-one-id", "fate/one-after-the-other", "fate/many"}},
		{"legacy", oddstore.Legacy, "2.2.0", nil},
		{"legacy, claiming more", oddstore.Legacy, "2.3.0", []string{"incarnation/byte-identical-recreation"}},
		{"scoped", func(s store.Store) store.Store { return oddstore.Scoped(s, "acme/") }, "",
			[]string{"judgement/invalid", "payload/ids", "start/conflict-fields"}}, // its prefix fills an empty id, and makes a full one too long
		{"store-wide ids", withLog(func(l store.Log) store.Log { return oddstore.NewStoreWide(l) }), "", []string{"resend/step"}},
		{"misnaming", withLog(func(l store.Log) store.Log {
			return &oddstore.Misnaming{Log: l, Name: func(event.ExecutionID) event.ExecutionID { return "other" }}
		}), "", []string{"start/conflict-fields"}},
		{"blind", withLog(func(l store.Log) store.Log {
			return &oddstore.Blind{Log: l, Err: func(context.Context) error { return store.ErrCorrupt }}
		}), "", []string{"read/ranges", "payload/bytes"}},
		{"lagging", withLog(func(l store.Log) store.Log { return &oddstore.Lagging{Log: l} }), "", []string{"process/strong-reads", "read/ranges"}},
		{"rangeless", withLog(func(l store.Log) store.Log { return &oddstore.Rangeless{Log: l} }), "", []string{"read/ranges"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			vs, err := storetest.Examine(t.Context(), opener(c.wrap), storetest.Claim{SPI: c.claim})
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, v := range vs {
				if v.Err != nil {
					failed = append(failed, v.Case.Name)
				}
			}
			for _, name := range c.want {
				if !slices.Contains(failed, name) {
					t.Errorf("%s passed", name)
				}
			}
			if exact := c.want == nil || c.name == "scoped" || c.name == "misnaming" || c.name == "legacy, claiming more"; exact && len(failed) != len(c.want) {
				t.Errorf("failed: %s", strings.Join(failed, ", "))
			}
		})
	}
}

func TestOlderOperationsOnALegacyStore(t *testing.T) {
	seedapi.Run(t, opener(oddstore.Legacy), storetest.Claim{SPI: "2.2.0"})
}

// ticking is a machine's clock that stands still for a millisecond at a time.
type ticking struct{ us atomic.Int64 }

func (c *ticking) now() event.Time { return event.Time(c.us.Load() / 1000 * 1000) }

var nonces atomic.Uint64

func nonce() (n store.Nonce) {
	n[0] = 0x0D
	for i, v := 15, nonces.Add(1); v > 0; i, v = i-1, v>>8 {
		n[i] = byte(v)
	}
	return n
}

// late is a write that was meant for an execution which is deleted and made again
// with another input, to the same length, before it arrives.
func late(t *testing.T, l *seedapi.Log, c *ticking, between time.Duration) (verdict seedapi.Verdict, was, is seedapi.Tip, log []event.Envelope) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	grow := func(input string) seedapi.Tip {
		token := store.NoFence
		for seq := event.Seq(0); seq <= 12; seq++ {
			var p event.Payload = event.EffectCompleted{Op: "work#1", Result: []byte(input)}
			if seq == 0 {
				p = event.ExecutionStarted{Flow: "seed", Input: []byte(input), Seed: "00"}
			}
			must(l.Append(ctx, event.New("e", seq, c.now(), p, nil), token))
			if seq == 0 {
				tip, err := l.LoadTip(ctx, "e")
				must(err)
				token = tip.Fence
			}
		}
		tip, err := l.LoadTip(ctx, "e")
		must(err)
		return tip
	}
	was = grow(`"one"`)
	must(l.Delete(ctx, "e"))
	c.us.Add(between.Microseconds())
	is = grow(`"two"`)
	outcome := event.New("e", 13, c.now(), event.EffectCompleted{Op: "reward#1", Result: []byte(`"for one"`)}, nil)
	verdict, err := l.AppendIfUnchanged(ctx, "e", was, outcome)
	must(err)
	for e, err := range l.ReadFrom(ctx, "e", 0) {
		must(err)
		log = append(log, e)
	}
	return verdict, was, is, log
}

// What the anchor of a log without incarnations cannot tell, and what an
// incarnation does. Known of level 2.2.0, and shown as it is.
func TestAnExecutionMadeAgainWithinOneTick(t *testing.T) {
	for _, c := range []struct {
		name    string
		level   store.Level
		wrap    func(store.Store) store.Store
		between time.Duration
		want    seedapi.Verdict
		anchors bool // that both incarnations have one anchor
	}{
		{"claims A-04 and A-49: 2.2.0 credits the successor with what was its predecessor's", store.Level23, oddstore.Legacy, 400 * time.Microsecond, seedapi.Appended, true},
		{"claim A-49: 2.2.0 that keeps the token of what was deleted tells them apart by it", store.Level22, nil, 400 * time.Microsecond, seedapi.Moved, true},
		{"claims A-03 and A-49: 2.3.0 tells them apart", store.Level23, nil, 400 * time.Microsecond, seedapi.Moved, false},
		{"claim A-06: 2.2.0 tells them apart by another time", store.Level23, oddstore.Legacy, time.Millisecond, seedapi.Moved, false},
		{"claim A-06: so does 2.2.0 that keeps tokens", store.Level22, nil, time.Millisecond, seedapi.Moved, false},
		{"claim A-06: and 2.3.0", store.Level23, nil, time.Millisecond, seedapi.Moved, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &ticking{}
			clock.us.Store(1_800_000_000_000_100)
			s := store.Of(memstore.New(&memstore.Options{Now: clock.now, Level: c.level}))
			if c.wrap != nil {
				s = c.wrap(s)
			}
			verdict, was, is, log := late(t, seedapi.New(s, nonce), clock, c.between)
			if (was.Anchor == is.Anchor) != c.anchors || was.Head != is.Head {
				t.Fatalf("the tips are %+v and %+v", was, is)
			}
			if verdict != c.want {
				t.Fatalf("verdict %d, want %d", verdict, c.want)
			}
			want := 13
			if c.want == seedapi.Appended { // an outcome of "one", in the log of "two"
				want = 14
			}
			if len(log) != want {
				t.Fatalf("the log has %d events, want %d", len(log), want)
			}
		})
	}
}

// A read that a store never answers ends with its caller's patience.
func TestABlindStoreMayWait(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	b := &oddstore.Blind{Log: memstore.New(nil), Err: func(ctx context.Context) error {
		cancel(gone)
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	for _, err := range b.Read(ctx, "e", store.Range{}) {
		if !errors.Is(err, gone) {
			t.Fatal(err)
		}
	}
}
