package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/examples/internal/program"
	"github.com/loomwork/loom/loomtest"
)

var task = Task{Question: "how many words?", Models: []string{"large", "small"}, Cents: 100}

// talk is a conversation with everything in it; it costs 12 cents.
func talk() *script {
	return newScript(
		line{model: "large", reply: Reply{Tool: "count", Input: "a b c", Cents: 4}},
		line{model: "large", reply: Reply{Tool: "no-such-tool", Cents: 3}},
		line{model: "large", refuse: true, reply: Reply{Cents: 2}},
		line{model: "small", reply: Reply{Tool: "count", Input: "d e", Cents: 1}},
		line{model: "small", reply: Reply{Text: "three, and two", Cents: 2}},
	)
}

// serve runs a model's server until the test ends. Each call has a connection of its own,
// so that none is left over.
func serve(t *testing.T, s http.Handler) client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return client{server.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func TestTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		task    func(Task) Task
		busy    int
		want    Answer
		failure error
		paid    int
	}{
		"an answer":        {want: Answer{"three, and two", 5, 12}, paid: 12},
		"a busy server":    {busy: 5, want: Answer{"three, and two", 5, 12}, paid: 12},
		"no model is left": {task: func(t Task) Task { t.Models = t.Models[:1]; return t }, failure: ErrRefused, paid: 9},
		"over budget":      {task: func(t Task) Task { t.Cents = 18; return t }, failure: ErrBudget, paid: 9},
		"just in budget":   {task: func(t Task) Task { t.Cents = 20; return t }, want: Answer{"three, and two", 5, 12}, paid: 12},
	} {
		t.Run(name, func(t *testing.T) {
			s := talk()
			s.busy = c.busy
			model, in := serve(t, s), task
			if c.task != nil {
				in = c.task(in)
			}
			loomtest.Run(t, func(e *loomtest.Env) {
				agent := NewAgent(model, tools)
				run, err := agent.Start(e.Context(), e.Open(loom.Flows(agent)), in)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(e.Context()); got != c.want || !errors.Is(err, c.failure) {
					t.Errorf("%+v, %v", got, err)
				}
			})
			if s.paid != c.paid || s.paid > in.Cents {
				t.Errorf("%d cents were paid", s.paid)
			}
		})
	}
}

// A tool that fails is for the model to deal with.
func TestAToolThatFailsIsTold(t *testing.T) {
	loomtest.Run(t, func(e *loomtest.Env) {
		agent := NewAgent(nil, tools)
		e.Step("model").Returns(Reply{Tool: "count", Cents: 1}, Reply{Text: "sorry", Cents: 1})
		e.Step("tool").Fails(errors.New("no paper"))
		run, err := agent.Start(e.Context(), e.Open(loom.Flows(agent)), task)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(e.Context()); err != nil || got.Text != "sorry" {
			t.Error(got, err)
		}
	})
}

// Wherever it dies the answer is the same, and the books as well: a key for each line, and
// each line paid once.
func TestEveryReplyIsPaidOnceWhereverItDies(t *testing.T) {
	var now atomic.Pointer[script] // each run gets a new one, behind a server for all
	model := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
		s := talk()
		now.Store(s)
		agent := NewAgent(model, tools)
		return &loomtest.Scenario{
			Flows: []loom.AnyFlow{agent},
			Start: func(ctx context.Context, rt *loom.Runtime) error {
				_, err := agent.Start(ctx, rt, task, loom.ID("task-1"))
				return err
			},
			Outside: func() any { return fmt.Sprint(slices.Sorted(maps.Values(s.books)), s.paid) },
		}
	})
}

// TestItIsKilledInEveryCall builds the program and kills it with SIGKILL while it waits for
// a reply that is already in the server's books, for each line of the conversation in turn.
func TestItIsKilledInEveryCall(t *testing.T) {
	bin := program.Build(t)
	for n := range talk().lines {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			s, dir := talk(), t.TempDir()
			reached, gone := make(chan bool, 1), make(chan bool)
			s.stall = func(line int) {
				if line == n {
					select {
					case reached <- true:
						<-gone
					default: // the second run
					}
				}
			}
			model := serve(t, s)
			kill := program.Start(t, dir, bin, "-url", model.url)
			select {
			case <-reached:
			case <-time.After(time.Minute):
				t.Fatal("the call did not come")
			}
			kill()
			close(gone)
			second := program.Run(t, dir, bin, "-url", model.url)
			if !strings.Contains(second, "going on with it") || !strings.Contains(second, "three, and two (5 calls, 12 cents)") {
				t.Error(second)
			}
			program.Replays(t, dir+"/agent.db", NewAgent(nil, nil))
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.books) != len(s.lines) || s.paid != 12 {
				t.Errorf("%d replies were paid, with %d cents", len(s.books), s.paid)
			}
			for key, line := range s.books { // order does not matter: each is looked at alone
				want := 1
				if line == n {
					want = 2 // cut off, and asked for again under its key
				}
				if s.calls[key] != want {
					t.Errorf("line %d was asked for %d times, want %d", line, s.calls[key], want)
				}
			}
		})
	}
}
