package loom

import (
	"context"

	"github.com/loomwork/loom/store"
)

// crew is who lives on a store, and what they can drive. It asks once, and only if
// somebody looks at an execution that has not ended.
type crew struct {
	r     *Runtime
	met   bool
	alive map[store.NodeID]bool
	flows map[string]bool // texts of store.FlowVersion
}

// meet asks who lives, if it matters for one of heads.
func (c *crew) meet(ctx context.Context, heads ...store.Head) error {
	open := false
	for _, h := range heads {
		open = open || !h.State.Terminal()
	}
	if c.met || !open {
		return nil
	}
	nodes, err := c.r.st.Leaser.Nodes(ctx)
	if err != nil {
		return err
	}
	c.met, c.alive, c.flows = true, map[store.NodeID]bool{}, map[string]bool{}
	for _, n := range nodes {
		if !n.Alive {
			continue
		}
		c.alive[n.Node] = true
		for _, f := range n.Flows {
			c.flows[f] = true
		}
	}
	return nil
}

// summary returns what a list shows of an execution that the crew has met about.
func (c *crew) summary(h store.Head) Summary {
	s := summaryOf(h)
	s.Unknown = !h.State.Terminal() && len(c.flows) > 0 && !c.alive[h.Owner] && !c.flows[h.Index.Needs().String()]
	return s
}
