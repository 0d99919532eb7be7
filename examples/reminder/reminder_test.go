package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// Effects run as they are: here they write to a list, and the service is down at first.
func TestAMonthPassesAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answer any // nil for none
		want   string
	}{"stays": {true, "stays"}, "leaves": {false, "leaves"}, "silent": {nil, "silent"}} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			down := 3
			send = func(_ context.Context, to, text string) error {
				if down--; down >= 0 {
					return errors.New("the service is down")
				}
				sent = append(sent, to+": "+text)
				return nil
			}
			loomtest.Run(t, func(e *loomtest.Env) {
				began := e.Now()
				rt := e.Open(loom.Flows(Trial))
				run, err := Trial.Start(e.Context(), rt, Customer{"Ann", "ann@example.com"})
				if err != nil {
					t.Fatal(err)
				}
				e.Sleep(32 * 24 * time.Hour)
				if c.answer != nil {
					if err := run.Signal(e.Context(), "answer", c.answer); err != nil {
						t.Fatal(err)
					}
				}
				got, err := run.Result(e.Context())
				if err != nil || got != c.want {
					t.Errorf("%q, %v", got, err)
				}
				if took := e.Now().Sub(began); took < 32*24*time.Hour || took > 34*24*time.Hour {
					t.Errorf("it took %v", took)
				}
			})
			if want := []string{"ann@example.com: welcome, Ann", "ann@example.com: do you want to stay?"}; !slices.Equal(sent, want) {
				t.Errorf("sent %q", sent)
			}
		})
	}
}
