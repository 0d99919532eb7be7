package loomtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// bank is a service in the outside world: a charge is made once for each key, or, in a
// careless one, once for each call.
type bank struct {
	careless bool
	charges  []string
	keys     map[string]bool
}

func (b *bank) charge(ctx context.Context, what string) {
	key := loom.IdempotencyKey(ctx)
	if !b.careless && b.keys[key] {
		return
	}
	if b.keys == nil {
		b.keys = map[string]bool{}
	}
	b.keys[key] = true
	b.charges = append(b.charges, what)
}

// shop is a flow with two charges, a retry, a sleep, a branch and a message. spoil changes
// what it does between them.
func shop(b *bank, spoil func(ctx loom.Context) error) *loom.Flow[string, string] {
	return loom.NewFlow("shop", func(ctx loom.Context, item string) (string, error) {
		pay := func(ctx loom.Context, what string) (string, error) {
			return loom.Do(ctx, "pay", func(ctx context.Context) (string, error) {
				b.charge(ctx, what)
				if loom.Attempt(ctx) == 1 {
					return "", errBusy
				}
				return what, nil
			}, loom.Retry{Attempts: 2, Initial: time.Second})
		}
		one, err := pay(ctx, item)
		if err != nil {
			return "", err
		}
		if spoil != nil {
			if err := spoil(ctx); err != nil {
				return "", err
			}
		}
		aside := loom.Go(ctx, "aside", func(ctx loom.Context) (string, error) { return pay(ctx, "aside") })
		if err := loom.Sleep(ctx, "nap", time.Hour); err != nil {
			return "", err
		}
		word, err := loom.Await[string](ctx, "word")
		if err != nil {
			return "", err
		}
		two, err := aside.Get(ctx)
		return fmt.Sprint(one, " ", two, " ", word), err
	})
}

// trade is the scenario of one execution of a flow.
func trade(b *bank, flow *loom.Flow[string, string]) *loomtest.Scenario {
	return &loomtest.Scenario{
		Flows: []loom.AnyFlow{flow},
		Start: func(ctx context.Context, rt *loom.Runtime) error {
			_, err := flow.Start(ctx, rt, "kettle", loom.ID("order-42"))
			return err
		},
		Then: func(ctx context.Context, client *loom.Runtime) error {
			return client.Signal(ctx, "order-42", "word", "hello", loom.MessageID("m-1"))
		},
		Outside: func() any { return b.charges },
	}
}

// TestACrashAnywhereLeadsToTheSameEnd: a flow that keeps to the rules passes. The crashes
// do happen: they are as many as are told of. claim B-52, oracles O5 and O6
func TestACrashAnywhereLeadsToTheSameEnd(t *testing.T) {
	runs := 0
	text := passing(t, func(t testing.TB) {
		loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
			runs++
			b := &bank{}
			return trade(b, shop(b, nil))
		})
	})
	if runs < 15 {
		t.Errorf("%d runs only", runs)
	}
	says(t, text, fmt.Sprintf("each of %d commits", (runs-1)/2))
	t.Logf("tally: crashes=%d", runs-1)
}

// TestCrashEverywhereFinds: each way in which a flow can break the rules, it finds, says at
// which commit, and shows the log.
func TestCrashEverywhereFinds(t *testing.T) {
	entered := 0
	for _, c := range []struct {
		name  string
		spoil func(memory *string) func(ctx loom.Context) error
		bank  bank
		says  []string
	}{
		{"a careless service", nil, bank{careless: true}, []string{"leads elsewhere", "left outside", `["kettle","kettle","kettle"`}},
		{"a body that draws", func(*string) func(ctx loom.Context) error {
			return func(ctx loom.Context) error {
				if entered++; entered > 2 { // in the undisturbed run it is entered twice
					return loom.Sleep(ctx, fmt.Sprint("nap-", rand.IntN(1000)), time.Minute)
				}
				return nil
			}
		}, bank{}, []string{"diverged at sequence", "the code asked for TIMER_SCHEDULED nap-"}},
		{"an effect that relies on memory", func(memory *string) func(ctx loom.Context) error {
			return func(ctx loom.Context) error {
				token := ""
				if _, err := loom.Do(ctx, "login", func(context.Context) (bool, error) { token = "t-1"; return true, nil }); err != nil {
					return err
				}
				if err := loom.Sleep(ctx, "think", time.Second); err != nil {
					return err
				}
				_, err := loom.Do(ctx, "use", func(context.Context) (bool, error) { *memory += token + ";"; return true, nil })
				return err
			}
		}, bank{}, []string{"leads elsewhere", "left outside", `"t-1;"`}},
		{"an end that is another", func(*string) func(ctx loom.Context) error {
			n := 0
			return func(loom.Context) error {
				if n++; n > 2 {
					return errors.New("broken")
				}
				return nil
			}
		}, bank{}, []string{"diverged at sequence"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := failing(t, func(t testing.TB) {
				loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
					b, memory := c.bank, ""
					entered = 0
					var spoil func(ctx loom.Context) error
					if c.spoil != nil {
						spoil = c.spoil(&memory)
					}
					sc := trade(&b, shop(&b, spoil))
					sc.Outside = func() any { return []any{b.charges, memory} }
					return sc
				})
			})
			says(t, text, append(c.says, "commit", "order-42", "log of order-42:", "EXECUTION_STARTED")...)
			t.Log(text)
		})
	}
}

// An id that is used for two things is found: the start of the second is refused.
func TestCrashEverywhereFindsAnIDThatIsUsedTwice(t *testing.T) {
	text := failing(t, func(t testing.TB) {
		loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
			b := &bank{}
			flow := shop(b, nil)
			sc := trade(b, flow)
			sc.Start = func(ctx context.Context, rt *loom.Runtime) error {
				for _, item := range []string{"kettle", "pot"} {
					if _, err := flow.Start(ctx, rt, item, loom.ID("order-42")); err != nil {
						return err
					}
				}
				return nil
			}
			return sc
		})
	})
	says(t, text, "Scenario.Start", "order-42 already exists", "another flow or input")
}

// The ids of children follow from the seed of their parent, which a start that a crash took
// leaves another one. They are compared by flow: in whatever order they come, and not less.
func TestChildrenAreComparedToo(t *testing.T) {
	scenario := func(b *bank, last string) func(*loomtest.Env) *loomtest.Scenario {
		return func(*loomtest.Env) *loomtest.Scenario {
			part := loom.NewFlow("part", func(ctx loom.Context, item string) (string, error) {
				return loom.Do(ctx, "make", func(context.Context) (string, error) {
					if b.charges = append(b.charges, item); len(b.charges) > 4 {
						return last, nil // not in the undisturbed run
					}
					return item, nil
				})
			})
			whole := loom.NewFlow("whole", func(ctx loom.Context, _ int) (string, error) {
				for _, item := range []string{"lid", "pot", "lid"} {
					if _, err := part.Child(ctx, item); err != nil {
						return "", err
					}
				}
				return "whole", nil
			})
			return &loomtest.Scenario{
				Flows: []loom.AnyFlow{whole, part},
				Start: func(ctx context.Context, rt *loom.Runtime) error {
					_, err := whole.Start(ctx, rt, 0, loom.ID("order-42"))
					return err
				},
			}
		}
	}
	loomtest.CrashEverywhere(t, func(e *loomtest.Env) *loomtest.Scenario { return scenario(&bank{}, "lid")(e) })
	runs := &bank{} // remembers all runs, so that a part of a later one is another
	text := failing(t, func(t testing.TB) { loomtest.CrashEverywhere(t, scenario(runs, "cup")) })
	says(t, text, "leads elsewhere", "order-42/part", `"cup"`)
}

// Scripts work in a scenario, and Result leaves out what a run cannot repeat.
func TestAScenarioWithScriptsAndATime(t *testing.T) {
	flow := loom.NewFlow("stamped", func(ctx loom.Context, _ int) (map[string]string, error) {
		pay, err := loom.Do(ctx, "pay", func(context.Context) (string, error) { return "real", nil }, loom.Retry{Attempts: 2, Initial: time.Minute})
		return map[string]string{"pay": pay, "at": loom.Now(ctx).String(), "id": loom.NewID(ctx)}, err
	})
	scenario := func(e *loomtest.Env) *loomtest.Scenario {
		e.Step("pay").Fails(errBusy).Takes(time.Hour).Returns("scripted")
		return &loomtest.Scenario{
			Flows: []loom.AnyFlow{flow},
			Start: func(ctx context.Context, rt *loom.Runtime) error {
				_, err := flow.Start(ctx, rt, 0, loom.ID("x"))
				return err
			},
			Result: func(_ string, raw json.RawMessage) any {
				var out map[string]string
				_ = json.Unmarshal(raw, &out)
				return out["pay"]
			},
		}
	}
	loomtest.CrashEverywhere(t, scenario)
	text := failing(t, func(t testing.TB) {
		loomtest.CrashEverywhere(t, func(e *loomtest.Env) *loomtest.Scenario {
			sc := scenario(e)
			sc.Result = nil
			return sc
		})
	})
	says(t, text, "leads elsewhere", `"pay":"scripted"`)
}
