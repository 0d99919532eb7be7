package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/loomwork/loom/cmd/loom/internal/view"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// claim S-40
func TestNothingFromALogReachesATerminalRaw(t *testing.T) {
	const bad = "x\x1b]0;owned\x07\r\u202Ey\u009bz\nid-2  forged  completed"
	at := func(seq event.Seq, p event.Payload) event.Envelope { return event.New("id-1", seq, 1, p, nil) }
	raw := json.RawMessage(`"` + strings.NewReplacer("\x1b", "\u009b", "\x07", "", "\r", "", "\n", " ").Replace(bad) + `"`)
	log := []event.Envelope{
		at(0, event.ExecutionStarted{Flow: "f", Input: raw, Seed: "0011223344556677", Labels: map[string]string{"l": bad}}),
		at(1, event.MessageAwaited{Op: "a#1", Name: "n"}),
		at(2, event.CancelRequested{Cause: "asked", Message: "m", Reason: bad}),
		at(3, event.Unknown{Name: event.Kind("K" + bad), Raw: []byte(bad)}),
		at(4, event.ExecutionFailed{Error: &event.Failure{Code: "error", Message: bad, Stack: []string{bad}}}),
	}
	state, err := fold.Log(log)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := printer{&screen.Screen{Out: &out, OutTerminal: true, Times: screen.Relative}, time.Now()}
	sum := loom.Summary{ID: "id-1", Flow: "f", Status: fold.Running, Labels: state.Labels}
	p.execution(view.ExecutionOf(sum, state, -1), 0)
	for _, e := range log {
		p.event(e)
	}
	printList(p.Screen, []loom.Summary{sum}, columnNames(), p.now)
	for _, r := range out.String() {
		if r != '\n' && strings.ContainsRune("\x1b\x07\r\u202E\u009b", r) {
			t.Fatalf("%U reached the terminal: %q", r, out.String())
		}
	}
	if !strings.Contains(out.String(), `\u{202e}y`) {
		t.Errorf("it is not shown at all: %q", out.String())
	}
	if n := strings.Count(out.String(), "\nid-2"); n > 0 {
		t.Errorf("%d rows are forged: %q", n, out.String())
	}
}
