package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// figures are the contract of "demo --json".
type figures struct {
	Execution        string
	Files            int
	Bytes            int64
	Kills            int
	Effects          int
	Repeated         int
	InFlightLimit    int
	Lost             int
	DuplicateRefused bool
	Report           string
}

// last decodes the envelope in the last line.
func last(t *testing.T, out []byte) (f figures) {
	t.Helper()
	all := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	dec := json.NewDecoder(bytes.NewReader(all[len(all)-1]))
	dec.DisallowUnknownFields()
	var e struct {
		Schema, Kind string
		Data         figures
	}
	if err := dec.Decode(&e); err != nil || e.Schema != "loom.cli/1" || e.Kind != "demo" {
		t.Fatalf("%v: the last line is %s", err, all[len(all)-1])
	}
	return e.Data
}

// witnessed counts in the ledger, by other means than the demo's.
func witnessed(t *testing.T, ledger string) (calls map[string]int, lives int) {
	t.Helper()
	raw, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	calls = map[string]int{}
	for line := range strings.Lines(string(raw)) {
		var n struct{ What, Op string }
		if json.Unmarshal([]byte(line), &n) != nil {
			if line == "\n" {
				t.Errorf("%s has a blank line", ledger)
			}
			continue // a kill cut it
		}
		switch n.What {
		case "called":
			calls[n.Op]++
		case "life":
			lives++
		}
	}
	return calls, lives
}

// check holds the figures against the tree, the ledger and the report.
func check(t *testing.T, f figures, tree string, kills int) {
	t.Helper()
	ledger := strings.TrimSuffix(f.Report, "report.json") + "ledger.jsonl"
	calls, lives := witnessed(t, ledger)
	effects := 0
	for _, n := range calls {
		effects += n
	}
	files := 0
	var size int64
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read is listed no further
		}
		files++
		if raw, err := os.ReadFile(path); err == nil {
			size += int64(len(raw))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.Files != files || f.Bytes != size {
		t.Errorf("%d files of %d bytes, the tree has %d of %d", f.Files, f.Bytes, files, size)
	}
	if f.Effects != effects || f.Repeated != effects-len(calls) {
		t.Errorf("%d effects, %d repeated; the ledger says %d, %d", f.Effects, f.Repeated, effects, effects-len(calls))
	}
	if len(calls) != files+2 {
		t.Errorf("%d different effects for %d files, a listing and a summary", len(calls), files)
	}
	if f.Kills != kills || lives != kills+1 {
		t.Errorf("%d kills and %d workers, want %d and %d", f.Kills, lives, kills, kills+1)
	}
	if f.Repeated > f.Kills*16 || f.InFlightLimit != 16 || f.Lost != 0 || !f.DuplicateRefused {
		t.Errorf("promises broken: %+v", f)
	}
	checkReport(t, f, tree)
}

// checkReport reads each file again.
func checkReport(t *testing.T, f figures, tree string) {
	t.Helper()
	raw, err := os.ReadFile(f.Report)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Summary struct {
			Files int
			Bytes int64
		}
		Entries []struct {
			Path        json.RawMessage
			Kind, Error string
			SHA256      string
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		t.Fatal(err)
	}
	if report.Summary.Files != f.Files || report.Summary.Bytes != f.Bytes {
		t.Errorf("the report says %+v, the envelope %+v", report.Summary, f)
	}
	seen := map[string]bool{}
	for _, e := range report.Entries {
		var path string
		if json.Unmarshal(e.Path, &path) != nil {
			var bytes struct{ Base64 []byte }
			if err := json.Unmarshal(e.Path, &bytes); err != nil {
				t.Fatal(err)
			}
			path = string(bytes.Base64)
		}
		if seen[path] {
			t.Errorf("%q is there twice", path)
		}
		seen[path] = true
		if e.Kind != "" || e.Error != "" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(tree, path))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(content); e.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%q has another sum", path)
		}
	}
}

// grow makes a tree of n files.
func grow(t *testing.T, n int) string {
	t.Helper()
	tree := t.TempDir()
	for i := range n {
		dir := filepath.Join(tree, fmt.Sprintf("d%d", i%7), fmt.Sprintf("e%d", i%3))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprintf("file-%d.%s", i, []string{"go", "md", "txt", "bin"}[i%4]))
		if err := os.WriteFile(name, []byte(strings.Repeat("a line\n", i%50)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestDemoSurvivesItsKills(t *testing.T) {
	for _, files := range []int{0, 1, 40, 600} {
		t.Run(fmt.Sprintf("%d files", files), func(t *testing.T) {
			t.Parallel()
			dir, tree := t.TempDir(), grow(t, files)
			args := []string{"demo", "--json", "--dir", tree, "--id", "audit-1", "--kills", "3"}
			f := last(t, []byte(do(t, dir, "loom", args...)))
			check(t, f, tree, 3)
			// A second time there is nothing to do.
			if again := last(t, []byte(do(t, dir, "loom", args...))); again != f {
				t.Errorf("the second time it says %+v, the first %+v", again, f)
			}
			check(t, f, tree, 3)
		})
	}
}

func TestDemosOnOneDatabase(t *testing.T) {
	for _, c := range []struct {
		name string
		ids  []string
	}{{"of different ids", []string{"audit-1", "audit-2"}}, {"of one id", []string{"audit-1", "audit-1"}}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, tree := t.TempDir(), grow(t, 300)
			var cmds []*exec.Cmd
			var outs []*bytes.Buffer
			for _, id := range c.ids {
				cmd := program(t, dir, "loom", "demo", "--json", "--dir", tree, "--id", id, "--kills", "2")
				out := &bytes.Buffer{}
				cmd.Stdout, cmd.Stderr = out, os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				cmds, outs = append(cmds, cmd), append(outs, out)
			}
			for i, cmd := range cmds {
				if err := cmd.Wait(); err != nil {
					t.Fatalf("%s: %v", c.ids[i], err)
				}
				check(t, last(t, outs[i].Bytes()), tree, 2)
			}
		})
	}
}

// A conductor that is killed itself leaves an audit that the next one goes on with.
func TestDemoGoesOnAfterItsConductorWasKilled(t *testing.T) {
	dir, tree := t.TempDir(), grow(t, 300)
	args := []string{"demo", "--json", "--dir", tree, "--id", "audit-1", "--kills"}
	// So many kills that it cannot end before it is killed.
	cmd := program(t, dir, "loom", append(args, "50")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(dir, "loom-demo.db.audit-1.ledger.jsonl")
	wait := exec.CommandContext(t.Context(), "sh", "-c", `until grep -q '"done".*file#' "$0" 2>/dev/null; do :; done`, ledger)
	if out, err := wait.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	f := last(t, []byte(do(t, dir, "loom", append(args, "1")...)))
	check(t, f, tree, f.Kills)
	if f.Kills < 2 {
		t.Errorf("%d kills, want the conductor's and one more", f.Kills)
	}
}
