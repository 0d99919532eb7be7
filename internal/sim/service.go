package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// serve is an effect: a service outside of every node that gives another answer to
// each call, takes its time, and fails.
func (m *Member) serve(ctx context.Context, s *Step, args string) (string, error) {
	id, op, ok := loom.StepOf(ctx)
	if !ok {
		m.c.World.Fail("an effect without a step")
	}
	w, e := m.c.World, s.Effect
	c := m.c.Ledger.Call(Call{Execution: event.ExecutionID(id), Op: op, Node: m.Node.name,
		Attempt: loom.Attempt(ctx), ReadOnly: e.ReadOnly, Input: quote(args), Once: e.Once, Asks: e.Asks})
	c.Distrusted = m.distrusted
	m.c.keyed(event.ExecutionID(id), op, loom.IdempotencyKey(ctx))
	if m.c.during != nil {
		m.c.during(m, op)
	}
	if e.Tells {
		if err := m.tell(ctx, c); err != nil {
			m.c.Ledger.Return(c, nil)
			return "", err
		}
	}
	if s.For > 0 {
		if e.Deaf {
			m.Node.Sleep(s.For)
		} else if err := m.Node.SleepContext(ctx, s.For); err != nil {
			m.c.Ledger.Return(c, nil)
			return "", ctx.Err()
		}
	}
	if w.Chance("effect fails", e.Flaky) {
		m.c.Ledger.Return(c, nil)
		err := errors.New("the service is busy")
		if e.Panics {
			panic(err)
		}
		if e.Final {
			err = loom.Permanent(err)
		}
		return "", err
	}
	v := fmt.Sprint("answer ", len(m.c.Ledger.Calls), " to ", op)
	if s.Kind == StepUndo {
		m.c.Ledger.Return(c, []byte("null")) // an undo has no result
	} else {
		m.c.Ledger.Return(c, quote(v))
	}
	return v, nil
}

// asked answers what came of an earlier call. Of one that is under way on a node which
// only stands still nobody can tell.
func (m *Member) asked(ctx context.Context) (string, loom.Verdict, error) {
	id, op, _ := loom.StepOf(ctx)
	m.c.keyed(event.ExecutionID(id), op, loom.IdempotencyKey(ctx))
	if m.c.World.Chance("question fails", 100) {
		return "", loom.Unsure, errors.New("nobody answers")
	}
	verdict := loom.NotDone
	for _, c := range m.c.Ledger.Calls {
		if c.Execution != event.ExecutionID(id) || c.Op != op {
			continue
		}
		switch {
		case c.Result != nil:
			var v string
			if err := json.Unmarshal(c.Result, &v); err != nil {
				m.c.World.Fail("the ledger holds %s", c.Result)
			}
			return v, loom.Done, nil
		case c.Returned < 0 && !m.c.dead(c.Node):
			verdict = loom.Unsure
		}
	}
	return "", verdict, nil
}

// dead reports whether a node runs nothing any more.
func (c *Cluster) dead(node string) bool {
	for _, m := range c.Members {
		if m.Node.name == node {
			return m.Node.dead
		}
	}
	return false
}

// keyed checks that a step has one idempotency key for all its calls, and no other
// step has it.
func (c *Cluster) keyed(id event.ExecutionID, op, key string) {
	step := string(id) + " " + op
	if k, ok := c.keys[step]; ok && k != key {
		c.World.Fail("%s has the idempotency keys %s and %s", step, k, key)
	}
	if other, ok := c.steps[key]; ok && other != step {
		c.World.Fail("%s and %s share the idempotency key %s", step, other, key)
	}
	c.keys[step], c.steps[key] = key, step
}
