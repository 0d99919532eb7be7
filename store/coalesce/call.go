package coalesce

import (
	"slices"
	"time"

	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
)

// call is one call of Commit. What changes of it is guarded by group.mu, except that
// the fiber that carries a request writes its answer before it says so.
type call struct {
	items []item
	bytes int
	came  time.Duration // by the caller's Mono; only kept for lingering
	left  int           // requests without an answer
	gated bool          // it waits for room, and nothing of it was attempted
	gone  bool          // nobody waits for it any more
	done  rt.Latch      // opened when nothing is left
}

// item is one request on its way.
type item struct {
	call   *call
	req    store.Request
	bytes  int
	flight *flight // what carries it now

	answered bool
	res      store.Result
	err      error // the store attempted nothing of it, and said so for a whole call
}

// overhead is what a request weighs beside its bytes.
const overhead = 512

func newCall(done rt.Latch, reqs []store.Request) *call {
	c := &call{items: make([]item, len(reqs)), left: len(reqs), done: done}
	for i := range reqs {
		it := &c.items[i]
		it.call, it.req, it.bytes = c, own(reqs[i]), overhead
		for k := range it.req.Events {
			it.bytes += it.req.Events[k].Size()
		}
		for k := range it.req.Post {
			m := &it.req.Post[k].Message
			it.bytes += len(m.ID) + len(m.Name) + len(m.Body)
		}
		for k := range it.req.Publish {
			it.bytes += len(it.req.Publish[k].Key) + len(it.req.Publish[k].Value)
		}
		c.bytes += it.bytes
	}
	return c
}

// own returns a request that shares with r nothing that its caller may write to after
// its wait has ended.
func own(r store.Request) store.Request {
	r.Events, r.Consume, r.Post = slices.Clone(r.Events), slices.Clone(r.Consume), slices.Clone(r.Post)
	r.Publish = slices.Clone(r.Publish)
	if r.Claim != nil {
		c := *r.Claim
		r.Claim = &c
	}
	if r.Release != nil {
		c := *r.Release
		r.Release = &c
	}
	if r.Index != nil {
		c := *r.Index
		r.Index = &c
	}
	return r
}

// results are the caller's. What has no answer is Unknown because of cause.
func (c *call) results(cause error) ([]store.Result, error) {
	refused := 0
	for i := range c.items {
		if it := &c.items[i]; it.answered && it.err != nil {
			refused++
		}
	}
	if refused == len(c.items) {
		return nil, c.items[0].err
	}
	out := make([]store.Result, len(c.items))
	for i := range c.items {
		switch it := &c.items[i]; {
		case !it.answered:
			out[i] = store.Result{Outcome: store.Unknown, Err: cause}
		case it.err != nil:
			out[i] = store.Result{Outcome: store.Failed, Err: it.err}
		default:
			out[i] = it.res
		}
	}
	return out, nil
}
