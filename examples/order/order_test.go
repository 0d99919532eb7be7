package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/examples/internal/program"
	"github.com/loomwork/loom/loomtest"
)

// A shop is the services in memory. The bank and the mail service forget keys.
type shop struct {
	done    map[string]string // what was done under which key
	charges []string          // keys
	mails   int
	order   []string // what was taken back, and unlocked
	busy    int      // calls that fail before anything is done
}

func newShop() *shop { return &shop{done: map[string]string{}} }

func (s *shop) act(key, what string) (string, error) {
	if s.busy > 0 {
		s.busy--
		return "", errors.New("busy")
	}
	if s.done[key] == "" {
		s.done[key] = what
		if strings.HasPrefix(what, "un") || strings.HasPrefix(what, "re") && what != "reserve" {
			s.order = append(s.order, what)
		}
	}
	return what + "-1", nil
}

func (s *shop) Reserve(_ context.Context, key, _ string) (string, error) {
	return s.act(key, "reserve")
}

func (s *shop) Charge(_ context.Context, key, _ string, _ int) (string, error) {
	s.charges = append(s.charges, key)
	return "payment-1", nil
}

func (s *shop) FindCharge(_ context.Context, key string) (string, error) {
	if slices.Contains(s.charges, key) {
		return "payment-1", nil
	}
	return "", nil
}

func (s *shop) Ship(_ context.Context, key, _, address string) (string, error) {
	if address == "mars" {
		return "", ErrNoCourier
	}
	return s.act(key, "ship")
}

func (s *shop) Mail(context.Context, string, string) error { s.mails++; return nil }

func (s *shop) Release(_ context.Context, key, what string) error {
	return s.undo(key, "release", what)
}
func (s *shop) Refund(_ context.Context, key, what string) error { return s.undo(key, "refund", what) }
func (s *shop) Unlock(_ context.Context, key, _ string) error    { return s.undo(key, "unlock", "") }

func (s *shop) undo(key, what, of string) error {
	if wanted := map[string]string{"release": "reserve-1", "refund": "payment-1"}[what]; of != wanted {
		return loom.Permanent(fmt.Errorf("%s of %q, want of %q", what, of, wanted))
	}
	_, err := s.act(key, what)
	return err
}

func order(to string) Order {
	return Order{Item: "kettle", Address: to, Email: "ann@example.com", Cents: 4200}
}

func TestAnOrderIsDeliveredOrTakenBack(t *testing.T) {
	for _, c := range []struct {
		to      string
		failure error
		undone  []string // in this order
		mails   int
	}{
		{to: "5 Elm Street", undone: []string{"unlock"}, mails: 1},
		{to: "mars", failure: ErrNoCourier, undone: []string{"refund", "release", "unlock"}},
	} {
		t.Run("to "+c.to, func(t *testing.T) {
			loomtest.Seeds(t, 10, func(e *loomtest.Env) {
				s := newShop()
				s.busy = 3
				checkout := NewCheckout(s)
				run, err := checkout.Start(e.Context(), e.Open(loom.Flows(checkout)), order(c.to))
				if err != nil {
					t.Fatal(err)
				}
				if r, err := run.Result(e.Context()); !errors.Is(err, c.failure) || r.Mailed != (c.mails > 0) {
					t.Error(r, err)
				}
				if !slices.Equal(s.order, c.undone) || len(s.charges) != 1 || s.mails != c.mails {
					t.Errorf("undone %v, charges %v, mails %d", s.order, s.charges, s.mails)
				}
			})
		})
	}
}

// Wherever it dies: one charge, and as many refunds as there are failures; a mail at the
// most.
func TestAnOrderIsTheSameWhereverItDies(t *testing.T) {
	for _, to := range []string{"5 Elm Street", "mars"} {
		t.Run("to "+to, func(t *testing.T) {
			loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
				s := newShop()
				checkout := NewCheckout(s)
				return &loomtest.Scenario{
					Flows: []loom.AnyFlow{checkout},
					Start: func(ctx context.Context, rt *loom.Runtime) error {
						_, err := checkout.Start(ctx, rt, order(to), loom.ID("order-1"))
						return err
					},
					Outside: func() any {
						if s.mails > 1 {
							t.Errorf("%d mails", s.mails)
						}
						return []any{len(s.charges), slices.Sorted(maps.Values(s.done)), s.order}
					},
					Result: func(_ string, result json.RawMessage) any {
						var r Receipt
						if err := json.Unmarshal(result, &r); err != nil {
							t.Error(err)
						}
						r.Mailed = false // a crash in the mail leaves it open whether it went out
						return r
					},
				}
			})
		})
	}
}

// A cancel while the courier has not answered: what was paid is refunded.
func TestACancelTakesBackWhatWasPaid(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		s := newShop()
		checkout := NewCheckout(s)
		e.Step("ship").Held().Returns("parcel-1")
		run, err := checkout.Start(e.Context(), e.Open(loom.Flows(checkout)), order("5 Elm Street"))
		if err != nil {
			t.Fatal(err)
		}
		e.Step("ship").Await(1)
		if err := run.Cancel(e.Context(), "the customer thought again"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(e.Context()); !errors.Is(err, loom.ErrCancelled) {
			t.Error(err)
		}
		if want := []string{"refund", "release", "unlock"}; !slices.Equal(s.order, want) || s.mails > 0 {
			t.Errorf("undone %v, mails %d", s.order, s.mails)
		}
	})
}

// TestItIsKilledInEveryService builds the program, lets one service after the other do its
// work and never answer, kills the program there with SIGKILL, and starts it again.
func TestItIsKilledInEveryService(t *testing.T) {
	bin := program.Build(t)
	for _, c := range []struct{ service, to string }{
		{"warehouse", "5 Elm Street"}, {"bank", "5 Elm Street"}, {"courier", "5 Elm Street"},
		{"mail", "5 Elm Street"}, {"basket", "5 Elm Street"}, {"basket", "mars"},
	} {
		t.Run(c.service+" to "+c.to, func(t *testing.T) {
			dir := t.TempDir()
			first := program.Kill(t, "… and the reply", dir, bin, "-to", c.to, "-stall", c.service)
			second := program.Run(t, dir, bin)
			end := "done: "
			if c.to == "mars" {
				end = "not delivered, and everything was taken back"
			}
			if !strings.Contains(second, "going on with it") || !strings.Contains(second, end) {
				t.Error("the second run did not finish the first one's order")
			}
			program.Replays(t, dir+"/order.db", NewCheckout(nil))
			calls := called(t, dir+"/order-books")
			want := map[string]int{"reservation": 1, "payment": 1, "parcel": 1, "mail": 1, "unlock": 1}
			if c.to == "mars" {
				want = map[string]int{"reservation": 1, "payment": 1, "refund": 1, "release": 1, "unlock": 1}
			}
			switch c.service { // called again, under the same key
			case "warehouse":
				want["reservation"] = 2
			case "courier":
				want["parcel"] = 2
			case "basket":
				want["unlock"] = 2
			}
			if !maps.Equal(calls, want) {
				t.Errorf("called %v, want %v", calls, want)
			}
			if mailed := strings.Contains(second, "mailed: true"); mailed == (c.service == "mail") && c.to != "mars" {
				t.Errorf("mailed: %v", mailed)
			}
			if t.Failed() {
				t.Logf("first run:\n%s\nsecond run:\n%s", first, second)
			}
		})
	}
}

// called counts the calls of each kind, and wants one key of each.
func called(t *testing.T, dir string) map[string]int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, e := range entries {
		text, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(e.Name(), "-")
		if calls[kind] > 0 {
			t.Errorf("%s was done under two keys", kind)
		}
		calls[kind] += strings.Count(string(text), "\n")
	}
	return calls
}
