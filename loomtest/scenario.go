package loomtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// Scenario is what [CrashEverywhere] runs again and again. Everything in it, services that
// effects call above all, is made anew for each run.
type Scenario struct {
	// Flows are what the nodes drive.
	Flows []loom.AnyFlow
	// Options are those of the nodes, beside their flows; nil for none.
	Options []loom.Option
	// Start starts what the scenario is about, on the first node, and once more on the
	// second if the first one was killed before Start returned: so it chooses its ids. A
	// refusal because the same execution exists counts as success.
	Start func(ctx context.Context, rt *loom.Runtime) error
	// Then is what clients do once Start has returned: messages, cancels, waits with
	// [Env.Sleep]. It is given a runtime that drives nothing and is never killed. nil for
	// nothing.
	Then func(ctx context.Context, client *loom.Runtime) error
	// Outside returns what is left in the outside world, to be compared with what the
	// undisturbed run left: a digest of what the services were asked to do. Values are
	// compared as JSON. nil for nothing.
	Outside func() any
	// Result returns what is compared of a result; nil compares all of it. It is for
	// results that hold the time, or what loom.NewID or loom.Rand gave before the start
	// was durable.
	Result func(id string, result json.RawMessage) any
}

// end is how a run of a scenario ended.
type end struct {
	Executions []outcome
	Outside    json.RawMessage
}

// outcome is how one execution ended. A child whose id Loom made is known by the execution
// that it stems from and its flow: the id follows from that one's seed, which is another
// where a crash took the start.
type outcome struct {
	ID     string
	Status fold.Status
	Result json.RawMessage `json:",omitempty"`
	Error  string          `json:",omitempty"` // its code
}

// differs says what is another than in the undisturbed run, nil for nothing.
func (e end) differs(calm end) error {
	var texts []string
	at := func(all []outcome, i int) string {
		if i >= len(all) {
			return "nothing"
		}
		raw, _ := json.Marshal(all[i]) // texts, and JSON that was read
		return string(raw)
	}
	for i := range max(len(e.Executions), len(calm.Executions)) {
		if was, is := at(calm.Executions, i), at(e.Executions, i); was != is {
			texts = append(texts, fmt.Sprintf("undisturbed it is %s, now %s", was, is))
		}
	}
	if was, is := string(calm.Outside), string(e.Outside); was != is {
		texts = append(texts, fmt.Sprintf("undisturbed, %s is left outside, now %s", was, is))
	}
	if texts == nil {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// ending reads how a run ended from the store and from the outside.
func (e *Env) ending(sc *Scenario) (end, error) {
	var out end
	for _, id := range e.ids() {
		s, err := fold.Log(e.Log(string(id)))
		if err != nil {
			return out, err
		}
		o := outcome{ID: string(id), Status: s.Status, Result: s.Result}
		root, _, child := strings.Cut(o.ID, "/")
		if s.Failure != nil {
			o.Error = s.Failure.Code
		}
		if sc.Result != nil && o.Result != nil {
			if o.Result, err = json.Marshal(sc.Result(o.ID, o.Result)); err != nil {
				return out, fmt.Errorf("what Scenario.Result returned: %w", err)
			}
		}
		if child {
			o.ID = root + "/" + s.Flow
		}
		out.Executions = append(out.Executions, o)
	}
	slices.SortFunc(out.Executions, func(a, b outcome) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(string(a.Status), string(b.Status)),
			bytes.Compare(a.Result, b.Result), strings.Compare(a.Error, b.Error))
	})
	if sc.Outside != nil {
		raw, err := json.Marshal(sc.Outside())
		if err != nil {
			return out, fmt.Errorf("what Scenario.Outside returned: %w", err)
		}
		out.Outside = raw
	}
	return out, nil
}

// start calls Start.
func (sc *Scenario) start(ctx context.Context, rt *loom.Runtime) error {
	err := sc.Start(ctx, rt)
	var exists *loom.ExecutionAlreadyExistsError
	if errors.As(err, &exists) && exists.SameRequest {
		return nil
	}
	return err
}

// untilEnded waits until every execution of the store has ended.
func (e *Env) untilEnded(client *loom.Runtime) error {
	for {
		open := 0
		for _, id := range e.ids() {
			h, ok, err := e.db.Get(context.Background(), id)
			if err != nil {
				return err
			}
			if !ok || h.State.Terminal() {
				continue
			}
			open++
			run, err := loom.Attach[json.RawMessage](client, string(id))
			if err != nil {
				return err
			}
			var ended *loom.ExecutionError
			if _, err := run.Result(e.ctx); err != nil && !errors.As(err, &ended) {
				return err
			}
		}
		if open == 0 {
			return nil
		}
	}
}

// calledTooOften looks for effects that were called although their result was recorded, or
// more often than one more time for each crash.
func (e *Env) calledTooOften(crashes int) error {
	for _, id := range e.ids() {
		for _, env := range e.Log(string(id)) {
			p, err := env.Decode()
			if err != nil {
				return err
			}
			s, ok := p.(event.EffectScheduled)
			if !ok {
				continue
			}
			for attempt := 1; ; attempt++ {
				n, made := e.calls[callKey{string(id), s.Op, attempt}]
				if !made {
					break
				}
				if n > 1+crashes {
					return fmt.Errorf("step %s of %s was called %d times in attempt %d, and there were %d crashes", s.Op, id, n, attempt, crashes)
				}
			}
		}
	}
	return e.again
}

// recorded notes a call of an effect whose result the store already has.
func (e *Env) recorded(k callKey) {
	for env := range e.db.Read(context.Background(), event.ExecutionID(k.execution), store.Range{Strong: true}) {
		p, err := env.Decode()
		if err != nil {
			return
		}
		settled := ""
		switch p := p.(type) {
		case event.EffectCompleted:
			settled = p.Op
		case event.EffectFailed:
			settled = p.Op
		}
		if settled == k.path && e.again == nil {
			e.again = fmt.Errorf("step %s of %s was called, and its result stands at sequence %d", k.path, k.execution, env.Sequence)
		}
	}
}
