package fold

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
)

var update = flag.Bool("update", false, "rewrite the expected states")

// parse reads a log from its text form: one event a line, "seq time KIND
// payload"; lines that begin with # are for people.
func parse(t *testing.T, text string) (log []event.Envelope) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " ", 4)
		if len(parts) != 4 {
			t.Fatalf("line %d: want seq, time, kind and payload: %q", i+1, line)
		}
		seq, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		at, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		log = append(log, event.Envelope{Execution: "order-42", Sequence: event.Seq(seq), Time: event.Time(at),
			Kind: event.Kind(parts[2]), Payload: []byte(parts[3])})
	}
	return log
}

// render writes a state down, what Consumed knows of the log's messages included.
func render(t *testing.T, s *State, log []event.Envelope) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	for _, id := range messages(t, log) {
		fmt.Fprintf(&b, "consumed %q: %v\n", id, s.Consumed(id))
	}
	return b.Bytes()
}

// messages returns the ids of the messages that a log names, in its order.
func messages(t *testing.T, log []event.Envelope) (ids []string) {
	t.Helper()
	for _, e := range log {
		p, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case event.MessageReceived:
			ids = append(ids, p.Message)
		case event.CancelRequested:
			if p.Message != "" {
				ids = append(ids, p.Message)
			}
		}
	}
	return ids
}

// TestGoldenLogs folds every log of testdata and compares the state with the one
// beside it. The logs are never rewritten: a later build must read them as this
// one does. case 72
func TestGoldenLogs(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	seen := map[event.Kind]bool{}
	statuses := map[OpStatus]bool{}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			log := parse(t, string(text))
			s, err := Log(log)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range log {
				seen[e.Kind] = true
			}
			for _, o := range s.Ops {
				statuses[o.Status] = true
			}
			got := render(t, s, log)
			golden := strings.TrimSuffix(name, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the state is now\n%s\nit was\n%s", got, want)
			}
		})
	}
	for _, k := range event.Kinds() {
		if !seen[k] {
			t.Errorf("no golden log holds %s", k)
		}
	}
	if !seen["FROM_THE_FUTURE"] {
		t.Error("no golden log holds an unknown kind")
	}
	for _, st := range []OpStatus{OpOpen, OpRetrying, OpCompleted, OpFailed, OpFired, OpReceived, OpCancelled} {
		if !statuses[st] {
			t.Errorf("no golden log ends with an operation that is %s", st)
		}
	}
}
