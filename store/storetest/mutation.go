package storetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// mutations are the ways in which a store can be changed, and for each the cases
// that a store would fail which took it and did nothing.
var mutations = map[string][]string{
	"Log.Commit":     {"start/running", "fate/whole"},
	"Leaser.Renew":   {"lease/renew", "lease/flows-are-replaced"},
	"Leaser.Leave":   {"lease/nodes", "claim/lapsed-after-leave"},
	"Inbox.Post":     {"inbox/pages", "inbox/bodies", "mail/numbers"},
	"Records.Put":    {"records/put", "records/replaces"},
	"Records.Delete": {"records/delete"},
	"Deleter.Delete": {"delete/removes-all", "delete/labels-are-not-inherited"},

	"Request.Nonce":   {"resend/step", "resend/claim"},
	"Request.Events":  {"start/many-events", "payload/bytes"},
	"Request.Claim":   {"claim/unowned", "claim/mine"},
	"Request.Release": {"release/park", "release/replaces-the-wake-up"},
	"Request.State":   {"state/closed-refuses", "release/end"},
	"Request.Index":   {"start/head-row", "delete/labels-are-not-inherited"},
	"Request.Publish": {"publish/replaces", "publish/start"},
	"Request.Seen":    {"release/over-seen-mail", "release/seen-is-kept"},
	"Request.Consume": {"mail/consume", "fate/whole"},
	"Request.Post":    {"fate/whole", "mail/post-in-commit"},
}

// Mutations returns what can change a store, methods of its parts as
// "Part.Method" and fields of a request as "Request.Field", each with the names
// of the cases that try it. The caller owns the map.
func Mutations() map[string][]string {
	out := maps.Clone(mutations)
	for name := range out { // order does not matter: each entry is its own
		out[name] = slices.Clone(out[name])
	}
	return out
}

// mutationCases show that a value replaces the one before as a whole. Backends
// differ where one merges.
func mutationCases() []Case { // case 62
	return slices.Concat(
		needs([]store.Part{store.PartRecords},
			Case{Name: "records/replaces", Quote: rulePut, run: func(p *probe) {
				bodies := []string{
					`{"a":{"b":1,"c":[1,2,3]},"d":"kept?"}`, `{"a":{"b":2}}`, `{"a":{}}`, `{"a":null}`, `{}`, `[1,2]`, `[3]`, `"text"`, `7`, `null`, ``, `{"a":1}`,
				}
				for i, body := range bodies {
					p.put("r", int64(i), body, true, int64(i)+1, body)
				}
			}}),
		needs(owning,
			Case{Name: "lease/flows-are-replaced", Quote: ruleRenew, run: func(p *probe) {
				for _, flows := range [][]string{{"a", "b"}, {"b", "c"}, {"c"}, nil, {"a"}} {
					l, err := p.s.Leaser.Renew(p.ctx, "n1", 1e12, flows)
					if err != nil {
						p.fatalf("renewal: %v", err)
					}
					kept, err := p.s.Leaser.Nodes(p.ctx)
					if err != nil || len(kept) != 1 {
						p.fatalf("Nodes: %d, %v", len(kept), err)
					}
					for _, got := range [][]string{l.Flows, kept[0].Flows} {
						if got = slices.Sorted(slices.Values(got)); !slices.Equal(got, flows) {
							p.failf("renewed with the flows %q, it has %q", flows, got)
						}
					}
				}
			}}),
		needs(indexed,
			Case{Name: "release/replaces-the-wake-up", Quote: ruleRelease, run: func(p *probe) {
				res := p.must(p.birth("r"))
				for _, wake := range []event.Time{res.Now.Add(1e12), res.Now.Add(2e12), res.Now.Add(1e12), event.Never, 0, event.Never} {
					req := p.step("r", res)
					req.Release = &store.Release{WakeAt: wake}
					res = p.must(req)
					if h := p.head("r"); h.WakeAt != wake {
						p.failf("released until %d, it wakes at %d", wake, h.WakeAt)
					}
					if h := p.head("r"); p.must(p.step("r", res)).Tip.Head != h.Tip.Head+1 || p.head("r").WakeAt != wake {
						p.failf("a commit without a release moved the wake-up from %d to %d", wake, p.head("r").WakeAt)
					}
					res.Tip = p.tip("r")
				}
			}}),
		needs(append(mailing, store.PartDeleter),
			Case{Name: "delete/labels-are-not-inherited", Quote: ruleDelete, run: func(p *probe) {
				labels := []map[string]string{{"a": "1", "b": "1"}, {"b": "2"}, nil, {"a": "3"}}
				for i, want := range labels {
					req := p.birth("d")
					req.Events[0].Time += event.Time(i)
					req.Index = &store.IndexEntry{Flow: flow, Version: fmt.Sprint(i), Labels: want}
					res := p.must(req)
					if got := p.head("d").Index; !maps.Equal(got.Labels, want) || got.Version != fmt.Sprint(i) || got.Parent != "" {
						p.failf("created with the labels %v, it has %+v", want, got)
					}
					for name, value := range map[string]string{"a": "1", "b": "2"} { // order does not matter: each is asked alone
						if want[name] == value {
							p.lists(store.Query{Labels: map[string]string{name: value}}, "d")
						} else {
							p.lists(store.Query{Labels: map[string]string{name: value}})
						}
					}
					p.remove("d", p.deleting("d", res).Tip)
				}
			}}),
	)
}
