package loom_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// searched returns the ids that a filter finds.
func searched(t *testing.T, rt *loom.Runtime, f loom.Filter) (ids string) {
	t.Helper()
	for s, err := range rt.List(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		ids += s.ID + " "
	}
	return strings.TrimSpace(ids)
}

// shown checks what an execution shows: in its summary, and in the fold of its log.
func shown(t *testing.T, rt *loom.Runtime, id string, want map[string]string) {
	t.Helper()
	s, err := rt.Summary(t.Context(), id)
	if err != nil || !maps.Equal(s.Published, want) {
		t.Fatalf("%s shows %q, %v; want %q", id, s.Published, err, want)
	}
	state, err := rt.State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for key, raw := range state.Published {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		texts[key] = text
	}
	if !maps.Equal(texts, want) {
		t.Fatalf("the log of %s folds to %q, want %q", id, texts, want)
	}
}

// mustSet is Set in a body that cannot go on without it.
func mustSet(ctx loom.Context, key string, value any) {
	if err := loom.Set(ctx, key, value); err != nil {
		panic(err)
	}
}

// What a body sets is shown and found by key and value, while it runs and when it has
// ended, beside its labels and apart from them.
func TestWhatIsSetIsShownAndFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("order", func(ctx loom.Context, n int) (int, error) {
			mustSet(ctx, "stage", "waiting")
			mustSet(ctx, "round", n)
			if _, err := loom.Await[int](ctx, "go"); err != nil {
				return 0, err
			}
			mustSet(ctx, "stage", "done")
			mustSet(ctx, "round", nil)
			mustSet(ctx, "total", map[string]any{"eur": 1.5, "<": true})
			return n, nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for i, id := range []string{"a", "b"} {
			begin(t, flow, rt, i+1, loom.ID(id), loom.Labels(map[string]string{"stage": "label"}))
		}
		synctest.Wait()
		shown(t, rt, "a", map[string]string{"stage": "waiting", "round": "1"})
		waiting := loom.Filter{Published: map[string]string{"stage": "waiting"}}
		if got := searched(t, rt, waiting); got != "b a" {
			t.Errorf("waiting are %q", got)
		}
		for _, c := range []struct{ key, value, want string }{{"round", "2", "b"}, {"round", "3", ""}, {"stage", "label", ""}, {"other", "", ""}} {
			if got := searched(t, rt, loom.Filter{Published: map[string]string{c.key: c.value}}); got != c.want {
				t.Errorf("%s=%s finds %q, want %q", c.key, c.value, got, c.want)
			}
		}
		signal(t, rt, "a", "go", 0)
		yields(t, attach[int](t, rt, "a"), 1)
		shown(t, rt, "a", map[string]string{"stage": "done", "total": `{"<":true,"eur":1.5}`})
		if got := searched(t, rt, waiting); got != "b" {
			t.Errorf("waiting are %q", got)
		}
		both := loom.Filter{Labels: map[string]string{"stage": "label"}, Published: map[string]string{"total": `{"<":true,"eur":1.5}`, "stage": "done"}}
		if got := searched(t, rt, both); got != "a" {
			t.Errorf("by label and pairs: %q", got)
		}
	})
}

// Values of every form have one text; null, however it came to be, takes the key back.
func TestTheTextOfWhatIsSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type cents int
		var none *int
		var unset json.RawMessage
		_, db, id, err := run1(t, func(ctx loom.Context) (int, error) {
			for i, v := range []any{"", "a \"b\"\n<&>", "3", 3, cents(-4), 1e21, 0.5, true, []int{}, struct{ A string }{"x"}, json.RawMessage(` {"a": [1 ,2]} `),
				time.Second, "null", strings.Repeat("\u2028", loom.MaxPublishedBytes/3)} {
				mustSet(ctx, fmt.Sprintf("k%02d", i), v)
			}
			for _, v := range []any{nil, none, unset, json.RawMessage("null"), map[string]int(nil)} {
				mustSet(ctx, "gone", "x")
				mustSet(ctx, "gone", v)
			}
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got := headOf(t, db, id).Published
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(got)) {
			texts = append(texts, got[key])
		}
		want := []string{"", "a \"b\"\n<&>", "3", "3", "-4", "1e+21", "0.5", "true", "[]", `{"A":"x"}`, `{"a":[1,2]}`, "1000000000", "null",
			strings.Repeat("\u2028", loom.MaxPublishedBytes/3)}
		if !slices.Equal(texts, want) {
			t.Errorf("%q, want %q", texts, want)
		}
	})
}

// A pair costs no commit and no turn: it rides on the commit that carries its event, and
// no commit publishes what its events do not say.
func TestAPairTravelsWithItsEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		commits := map[bool]int{}
		for _, sets := range []bool{false, true} {
			s := &service{}
			flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
				for i := range 4 {
					if sets {
						mustSet(ctx, "round", i)
						mustSet(ctx, fmt.Sprint("was-", i), "x")
					}
					if _, err := step(ctx, s, "pay"); err != nil {
						return 0, err
					}
				}
				if sets {
					mustSet(ctx, "round", nil)
				}
				return 0, nil
			})
			db := memstore.New(nil)
			rt, way := tapped(t, db, loom.Flows(flow))
			yields(t, begin(t, flow, rt, 0, loom.ID("x")), 0)
			commits[sets] = len(way.commits("x"))
			for _, req := range way.commits("x") {
				var want []store.Publication
				for _, e := range req.Events {
					if p, err := e.Decode(); err != nil {
						t.Fatal(err)
					} else if p, ok := p.(event.StateSet); ok {
						want = append(want, store.Publication{Key: p.Key, Value: p.Text(), Gone: p.Gone()})
					}
				}
				for i := range want {
					if want[i].Gone {
						want[i].Value = ""
					}
				}
				if !slices.Equal(req.Publish, want) {
					t.Errorf("a commit of %s publishes %+v", kinds(req.Events), req.Publish)
				}
			}
			if sets {
				shown(t, rt, "x", map[string]string{"was-0": "x", "was-1": "x", "was-2": "x", "was-3": "x"})
			}
		}
		if commits[true] != commits[false] {
			t.Errorf("%d commits with pairs, %d without", commits[true], commits[false])
		}
	})
}

// The node dies at each of its commits, before the store has it and after: another one
// goes on, records no pair twice, and shows in the end what a run without a fault shows.
func TestANodeMayDieAtEachCommitThatPublishes(t *testing.T) {
	flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
		for i := range 3 {
			mustSet(ctx, "stage", fmt.Sprint("step ", i))
			if i == 2 {
				mustSet(ctx, "early", nil)
			} else {
				mustSet(ctx, "early", i)
			}
			if _, err := loom.Do(ctx, "pay", func(context.Context) (int, error) { return i, nil }); err != nil {
				return "", err
			}
			if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	places := 0
	for _, landed := range []bool{false, true} {
		for k := 1; ; k++ {
			reached := false
			bubble(t, func(t *testing.T) {
				db := memstore.New(nil)
				client := open(t, db, loom.Tuning{ClientOnly: true})
				_, way := tapped(t, db, loom.Flows(flow))
				var n atomic.Int64
				at := func(c call) {
					if c.op == "commit" && c.id == "x" {
						if n.Add(1) == int64(k) {
							reached = true
							way.kill()
						}
					}
				}
				if landed {
					way.onAnswer(func(c call, _ store.Result) {
						at(c)
						_ = way.alive() // the answer never arrives
					})
				} else {
					way.on(at)
				}
				begin(t, flow, client, 0, loom.ID("x"))
				pass(t, time.Minute)
				rescue := open(t, db, loom.Flows(flow))
				yields(t, attach[string](t, rescue, "x"), "done")
				shown(t, rescue, "x", map[string]string{"stage": "step 2"})
				if got := len(payloads[event.StateSet](t, db, "x")); got != 6 {
					t.Errorf("place %d, landed %v: %d pairs are recorded", k, landed, got)
				}
			})
			if !reached {
				break
			}
			places++
		}
	}
	if places < 8 {
		t.Errorf("the node died at %d places only", places)
	}
}

// A cancel keeps no pair from being recorded: a body says that it gives way, and what it
// does at its end.
func TestACancelledBodyShowsWhatItIsAt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			mustSet(ctx, "stage", "sleeping")
			if err := loom.Cleanup(ctx, "tidy", func(ctx loom.Context) error { return loom.Set(ctx, "tidied", true) }); err != nil {
				return 0, err
			}
			err := loom.Sleep(ctx, "long", time.Hour)
			mustSet(ctx, "stage", "giving way")
			return 0, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		if err := run.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		if err := fails(t, run); !errors.Is(err, loom.ErrCancelled) {
			t.Fatal(err)
		}
		shown(t, rt, "x", map[string]string{"stage": "giving way", "tidied": "true"})
	})
}

// What cannot be shown is a typed error, in every replay the same, and nothing of it is
// recorded.
func TestWhatCannotBeSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var said []string
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (int, error) {
			said = nil
			name := func(err error) {
				var bad *loom.NameError
				said = append(said, fmt.Sprint("name ", errors.As(err, &bad) && bad.What == "key"))
			}
			for _, key := range badNames {
				name(loom.Set(ctx, key, 1))
			}
			invalid := func(err error) {
				var bad *loom.InputValidationError
				said = append(said, fmt.Sprint("invalid ", errors.As(err, &bad) && strings.HasPrefix(bad.What, "state ")))
			}
			invalid(loom.Set(ctx, "k", func() {}))
			invalid(loom.Set(ctx, "k", "\xff"))
			invalid(loom.Set(ctx, "k", json.RawMessage("{")))
			large := func(v any) {
				var bad *loom.TooLargeError
				err := loom.Set(ctx, "k", v)
				said = append(said, fmt.Sprint("large ", errors.As(err, &bad) && bad.Bytes == loom.MaxPublishedBytes+1 && bad.Limit == loom.MaxPublishedBytes))
			}
			large(strings.Repeat("\"", loom.MaxPublishedBytes+1))
			large([]string{strings.Repeat("x", loom.MaxPublishedBytes-3)})
			for i := range loom.MaxPublished {
				mustSet(ctx, fmt.Sprint("k", i), strings.Repeat("\"", loom.MaxPublishedBytes))
			}
			invalid(loom.Set(ctx, "more", 1))
			mustSet(ctx, "k0", nil)
			mustSet(ctx, "more", 1)
			_, err := loom.Await[int](ctx, "go")
			invalid(loom.Set(ctx, "k0", 1))
			return 0, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Minute) // it is replayed when the message comes
		signal(t, rt, "x", "go", 0)
		yields(t, run, 0)
		for i, s := range said {
			if !strings.HasSuffix(s, " true") {
				t.Errorf("error %d: %s", i, s)
			}
		}
		if want := len(badNames) + 7; len(said) != want {
			t.Errorf("%d errors, want %d", len(said), want)
		}
		if n := len(payloads[event.StateSet](t, db, "x")); n != loom.MaxPublished+2 {
			t.Errorf("%d pairs are recorded", n)
		}
		if got := headOf(t, db, "x").Published; len(got) != loom.MaxPublished || got["more"] != "1" {
			t.Errorf("%d are shown", len(got))
		}
	})
}

// Set is a verb of its branch: not of another one, of a goroutine of the user's, or of a
// body that is let out of memory.
func TestSetIsAVerb(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var unloading []error
		flow := loom.NewFlow("f", func(ctx loom.Context, _ int) (string, error) {
			ended := false
			defer func() {
				if !ended {
					unloading = append(unloading, loom.Set(ctx, "k", "unloading"))
				}
			}()
			wrong, err := loom.Go(ctx, "b", func(loom.Context) (string, error) { return wrongs(loom.Set(ctx, "k", "wrong")), nil }).Get(ctx)
			if err != nil {
				return "", err
			}
			errs := make(chan error)
			go func() { errs <- loom.Set(ctx, "k", "foreign") }()
			var foreign *loom.ForeignGoroutineError
			out := fmt.Sprint(wrong, errors.As(<-errs, &foreign))
			_, err = loom.Await[int](ctx, "go")
			ended = true
			return out, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Minute)
		if len(unloading) != 1 || unloading[0] != loom.ErrUnloading {
			t.Fatalf("%v", unloading)
		}
		signal(t, rt, "x", "go", 0)
		yields(t, run, "'true")
		if n := len(payloads[event.StateSet](t, db, "x")); n != 0 {
			t.Errorf("%d pairs are recorded", n)
		}
	})
}

// What is shown outlives its generation, and counts in the next, live and in replay.
func TestWhatIsShownOutlivesItsGeneration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var full []bool
		flow := loom.NewFlow("f", func(ctx loom.Context, n int) (int, error) {
			if n == 0 {
				for i := range loom.MaxPublished {
					mustSet(ctx, fmt.Sprint("k", i), n)
				}
				mustSet(ctx, "k1", nil)
				return 0, loom.ContinueAs(ctx, 1)
			}
			mustSet(ctx, "more", n)
			full = append(full, loom.Set(ctx, "k1", n) != nil)
			_, err := loom.Await[int](ctx, "go")
			mustSet(ctx, "k0", "last")
			return n, err
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: time.Second})
		run := begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, time.Minute)
		signal(t, rt, "x", "go", 0)
		yields(t, run, 1)
		if len(full) != 2 || !full[0] || !full[1] {
			t.Errorf("full: %v", full)
		}
		got := headOf(t, db, "x").Published
		shown(t, rt, "x", got)
		if len(got) != loom.MaxPublished || got["k0"] != "last" || got["k2"] != "0" || got["more"] != "1" {
			t.Errorf("%q", got)
		}
	})
}
