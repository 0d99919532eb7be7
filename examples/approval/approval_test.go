package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/examples/internal/program"
	"github.com/loomwork/loom/loomtest"
)

// A file is an office that writes down whom it asked and what it paid.
type file struct {
	asked []string
	paid  map[string]int
	busy  int
}

func (f *file) Ask(_ context.Context, _, who, _, _ string) error {
	if f.busy--; f.busy >= 0 {
		return errors.New("the phone is engaged")
	}
	f.asked = append(f.asked, who)
	return nil
}

func (f *file) Pay(_ context.Context, key, _ string, cents int) (string, error) {
	f.paid[key] = cents
	return "payment-1", nil
}

var chair = Expense{Who: "ann", What: "a chair", Cents: 4200, Askees: []string{"bob", "carol"}, Patience: 48 * time.Hour}

// at is an answer that comes some time after the start.
type at struct {
	after time.Duration
	Decision
}

func TestWhoDecides(t *testing.T) {
	for name, c := range map[string]struct {
		answers []at
		asked   []string
		want    Outcome
		took    time.Duration // to the hour
	}{
		"the first one":       {[]at{{time.Hour, Decision{"bob", true}}}, []string{"bob"}, Outcome{true, "bob", "payment-1"}, time.Hour},
		"the second one":      {[]at{{50 * time.Hour, Decision{"carol", true}}}, []string{"bob", "carol"}, Outcome{true, "carol", "payment-1"}, 50 * time.Hour},
		"the first, too late": {[]at{{50 * time.Hour, Decision{"bob", false}}}, []string{"bob", "carol"}, Outcome{false, "bob", ""}, 50 * time.Hour},
		"nobody":              {nil, []string{"bob", "carol"}, Outcome{}, 96 * time.Hour},
		"not the one who asks": {[]at{{time.Hour, Decision{"ann", true}}, {47 * time.Hour, Decision{"ann", true}}},
			[]string{"bob", "carol"}, Outcome{}, 96 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			loomtest.Run(t, func(e *loomtest.Env) {
				office := &file{paid: map[string]int{}, busy: 2}
				approval := NewApproval(office)
				began := e.Now()
				run, err := approval.Start(e.Context(), e.Open(loom.Flows(approval)), chair)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range c.answers {
					e.Sleep(began.Add(a.after).Sub(e.Now()))
					if err := run.Signal(e.Context(), "decision", a.Decision); err != nil {
						t.Fatal(err)
					}
				}
				got, err := run.Result(e.Context())
				if err != nil || got != c.want || !slices.Equal(office.asked, c.asked) || len(office.paid) > 1 {
					t.Errorf("%+v, %v, asked %v, paid %v", got, err, office.asked, office.paid)
				}
				if took := e.Now().Sub(began).Truncate(time.Hour); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// Wherever it dies, and however often bob clicks.
func TestTheDecisionIsTheSameWhereverItDies(t *testing.T) {
	loomtest.CrashEverywhere(t, func(e *loomtest.Env) *loomtest.Scenario {
		office := &file{paid: map[string]int{}}
		approval := NewApproval(office)
		return &loomtest.Scenario{
			Flows: []loom.AnyFlow{approval},
			Start: func(ctx context.Context, rt *loom.Runtime) error {
				_, err := approval.Start(ctx, rt, chair, loom.ID("chair-1"))
				return err
			},
			Then: func(ctx context.Context, client *loom.Runtime) error {
				e.Sleep(60 * time.Hour)
				for range 2 {
					err := client.Signal(ctx, "chair-1", "decision", Decision{"carol", true}, loom.MessageID("click"))
					if err != nil && !errors.Is(err, loom.ErrEnded) {
						return err
					}
				}
				return nil
			},
			Outside: func() any { return fmt.Sprint(slices.Compact(office.asked), len(office.paid)) },
		}
	})
}

// TestItIsAnsweredFromAnotherProcess builds the program, kills the one that asks with
// SIGKILL, answers from a second one while nobody drives the flow, and starts it again.
func TestItIsAnsweredFromAnotherProcess(t *testing.T) {
	bin, dir := program.Build(t), t.TempDir()
	first := program.Kill(t, "to bob: ann wants", dir, bin, "ask", "chair-1", "1h")
	answers := program.Run(t, dir, bin, "answer", "chair-1", "bob", "yes") + program.Run(t, dir, bin, "answer", "chair-1", "bob", "yes")
	second := program.Run(t, dir, bin, "ask", "chair-1", "1h")
	late := program.Run(t, dir, bin, "answer", "chair-1", "carol", "no")
	if answers != "thank you\nthank you\n" || !strings.HasPrefix(late, "too late") ||
		strings.Contains(first, "paid") || strings.Count(second, "paid 4200 cents to ann") != 1 ||
		!strings.Contains(second, "going on with it") || !strings.Contains(second, "done: {Approved:true By:bob") {
		t.Errorf("first run:\n%s\nanswers:\n%s%s\nsecond run:\n%s", first, answers, late, second)
	}
	program.Replays(t, dir+"/approval.db", NewApproval(nil))
}
