package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNamesSurviveJSON(t *testing.T) {
	for _, n := range []Name{"", "a/b", "\xff", "a\xffb", "\ufffd", "{\"base64\":\"eA==\"}", "\x00\x1b\u2028<&>", "日本"} {
		raw, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var back Name
		if err := json.Unmarshal(raw, &back); err != nil || back != n {
			t.Errorf("%q became %s and %q: %v", n, raw, back, err)
		}
	}
}

func TestNamesAsText(t *testing.T) {
	for n, want := range map[Name]string{"a/b": "a/b", "\xff": "%FF", "100%": "100%25", "\x1b[m": "%1B[m", "é\n": "é%0A", "\u009b": "%C2%9B"} {
		if got := n.Text(); got != want {
			t.Errorf("%q is %q, want %q", n, got, want)
		}
	}
}

// tree makes files and returns a directory.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, n := range names {
		path := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// However small the pages are, together they are the tree, in one order, nothing twice.
func TestPagesMakeUpTheTree(t *testing.T) {
	names := []string{"a", "a.b", "a-b/x", "ab/c", "b/a/a", "b/a.x", "b/b/c/d", "b/b-/z", "b0", "c/\xff", "z/é/\n"}
	root := tree(t, names...)
	if err := os.Symlink("a", filepath.Join(root, "b/link")); err != nil {
		t.Fatal(err)
	}
	own := &files{dir: "/elsewhere", base: "loom-demo.db"}
	whole, err := list(t.Context(), root, "", own)
	if err != nil || whole.More {
		t.Fatal(err, whole.More)
	}
	if len(whole.Entries) != len(names)+1 || len(regularOf(whole.Entries)) != len(names) {
		t.Fatalf("%d entries: %q", len(whole.Entries), whole.Entries)
	}
	if !slices.IsSortedFunc(whole.Entries, func(a, b Entry) int { return compareNames(a.Path, b.Path) }) {
		t.Errorf("not in order: %q", whole.Entries)
	}
	for limit := 1; limit < 400; limit += 13 {
		var all []Entry
		for after, more := Name(""), true; more; {
			w := &walk{root: root, after: after, own: own, limit: limit}
			page, err := w.list(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page.Entries...)
			if more = page.More; more {
				after = page.Entries[len(page.Entries)-1].Path
			}
		}
		if !slices.Equal(all, whole.Entries) {
			t.Fatalf("pages of %d bytes give %q, want %q", limit, all, whole.Entries)
		}
	}
}

func TestOwnFilesAreLeftOut(t *testing.T) {
	root := tree(t, "x.db", "x.db-wal", "x.db-shm", "x.db.01ABC.lock", "x.db.a.ledger.jsonl", "x.db.b.report.json", "x.db.b.report.json.new",
		"x.db.notes", "x.database", "sub/x.db", "y")
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	own, err := filesOf(filepath.Join(root, "x.db"), "a")
	if err != nil {
		t.Fatal(err)
	}
	page, err := list(t.Context(), root, "", own)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(regularOf(page.Entries)); got != "[sub/x.db x.database x.db.notes y]" {
		t.Errorf("listed: %s", got)
	}
}

func TestInspect(t *testing.T) {
	root := tree(t, "empty.go", "one", "lines.md", "half", "binary.bin", "gone")
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("empty.go", "")
	write("one", "a\n")
	write("lines.md", strings.Repeat("x\n", 100_000))
	write("half", "a\nb")
	write("binary.bin", "a\n\x00b\n")
	_ = os.Remove(filepath.Join(root, "gone"))
	for name, want := range map[Name]File{
		"empty.go":   {Language: "Go"},
		"one":        {Bytes: 2, Lines: 1, Language: "none"},
		"lines.md":   {Bytes: 200_000, Lines: 100_000, Language: "Markdown"},
		"half":       {Bytes: 3, Lines: 2, Language: "none"},
		"binary.bin": {Bytes: 5, Language: "other"},
		"gone":       {Language: "none", Error: "no such file or directory"},
	} {
		got, err := inspect(t.Context(), root, name)
		if err != nil {
			t.Fatal(err)
		}
		if (got.SHA256 == "") != (want.Error != "") {
			t.Errorf("%s: sum %q", name, got.SHA256)
		}
		if got.SHA256 = ""; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A line that a kill cut in two is counted as such, and the next one is whole. No line
// is blank.
func TestLedgerAfterACut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	first, err := openLedger(path, "one")
	if err != nil {
		t.Fatal(err)
	}
	put := func(l *ledger, what, op string) {
		if err := l.append(note{What: what, Op: op}); err != nil {
			t.Fatal(err)
		}
	}
	put(first, "life", "")
	put(first, "called", "list#1")
	put(first, "called", "take#1/file#1")
	if _, err := first.f.WriteString("{\"what\":\"cal"); err != nil {
		t.Fatal(err)
	}
	tl := newTally(path)
	if err := tl.read(nil); err != nil {
		t.Fatal(err)
	}
	if tl.effects != 2 || tl.torn != 0 || tl.inFlight != 2 || tl.kills() != 1 {
		t.Errorf("%+v", tl)
	}
	second, err := openLedger(path, "two")
	if err != nil {
		t.Fatal(err)
	}
	put(second, "life", "")
	put(second, "called", "list#1")
	put(second, "done", "list#1")
	put(second, "finished", "")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cut int
	for line := range bytes.Lines(raw) {
		if len(line) == 1 {
			t.Errorf("a blank line in %q", raw)
		}
		if !json.Valid(line) {
			cut++
		}
	}
	if cut != 1 {
		t.Errorf("%d lines are cut in %q", cut, raw)
	}
	var heard []string
	if err := tl.read(func(op string) { heard = append(heard, op) }); err != nil {
		t.Fatal(err)
	}
	if tl.effects != 3 || tl.repeated() != 1 || tl.torn != 1 || tl.kills() != 1 || !tl.done["list#1"] || !slices.Equal(heard, []string{"list#1"}) {
		t.Errorf("%+v, heard %v", tl, heard)
	}
}

// What is durable and called again is lost; that the demo would see it is what its
// figures rest on.
func TestACallOfADurableResultIsLost(t *testing.T) {
	d := newDurables(nil, "x")
	d.called("take#1/file#1")
	d.settled["take#1/file#1"] = true
	if len(d.again) != 0 {
		t.Error("a call before it was durable")
	}
	d.called("take#1/file#1")
	if len(d.again) != 1 {
		t.Error("not seen")
	}
	d.results["list#1"] = []byte(`{"entries":[{"path":"a"},{"path":"b"},{"path":"p","kind":"fifo"}]}`)
	d.args["take#1/file#1"], d.results["take#1/file#1"] = []byte(`"a"`), []byte(`{"bytes":1,"lines":1,"language":"Go"}`)
	if _, files, missing, err := d.audit(); err != nil || missing != 1 || files["a"].Bytes != 1 {
		t.Errorf("%v missing, %v, %v", missing, files, err)
	}
}

func TestBrokenPromisesAreListed(t *testing.T) {
	c := &conductor{tally: newTally(""), log: newDurables(nil, "x")}
	c.log.settled["list#1"] = true
	f := Figures{Repeated: 17, Kills: 1, Lost: 1, InFlight: 17, Report: "/nowhere/at/all"}
	f.judge(c)
	if len(f.Broken) != 6 {
		t.Errorf("%q", f.Broken)
	}
	c.tally.calls["list#1"] = 1
	f = Figures{Repeated: 16, Kills: 1, InFlight: 16, DuplicateRefused: true, Report: t.TempDir()}
	if f.judge(c); len(f.Broken) != 0 {
		t.Errorf("%q", f.Broken)
	}
}
