package sim

import (
	"bytes"
	"context"
	"fmt"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// actTerminate ends an execution from outside.
func (c *Cluster) actTerminate() {
	m, id := c.any(), c.known()
	if m == nil {
		return
	}
	c.hit[id] = true
	m.Do("terminate", c.limit(), func(ctx context.Context) {
		err := m.Runtime.Terminate(ctx, string(id), "as told")
		c.World.Note("terminate of %s on %s: %v", id, m.Node.name, err)
	}, nil)
}

// tell records how far an effect is. What an earlier attempt, or an earlier call of this
// one, was told to be durable must be there.
func (m *Member) tell(ctx context.Context, c *Call) error {
	w := m.c.World
	op := string(c.Execution) + " " + c.Op
	at, _, err := loom.LastProgress[int](ctx)
	if err != nil {
		return err
	}
	if said := m.c.told[op]; at < said && !m.distrusted {
		w.Fail("%s had recorded its progress as %d, and reads %d", op, said, at)
	}
	for range 1 + w.Decide("progress", 2) {
		at++
		if err := loom.Progress(ctx, at); err != nil {
			return fmt.Errorf("not recorded: %w", err)
		}
		m.c.told[op] = max(m.c.told[op], at)
	}
	return nil
}

// checkChildren is what oracle O6 says of children: what a parent recorded of a child's
// end is what the child's log says; a child that was not started has no log of this
// parent's; and a child that was started is there.
func (c *Cluster) checkChildren(vs *violations) {
	for _, h := range c.heads() {
		asked := map[string]event.ChildScheduled{}
		for _, e := range c.log(h.Execution) {
			switch p, _ := e.Decode(); p := p.(type) {
			case event.ChildScheduled:
				asked[p.Op] = p
			case event.ChildStarted:
				if log := c.log(asked[p.Op].Execution); len(log) == 0 {
					vs.add("O6", h.Execution, "child %s is recorded as started, and is not there", asked[p.Op].Execution)
				}
			case event.ChildSettled:
				c.checkChild(h.Execution, asked[p.Op].Execution, p, vs)
			}
		}
	}
}

func (c *Cluster) checkChild(parent, child event.ExecutionID, p event.ChildSettled, vs *violations) {
	if p.Status == event.ChildRefused {
		if p.Error == nil || p.Error.Code != event.CodeCancelled {
			vs.add("O6", parent, "child %s was refused: %+v", child, p.Error)
		}
		return
	}
	s, err := fold.Log(c.log(child))
	switch {
	case err != nil:
		vs.add("O6", parent, "child %s does not fold: %v", child, err)
	case string(s.Status) != p.Status:
		vs.add("O6", parent, "child %s is recorded as %s, and is %s", child, p.Status, s.Status)
	case !bytes.Equal(s.Result, p.Result):
		vs.add("O6", parent, "child %s is recorded with %s, and returned %s", child, p.Result, s.Result)
	}
}
