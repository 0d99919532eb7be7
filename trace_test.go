package loom_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// The order of what is sent, acknowledged, told and called in a run of three steps,
// pinned. Each act waits a little for all that was told before it.
const mintedTrace = `
event 0
body
event 1
send 0-1
acknowledged 1
durable 0
durable 1
call step#1
event 2
event 3
send 2-3
acknowledged 3
durable 2
durable 3
call step#2
event 4
event 5
send 4-5
acknowledged 5
durable 4
durable 5
call step#3
event 6
event 7
send 6-7 completed
acknowledged 7
durable 6
durable 7
`

const chosenTrace = `
send 0-0
acknowledged 0
event 0
durable 0
body
event 1
send 1-1
acknowledged 1
durable 1
call step#1
event 2
event 3
send 2-3
acknowledged 3
durable 2
durable 3
call step#2
event 4
event 5
send 4-5
acknowledged 5
durable 4
durable 5
call step#3
event 6
event 7
send 6-7 completed
acknowledged 7
durable 6
durable 7
`

// claim B-34: the trace of a minted start is pinned, and (claim B-35) that of a chosen one.
func TestTheOrderOfSendsAnswersHooksAndCallsIsPinned(t *testing.T) {
	for _, c := range []struct {
		opts []loom.StartOption
		want string
	}{{nil, mintedTrace}, {[]loom.StartOption{loom.ID("x")}, chosenTrace}} {
		bubble(t, func(t *testing.T) {
			var mu sync.Mutex
			var trace []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				trace = append(trace, what)
			}
			settle := func() { <-time.After(time.Millisecond) } // until everything else waits
			flow := loom.NewFlow("three", func(ctx loom.Context, _ int) (int, error) {
				settle()
				note("body")
				for range 3 {
					if _, err := loom.Do(ctx, "step", func(ctx context.Context) (int, error) {
						settle()
						_, path, _ := loom.StepOf(ctx)
						note("call " + path)
						return 0, nil
					}); err != nil {
						return 0, err
					}
				}
				return 3, nil
			})
			rt, way := tapped(t, memstore.New(nil), loom.Flows(flow), loom.Hooks{
				OnEvent:   func(e event.Envelope) { note(fmt.Sprint("event ", e.Sequence)) },
				OnDurable: func(e event.Envelope) { note(fmt.Sprint("durable ", e.Sequence)) },
			})
			way.on(func(c call) {
				if c.op == "commit" {
					settle()
					state := ""
					if c.req.State != store.StateKeep {
						state = " " + c.req.State.String()
					}
					note(fmt.Sprintf("send %d-%d%s", c.req.Expect.Head+1, c.req.Expect.Head+event.Seq(len(c.req.Events)), state))
				}
			})
			way.onAnswer(func(_ call, res store.Result) {
				settle()
				note(fmt.Sprint("acknowledged ", res.Tip.Head))
			})
			yields(t, begin(t, flow, rt, 0, c.opts...), 3)
			pass(t, time.Second)
			mu.Lock()
			defer mu.Unlock()
			if got := "\n" + strings.Join(trace, "\n") + "\n"; got != c.want {
				t.Errorf("trace:%s", got)
			}
		})
	}
}
