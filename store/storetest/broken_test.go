package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// door is a Log with a defect in its write door.
type door struct {
	store.Log
	commit func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error)
}

func (d door) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	return d.commit(d.Log, ctx, reqs)
}

// rewrite returns a store that changes each request before it is judged. tip is
// that of the row.
func rewrite(change func(req *store.Request, tip store.Tip, owner store.NodeID)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			reqs = slices.Clone(reqs)
			for i := range reqs {
				h, ok, err := s.Index.Get(ctx, reqs[i].Execution)
				if err != nil {
					return nil, err
				}
				if ok {
					change(&reqs[i], h.Tip, h.Owner)
				}
			}
			return l.Commit(ctx, reqs...)
		}}
		return s
	}
}

// defects are stores that each break one rule, and cases that have to see it.
var defects = []struct {
	name string
	wrap func(store.Store) store.Store
	want []string
}{
	{"acknowledges before it writes", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			out := make([]store.Result, len(reqs))
			for i, r := range reqs {
				out[i] = store.Result{Outcome: store.Committed, State: store.StateRunning, Tip: store.Tip{
					Head: r.Expect.Head + event.Seq(len(r.Events)), Fence: max(r.Expect.Fence, 0), Anchor: "1", Mark: r.Nonce}}
			}
			return out, nil
		}}
		return s
	}, []string{"start/running", "fate/whole", "resend/step", "read/ranges", "process/strong-reads", "race/one-id"}},

	{"does not compare the token", rewrite(func(r *store.Request, tip store.Tip, _ store.NodeID) {
		if r.Expect.Exists() {
			r.Expect.Fence = tip.Fence
		}
	}), []string{"judgement/token-before-head", "token/missing-is-not-0", "token/exact", "token/first-claim-shuts-out-the-starter",
		"claim/mine", "lease/again", "fate/innocents"}},

	{"does not compare the anchor", rewrite(func(r *store.Request, tip store.Tip, _ store.NodeID) { r.Expect.Anchor = tip.Anchor }),
		[]string{"judgement/anchor-before-token", "fate/innocents", "delete/and-again", "incarnation/byte-identical-recreation"}},

	{"does not compare the mark", rewrite(func(r *store.Request, tip store.Tip, _ store.NodeID) { r.Expect.Mark = store.Nonce{} }),
		[]string{"judgement/mark-compared-when-set", "judgement/head-before-closed"}},

	{"does not compare the owner", rewrite(func(r *store.Request, _ store.Tip, owner store.NodeID) { r.As = owner }),
		[]string{"claim/as", "judgement/owner-before-mail", "fate/innocents"}},

	{"appends at the end, whatever was expected", rewrite(func(r *store.Request, tip store.Tip, _ store.NodeID) {
		if !r.Expect.Exists() || len(r.Events) == 0 {
			return
		}
		r.Expect.Head, r.Expect.Mark, r.Events = tip.Head, store.Nonce{}, slices.Clone(r.Events)
		for i := range r.Events {
			r.Events[i].Sequence = tip.Head + 1 + event.Seq(i)
		}
	}), []string{"race/commits-on-one-tip", "token/tip-of-one-commit-has-one-winner", "fate/innocents", "judgement/invalid"}},

	{"takes every message for seen", rewrite(func(r *store.Request, _ store.Tip, _ store.NodeID) { r.Seen = 1 << 40 }),
		[]string{"judgement/mail", "mail/none-asleep", "release/over-unseen-mail", "race/posts-and-park"}},

	{"leaves consumed messages in the inbox", rewrite(func(r *store.Request, _ store.Tip, _ store.NodeID) { r.Consume = nil }),
		[]string{"mail/consume", "fate/whole"}},

	{"forgets nonces", func(s store.Store) store.Store {
		var mu sync.Mutex
		seen := map[store.Nonce]int{}
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			reqs = slices.Clone(reqs)
			mu.Lock()
			for i := range reqs {
				if seen[reqs[i].Nonce]++; seen[reqs[i].Nonce] > 1 && !reqs[i].Nonce.IsZero() {
					reqs[i].Nonce[1] = byte(seen[reqs[i].Nonce])
				}
			}
			mu.Unlock()
			return l.Commit(ctx, reqs...)
		}}
		return s
	}, []string{"resend/step", "resend/claim", "resend/start-by-mark", "resend/start-by-birth", "resend/same-call", "race/resendings",
		"judgement/again-before-closed", "fate/innocents"}},

	{"fails a whole call for one request", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			var out []store.Result
			for i := range reqs {
				if n := len(out); n > 0 && out[n-1].Outcome != store.Committed {
					out = append(out, store.Result{Outcome: store.Failed, Err: store.ErrRefused})
					continue
				}
				res, err := l.Commit(ctx, reqs[i])
				if err != nil {
					return nil, err
				}
				out = append(out, res...)
			}
			return out, nil
		}}
		return s
	}, []string{"fate/innocents", "fate/two-starts-of-one-id", "fate/one-after-the-other", "fate/many"}},

	{"posts before it judges", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			reqs = slices.Clone(reqs)
			for i := range reqs {
				for _, p := range reqs[i].Post {
					if _, err := s.Inbox.Post(ctx, p.To, p.Message); err != nil {
						return nil, err
					}
				}
				reqs[i].Post = nil
			}
			return l.Commit(ctx, reqs...)
		}}
		return s
	}, []string{"fate/whole"}},

	{"publishes what it refused with what it takes next", func(s store.Store) store.Store {
		var mu sync.Mutex
		owed := map[event.ExecutionID][]store.Publication{}
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			reqs = slices.Clone(reqs)
			for i := range reqs {
				reqs[i].Publish = append(owed[reqs[i].Execution], reqs[i].Publish...)
			}
			res, err := l.Commit(ctx, reqs...)
			for i := range res {
				owed[reqs[i].Execution] = nil
				if res[i].Refusal != store.NotRefused {
					owed[reqs[i].Execution] = slices.Clone(reqs[i].Publish)
				}
			}
			return res, err
		}}
		return s
	}, []string{"publish/refused"}},

	{"takes no key back", rewrite(func(r *store.Request, _ store.Tip, _ store.NodeID) {
		r.Publish = slices.DeleteFunc(slices.Clone(r.Publish), func(p store.Publication) bool { return p.Gone })
	}), []string{"publish/replaces", "publish/two-in-one-call"}},

	{"shows only what was published last", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			reqs = slices.Clone(reqs)
			for i := range reqs {
				if h, _, err := s.Index.Get(ctx, reqs[i].Execution); err == nil {
					var gone []store.Publication
					for key := range h.Published {
						gone = append(gone, store.Publication{Key: key, Gone: true})
					}
					reqs[i].Publish = append(gone, reqs[i].Publish...)
				}
			}
			return l.Commit(ctx, reqs...)
		}}
		return s
	}, []string{"publish/replaces", "publish/kept"}},

	{"drops results", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			res, err := l.Commit(ctx, reqs...)
			return res[:min(len(res), 1)], err
		}}
		return s
	}, []string{"fate/innocents", "fate/many"}},

	{"tries what it reports as not attempted", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			res, err := l.Commit(context.WithoutCancel(ctx), reqs...)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return res, err
		}}
		return s
	}, []string{"fate/ctx-over"}},

	{"keeps text, not bytes", func(s store.Store) store.Store {
		s.Log = door{s.Log, func(l store.Log, ctx context.Context, reqs []store.Request) ([]store.Result, error) {
			for i := range reqs {
				reqs[i].Events = slices.Clone(reqs[i].Events)
				for j := range reqs[i].Events {
					e := &reqs[i].Events[j]
					e.Payload = bytes.ToValidUTF8(bytes.ReplaceAll(e.Payload, []byte{0}, nil), []byte("?"))
				}
			}
			return l.Commit(ctx, reqs...)
		}}
		return s
	}, []string{"payload/bytes"}},

	{"reads behind", func(s store.Store) store.Store {
		s.Log = lagging{s.Log}
		return s
	}, []string{"read/ranges", "process/strong-reads"}},

	{"keeps leases twice as long", func(s store.Store) store.Store {
		s.Leaser = lenient{s.Leaser}
		return s
	}, []string{"lease/renew", "lease/over", "claim/lapsed", "claim/owner-alive", "judgement/lease"}},

	{"numbers repeats", func(s store.Store) store.Store {
		s.Inbox = &repeating{Inbox: s.Inbox}
		return s
	}, []string{"inbox/repeat"}},

	{"wakes in the wrong order", func(s store.Store) store.Store {
		s.Index = backwards{s.Index}
		return s
	}, []string{"runnable/due", "list/newest-first"}},

	{"runs any version", func(s store.Store) store.Store {
		s.Index = unversioned{s.Index}
		return s
	}, []string{"runnable/versions"}},
}

// unversioned looks at the names of flows alone.
type unversioned struct{ store.Index }

func (u unversioned) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	for _, f := range slices.Clone(d.Flows) {
		for _, v := range []string{"", "1", "2"} {
			d.Flows = append(d.Flows, store.FlowVersion{Flow: f.Flow, Version: v})
		}
	}
	return u.Index.Runnable(ctx, d)
}

type lagging struct{ store.Log }

func (l lagging) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		tip, err := l.Tip(ctx, id)
		for env, e := range l.Log.Read(ctx, id, r) {
			if err == nil && e == nil && env.Sequence > 0 && env.Sequence == tip.Head {
				return
			}
			if !yield(env, e) {
				return
			}
		}
	}
}

type lenient struct{ store.Leaser }

func (l lenient) Renew(ctx context.Context, node store.NodeID, ttl time.Duration, flows []string) (store.Lease, error) {
	return l.Leaser.Renew(ctx, node, 2*ttl, flows)
}

type repeating struct {
	store.Inbox
	mu sync.Mutex
	n  int
}

func (r *repeating) Post(ctx context.Context, to event.ExecutionID, m store.Message) (store.Receipt, error) {
	r.mu.Lock()
	r.n++
	m.ID = fmt.Sprint(m.ID, "#", r.n)
	r.mu.Unlock()
	return r.Inbox.Post(ctx, to, m)
}

type backwards struct{ store.Index }

func (b backwards) Runnable(ctx context.Context, d store.Demand) ([]store.Head, event.Time, event.Time, error) {
	hs, next, now, err := b.Index.Runnable(ctx, d)
	slices.Reverse(hs)
	return hs, next, now, err
}

func (b backwards) List(ctx context.Context, q store.Query) ([]store.Head, string, error) {
	hs, next, err := b.Index.List(ctx, q)
	slices.Reverse(hs)
	return hs, next, err
}

// A kit that passes a broken store is no kit.
func TestDefectsAreFound(t *testing.T) {
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			failed, _ := outcome(t, opener(store.Level23, d.wrap), "2.3.0")
			for _, name := range d.want {
				if !slices.Contains(failed, name) {
					t.Errorf("%s did not see it; failed are %q", name, failed)
				}
			}
			if i := slices.IndexFunc(failed, func(name string) bool { return strings.HasPrefix(name, "records/") }); i >= 0 {
				t.Errorf("%s failed, and has nothing to do with it", failed[i])
			}
		})
	}
}
