package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

// TestJSONIsAContract holds what each verb prints with --json against golden files:
// every field, its name and its place. What differs from run to run is blanked.
func TestJSONIsAContract(t *testing.T) {
	dir := t.TempDir()
	do(t, dir, "worker", "start", "greet", "order-1", `{"who":"you"}`)
	do(t, dir, "worker", "start", "fails", "bill-1")
	do(t, dir, "worker", "run", "order-1", "bill-1")
	do(t, dir, "worker", "start", "approval", "wait-1")
	do(t, dir, "worker", "start", "greet", "stuck-1")
	do(t, dir, "worker", "stick", "stuck-1")
	for _, id := range []string{"order-2", "order-3"} {
		cmd := program(t, dir, "worker", "start", "greet", id)
		cmd.Env = append(cmd.Env, "DB=many.db")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tree", "a.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args string
		exit int
	}{
		{"version", "version", 0},
		{"ls", "ls", 0},
		{"ls_none", "ls nothing-fits", 0},
		{"ls_more", "ls --limit 1", 0},
		{"show_completed", "show order-1", 0},
		{"show_failed", "show bill-1 --steps 0", 0},
		{"show_stuck", "show stuck-1", 0},
		{"log", "log order-1", 0},
		{"result", "result order-1", 0},
		{"result_failed", "result bill-1", 6},
		{"result_waiting", "result wait-1 --no-wait", 8},
		{"doctor", "doctor", 0},
		{"recover_all", "recover", 0},
		{"recover_one", "recover stuck-1", 0},
		{"recover_none", "recover", 0},
		{"signal", "signal wait-1 approval true --message-id m-1", 0},
		{"cancel", "cancel stuck-1 --reason why", 0},
		{"terminate", "terminate wait-1 --yes --reason why", 0},
		{"demo", "demo --dir tree --db demo.db --id audit-1 --kills 0", 0},
		{"error_not_found", "show nothing", 3},
		{"error_ambiguous", "show o --store sqlite:many.db", 2},
		{"error_usage", "show", 2},
		{"error_no_store", "ls --store sqlite:none.db", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := program(t, dir, "loom", append(strings.Fields(c.args), "--json")...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			exit := 0
			var failed *exec.ExitError
			if err := cmd.Run(); errors.As(err, &failed) {
				exit = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if exit != c.exit {
				t.Errorf("exit code %d, want %d\n%s", exit, c.exit, errs.String())
			}
			got := blank(t, out.Bytes(), dir)
			if errs.Len() > 0 {
				got += "--- standard error\n" + blank(t, errs.Bytes(), dir)
			}
			golden(t, c.name, got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is right: go test ./cmd/loom -run Contract -update\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// blanks are what differs from run to run.
var blanks = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "<ulid>"},
	{regexp.MustCompile(`"(durationMs|deadline)": \d+(\.\d+)?`), `"$1": 0`},
	{regexp.MustCompile(`"notBefore": \d+`), `"notBefore": 0`},
	{regexp.MustCompile(`"seed": "[0-9a-f]{16}"`), `"seed": "<seed>"`},
	{regexp.MustCompile(`"(version|go|platform|revision)": "[^"]*"`), `"$1": "<$1>"`},
	{regexp.MustCompile(`\n *"modified": true,?`), ""},
	{regexp.MustCompile(`\n *"revision": "<revision>",`), ""},
	// What the doctor found is the machine's; that it looked, and the words, are ours.
	{regexp.MustCompile(`"detail": "[^"]*"`), `"detail": "<detail>"`},
}

// blank returns JSON lines, one field a line, without what differs.
func blank(t *testing.T, raw []byte, dir string) string {
	t.Helper()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		raw = bytes.ReplaceAll(raw, []byte(real), []byte("<dir>"))
	}
	var out bytes.Buffer
	for line := range bytes.Lines(raw) {
		if err := json.Indent(&out, bytes.TrimSpace(line), "", "  "); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out.WriteByte('\n')
	}
	text := out.String()
	for _, b := range blanks {
		text = b.re.ReplaceAllString(text, b.with)
	}
	return text
}
