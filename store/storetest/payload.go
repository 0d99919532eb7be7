package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// oddBytes returns bytes that some engine has been seen to change.
func oddBytes() [][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	large := bytes.Repeat(all, 1<<12) // 1 MiB
	return [][]byte{
		nil, {}, {0}, all, []byte("a\x00b"), {0xff, 0xfe, 0xc3, 0x28}, []byte("\xed\xa0\x80"), []byte("\u2028<&>\u0000"),
		[]byte(`{"b":1,"a":1,"a":2}`), []byte(`{"n":1e21,"m":123456789012345678901234567890,"z":-0}`), []byte("  null\n"),
		[]byte(`"\u0000"`), []byte("NaN"), []byte("\ufeff{}"), []byte("'; DROP TABLE heads; --"), large,
	}
}

func payloadCases() []Case {
	return needs(logOnly,
		Case{Name: "payload/bytes", Quote: ruleRead, run: func(p *probe) { // case 65, claim H-25
			var want []event.Envelope
			for i, body := range oddBytes() {
				for j, meta := range [][]byte{nil, []byte(`{"a":"\u0000"}`), body} {
					if len(body) > 1<<16 && j == 2 {
						continue
					}
					want = append(want, event.Envelope{Execution: "p", Sequence: event.Seq(len(want)), Kind: event.KindEffectCompleted,
						Time: at + event.Time(i), Payload: body, Meta: meta})
				}
			}
			req := p.birth("p")
			req.Events = want
			p.must(req)
			got := p.log("p", store.Range{})
			for i, env := range got {
				if !env.Equal(want[i]) {
					p.failf("event %d did not come back byte for byte: %s", i, short(env, want[i]))
				}
				if (env.Payload == nil) != (want[i].Payload == nil) || (env.Meta == nil) != (want[i].Meta == nil) {
					p.failf("event %d: no bytes and none at all are one", i)
				}
			}
			if len(got) != len(want) {
				p.failf("%d events came back of %d", len(got), len(want))
			}
		}},
		Case{Name: "payload/kinds", Quote: ruleRead, run: func(p *probe) { // kinds of a later build are kept
			kinds := []event.Kind{"x", "SOMETHING_NEWER", event.Kind(strings.Repeat("K", 200)), "käse", "a b'\"%"}
			kinds = append(kinds, event.Kinds()...)
			req := p.birth("p")
			req.Events = nil
			for i, k := range kinds {
				req.Events = append(req.Events, event.Envelope{Execution: "p", Sequence: event.Seq(i), Kind: k, Time: at, Payload: []byte("{}")})
			}
			p.must(req)
			for i, env := range p.log("p", store.Range{}) {
				if env.Kind != kinds[i] {
					p.failf("the kind %q came back as %q", kinds[i], env.Kind)
				}
			}
		}},
		Case{Name: "payload/times", Quote: ruleRead, run: func(p *probe) {
			times := []event.Time{0, 1, at, at, 1<<53 + 1, event.Never, 5, -1} // a store takes what it is given
			req := p.birth("p")
			req.Events = nil
			for i, t := range times {
				req.Events = append(req.Events, event.Envelope{Execution: "p", Sequence: event.Seq(i), Kind: "x", Time: t, Payload: []byte("{}")})
			}
			p.must(req)
			for i, env := range p.log("p", store.Range{}) {
				if env.Time != times[i] {
					p.failf("the time %d came back as %d", times[i], env.Time)
				}
			}
		}},
		Case{Name: "payload/ids", Quote: step1, run: func(p *probe) { // claim H-24, case 9
			ids := []event.ExecutionID{"0", "00", "a", "A", "-", "--", "a-0", "a-00", ".", "..", "a:b", "a+b", "t/x/y@2026-01-01T00:00:00Z", "_", "__",
				event.ExecutionID(strings.Repeat("x", event.MaxIDBytes))}
			for i, id := range ids {
				req := p.birth(id)
				req.Events[0].Payload = fmt.Append(nil, i)
				p.must(req)
			}
			for i, id := range ids {
				if log := p.log(id, store.Range{}); len(log) != 1 || string(log[0].Payload) != fmt.Sprint(i) || log[0].Execution != id {
					p.failf("the log of %q is not its own", id)
				}
			}
			for _, id := range []event.ExecutionID{"", "a b", "a\x00", "ä", "a%", event.ExecutionID(strings.Repeat("x", event.MaxIDBytes+1))} {
				req := p.birth("x")
				req.Execution, req.Events = id, events(id, 0, 1)
				if res := p.commit(req); res.Refusal != store.RefusedInvalid {
					p.failf("a start of %q: %s", id, say(res))
				}
			}
		}},
		Case{Name: "payload/one-log-many-bytes", Quote: ruleWhole, run: func(p *probe) {
			req := p.birth("p")
			for i := range 16 {
				env := events("p", event.Seq(1+i), 1)[0]
				env.Payload = bytes.Repeat([]byte{byte(i)}, 1<<19)
				req.Events = append(req.Events, env)
			}
			p.must(req)
			if got := p.log("p", store.Range{}); !slices.EqualFunc(got, req.Events, event.Envelope.Equal) {
				p.failf("8 MiB in one request did not come back: %d events", len(got))
			}
		}},
	)
}

// short says how two envelopes differ without showing a megabyte.
func short(got, want event.Envelope) string {
	cut := func(b []byte) string {
		if len(b) > 40 {
			return fmt.Sprintf("%q... (%d bytes)", b[:40], len(b))
		}
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("payload %s, want %s; metadata %s, want %s", cut(got.Payload), cut(want.Payload), cut(got.Meta), cut(want.Meta))
}
