package loom_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// everyVerb is a flow that uses every verb which leaves something in a log.
var everyVerb = loom.NewFlow("every-verb", func(ctx loom.Context, in map[string]any) (string, error) {
	a, err := loom.Do(ctx, "a", func(context.Context) (string, error) { return "<&>", nil }, loom.Args(in))
	if err != nil {
		return "", err
	}
	_, failed := loom.Do(ctx, "b", func(context.Context) (int, error) {
		return 0, fmt.Errorf("charge: %w", errDeclined)
	}, loom.Retry{Attempts: 2, Initial: time.Second})
	look, err := loom.Do(ctx, "look", func(context.Context) (float64, error) { return 1e21, nil }, loom.ReadOnly())
	if err != nil {
		return "", err
	}
	nap := loom.Go(ctx, "branch", func(ctx loom.Context) (string, error) { return loom.NewID(ctx), loom.Sleep(ctx, "nap", time.Minute) })
	word, err := loom.Await[string](ctx, "word", loom.Within(time.Hour))
	if err != nil {
		return "", err
	}
	_, none := loom.Await[string](ctx, "none", loom.Within(time.Second))
	id, err := nap.Get(ctx)
	stop := loom.Sleep(ctx, "long", time.Hour)
	return fmt.Sprint(a, " ", failed, " ", look, " ", word, " ", none, " ", id, " ", loom.Rand(ctx).IntN(1000), " ", err, " ", stop), nil
})

// The log of one run of it, as every release must write it: the same chance gives
// the same bytes.
const everyVerbLog = `
0 EXECUTION_STARTED {"flow":"every-verb","input":{"a":[1,2],"z":1},"seed":"eebf03c8ccdba456","labels":{"k":"v"}} {"by":"test"}
1 EFFECT_SCHEDULED {"op":"a#1","args":{"a":[1,2],"z":1}}
2 EFFECT_COMPLETED {"op":"a#1","result":"<&>"}
3 EFFECT_SCHEDULED {"op":"b#1"}
4 EFFECT_ATTEMPT_FAILED {"op":"b#1","attempt":1,"error":{"code":"card_declined","message":"charge: loom: card_declined"},"notBefore":(of time)}
5 EFFECT_FAILED {"op":"b#1","attempt":2,"error":{"code":"card_declined","message":"charge: loom: card_declined"}}
6 EFFECT_COMPLETED {"op":"look#1","result":1e+21}
7 MESSAGE_AWAITED {"op":"word#1","name":"word","deadline":(of time)}
8 TIMER_SCHEDULED {"op":"branch#1/nap#1","deadline":(of time)}
9 MESSAGE_RECEIVED {"op":"word#1","name":"word","message":"m-1","body":"hello"}
10 MESSAGE_AWAITED {"op":"none#1","name":"none","deadline":(of time)}
11 TIMER_FIRED {"op":"none#1"}
12 TIMER_FIRED {"op":"branch#1/nap#1"} {"fence":"1"}
13 TIMER_SCHEDULED {"op":"long#1","deadline":(of time)} {"fence":"1"}
14 CANCEL_REQUESTED {"cause":"asked","message":"(of time)","reason":"enough"} {"fence":"2"}
15 EXECUTION_COMPLETED {"result":"<&> charge: loom: card_declined 1e+21 hello loom: timeout (of time) 813 <nil> loom: cancelled"} {"fence":"2"}
`

// ofTime is what follows the clock to the microsecond: instants, and ids that begin with
// one. When a timer fires depends on how fibers of the system are run; the simulator pins
// that too.
var ofTime = regexp.MustCompile("946[0-9]{12}|[0-9A-Z]{26}")

// claim B-01: no contract version moved, and one chance gives one log, pinned. claims A-08
// and A-48: whatever number the store gives the execution, it is in no byte of it.
func TestOneSeedGivesOneLog(t *testing.T) {
	if loom.KernelABI != "1.1.0" || event.SchemaVersion != "1.0.0" || store.SPI != "2.3.0" {
		t.Error("a contract's version moved: ", loom.KernelABI, event.SchemaVersion, store.SPI)
	}
	for _, before := range []int{0, 1, 4711} { // executions that the store has made already
		bubble(t, func(t *testing.T) {
			db := memstore.New(nil)
			for i := range before {
				plant(t, db, fmt.Sprint("old", i), "gone", event.Envelope{Kind: event.KindExecutionStarted, Payload: []byte("{}")})
			}
			node, err := loom.Open(rt.With(t.Context(), newDice(9)), db, loom.Flows(everyVerb))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := node.Close(); err != nil && !errors.Is(err, loom.ErrClosed) {
					t.Error(err)
				}
			})
			run := begin(t, everyVerb, node, map[string]any{"z": 1, "a": []int{1, 2}}, loom.ID("golden"),
				loom.Labels(map[string]string{"k": "v"}), loom.Metadata(map[string]string{"by": "test"}))
			pass(t, 10*time.Second)
			signal(t, node, "golden", "word", "hello", loom.MessageID("m-1"))
			pass(t, 2*time.Minute)
			if err := node.Cancel(t.Context(), "golden", "enough"); err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(soon(t)); err != nil {
				t.Fatal(err)
			}
			number := string(headOf(t, db, "golden").Tip.Anchor)
			if number != fmt.Sprint(before+1) {
				t.Fatalf("its number is %s, after %d others", number, before)
			}
			for _, e := range logOf(t, db, "golden") {
				if before > 1000 && strings.Contains(fmt.Sprintf("%s %s", e.Payload, e.Meta), number) {
					t.Errorf("%s holds its number: %s %s", e.ID(), e.Payload, e.Meta)
				}
			}
			var text strings.Builder
			for _, e := range logOf(t, db, "golden") {
				line := fmt.Sprintf("%d %s %s %s", e.Sequence, e.Kind, e.Payload, e.Meta)
				line = ofTime.ReplaceAllString(line, "(of time)")
				text.WriteString("\n" + strings.TrimSpace(line))
			}
			if got := text.String() + "\n"; got != everyVerbLog {
				t.Errorf("log:%s", got)
			}
		})
	}
}
