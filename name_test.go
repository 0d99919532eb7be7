package loom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// case 9: an id outside the grammar is refused before anything is written.
func TestABadIDIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("x", func(loom.Context, int) (int, error) { return 0, nil })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		longest := strings.Repeat("a", 200)
		for _, id := range []string{"", longest + "a", "a b", "ü", "a\x00", "\xff", "a/b", "a@b", "a%", "a\n", "'", "\u0430"} {
			for _, opt := range [][]loom.StartOption{{loom.ID(id)}, {loom.ID(id), loom.Delay(1)}} {
				_, err := flow.Start(t.Context(), rt, 0, opt...)
				var bad *loom.IDError
				if !errors.As(err, &bad) {
					t.Errorf("%q: %v", id, err)
				}
			}
			if err := rt.Signal(t.Context(), id, "m", 0); !strings.ContainsAny(id, "/@") {
				var bad *loom.IDError
				if !errors.As(err, &bad) {
					t.Errorf("signal to %q: %v", id, err)
				}
			}
		}
		if ids := everything(t, db); len(ids) != 0 {
			t.Fatal(ids)
		}
		for _, id := range []string{longest, "-", "A.b_c:d+e-9"} {
			yields(t, begin(t, flow, rt, 0, loom.ID(id)), 0)
		}
	})
}

var badNames = []string{"", "a b", "a/b", "a#1", strings.Repeat("n", 65), "ü", "\xff", "loom.cancel", "loom."}

// A name outside the grammar is a typed error of the verb, and nothing is recorded.
func TestABadNameIsATypedErrorAndRecordsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, name := range badNames {
			got, db, id, err := run1(t, func(ctx loom.Context) (string, error) {
				_, a := loom.Do(ctx, name, func(context.Context) (int, error) { return 0, nil })
				b := loom.Sleep(ctx, name, 0)
				_, c := loom.Await[int](ctx, name)
				f := loom.Go(ctx, name, func(loom.Context) (int, error) { return 0, nil })
				_, d := f.Get(ctx)
				_, e := loom.First(ctx, f)
				if !f.Done() {
					return "", errors.New("a branch that could not begin is not done")
				}
				out := ""
				for _, err := range []error{a, b, c, d, e, f.Cancel(ctx)} {
					var bad *loom.NameError
					if errors.As(err, &bad) && bad.Name == name {
						out += bad.What + " "
					}
				}
				return out, nil
			})
			if err != nil || got != "step timer message branch branch branch " {
				t.Errorf("%q: %q, %v", name, got, err)
			}
			if n := len(logOf(t, db, id)); n != 2 {
				t.Errorf("%q: %d events", name, n)
			}
		}
	})
}

func TestABadNameFromOutsideIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("x", func(ctx loom.Context, _ int) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, 0, loom.ID("x"))
		synctest.Wait()
		var bad *loom.NameError
		for _, name := range badNames {
			if err := run.Signal(t.Context(), name, 1); !errors.As(err, &bad) || bad.What != "message" {
				t.Errorf("message %q: %v", name, err)
			}
			if name == "loom." || name == "loom.cancel" {
				continue // a label may be called so
			}
			for what, opt := range map[string]loom.StartOption{
				"label": loom.Labels(map[string]string{name: "v"}), "metadata key": loom.Metadata(map[string]string{name: "v"})} {
				if _, err := flow.Start(t.Context(), rt, 0, opt); !errors.As(err, &bad) || bad.What != what {
					t.Errorf("%s %q: %v", what, name, err)
				}
			}
		}
		for _, id := range []string{"a b", strings.Repeat("m", 201)} {
			if err := run.Signal(t.Context(), "n", 1, loom.MessageID(id)); !errors.As(err, &bad) || bad.What != "message id" {
				t.Errorf("message id %q: %v", id, err)
			}
		}
		var invalid *loom.InputValidationError
		for _, v := range []string{"\xff", strings.Repeat("v", 257)} {
			for _, opt := range []loom.StartOption{loom.Labels(map[string]string{"l": v}), loom.Metadata(map[string]string{"m": v})} {
				if _, err := flow.Start(t.Context(), rt, 0, opt); !errors.As(err, &invalid) {
					t.Errorf("value %q: %v", v, err)
				}
			}
		}
		if ids := everything(t, db); len(ids) != 1 || headOf(t, db, "x").Mail != 0 {
			t.Fatal(ids)
		}
	})
}

func TestAFlowWithABadNameIsAPanicOfTheProgram(t *testing.T) {
	for _, name := range badNames {
		func() {
			defer func() {
				if bad, ok := recover().(*loom.NameError); !ok || bad.What != "flow" {
					t.Errorf("%q: %v", name, bad)
				}
			}()
			loom.NewFlow(name, func(loom.Context, int) (int, error) { return 0, nil })
		}()
	}
}
