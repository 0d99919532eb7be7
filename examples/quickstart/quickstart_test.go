package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/sqlite"
)

// TestItGoesOnAfterAKill builds the program, kills it with SIGKILL in the middle of
// its sleep, starts it again, and reads what it says. Claim B-52.
func TestItGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "quickstart")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first := run(t, dir, bin, func(line string, p *os.Process) {
		if line == "cooling off" {
			untilAsleep(t, filepath.Join(dir, "app.db"))
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	second := run(t, dir, bin, func(string, *os.Process) {})
	if n := strings.Count(first+second, "charging for a kettle"); n != 1 {
		t.Errorf("charged %d times, want once", n)
	}
	if strings.Contains(first, "mailing") || strings.Count(second, "mailing ann@example.com") != 1 {
		t.Error("the mail was not sent once, after the sleep")
	}
	if !strings.Contains(second, "going on with it") || !strings.Contains(second, "done: {Payment:payment-1 Mail:mail-1}") {
		t.Error("the second run did not finish the first one's order")
	}
	if t.Failed() {
		t.Logf("first run:\n%s\nsecond run:\n%s", first, second)
	}
}

// untilAsleep follows the program's log, from this process, until it holds the sleep:
// a kill before that would be a kill before the charge was recorded.
func untilAsleep(t *testing.T, db string) {
	t.Helper()
	rt, err := loom.Open(t.Context(), sqlite.Open(db), loom.Tuning{ClientOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for e, err := range rt.Follow(t.Context(), "order-42", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == event.KindTimerScheduled {
			return
		}
	}
	t.Fatal("the log ended without a sleep")
}

// run runs the program to its end and returns what it printed; each line is shown to
// look as it comes.
func run(t *testing.T, dir, bin string, look func(line string, p *os.Process)) string {
	t.Helper()
	cmd := exec.Command(bin)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for s := bufio.NewScanner(out); s.Scan(); {
		all.WriteString(s.Text() + "\n")
		look(s.Text(), cmd.Process)
	}
	_ = cmd.Wait() // a killed one fails; what was printed decides
	return all.String()
}

// TestTheReadmeShowsThisProgram keeps the two equal.
func TestTheReadmeShowsThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, source2, _ := strings.Cut(string(source), "\n") // without the package comment
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	code, _, ok := strings.Cut(rest, "```")
	if !ok || code != source2 {
		t.Error("README.md and examples/quickstart/main.go differ")
	}
}
