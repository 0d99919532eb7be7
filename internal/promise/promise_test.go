package promise

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMentioned(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"claim B-14", "B-14"},
		{"Claims B-14, B-15 and A-03.", "B-14 B-15 A-03"},
		{"claim H-01, and H-02", "H-01 H-02"},
		{"claim b-14", "B-14"},
		{"case 33, 33a: rows", "case 33 case 33a"},
		{"races 1, 2\nand 14", "race 1 race 2 race 14"},
		{"oracle O5, O12", "O5 O12"},
		{"claim B-1, a trace 14, B-14 by itself, in case of 3", ""},
		{"showcase 3 of them", ""},
	} {
		if got := strings.Join(mentioned(tt.text), " "); got != tt.want {
			t.Errorf("%q names %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestScanLooksWhereTestsAre(t *testing.T) {
	files := fstest.MapFS{
		"a_test.go": {Data: []byte(`package loom
// claim B-14,
// B-15
func TestA(t *testing.T) {
	t.Run("case 33: poison", nil)
	switch x { case 7: }
}

// claim A-01

var table = 1
func TestRace14Mail() {}
func TestB() { /* claim B-14 */ }
`)},
		"a.go":                           {Data: []byte("package loom\n// claim B-16\n")},
		"store/storetest/kit.go":         {Data: []byte("package storetest\nvar x = 1 // claim B-17\n")},
		"cmd/loom/testdata/script/x.txt": {Data: []byte("# case 26\n")},
		"docs/x.txt":                     {Data: []byte("# case 27\n")},
		"internal/tally/a_test.go":       {Data: []byte("package main\n// claim B-18\n")},
	}
	n, err := Scan(files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"A-01": "loom.table", "B-14": "loom.TestA loom.TestB", "B-15": "loom.TestA", "B-17": "store/storetest.x",
		"case 26": "cmd/loom/testdata/script/x.txt", "case 33": "loom.TestA", "race 14": "loom.TestRace14Mail",
	}
	if len(n) != len(want) {
		t.Errorf("Scan found %v", n)
	}
	for id, places := range want {
		if got := strings.Join(n[id], " "); got != places {
			t.Errorf("%s is named by %q, want %q", id, got, places)
		}
	}
	if got := n.Count(Claims); got != 4 {
		t.Errorf("%d claims are named, want 4", got)
	}
}

func TestScanReportsWhatItCannotParse(t *testing.T) {
	if _, err := Scan(fstest.MapFS{"a_test.go": {Data: []byte("pack")}}); err == nil {
		t.Error("no error")
	}
}

const page = `# Promises

Shown today: nothing.

| id | promise | part | shown by |
| --- | --- | --- | --- |
| B-01 | one | kernel | open |
| B-02 | two | kernel | ` + "`gone.TestX`" + ` |
| race 3 | three | store | ` + "`x.TestY`" + ` |
`

func TestPageAndTestsMustAgree(t *testing.T) {
	p, err := ParsePage("p.md", page)
	if err != nil {
		t.Fatal(err)
	}
	named := Named{"B-01": {"a.T", "b.T", "c.T"}, "race 3": {"x.TestY"}, "case 9": {"z.T"}}
	got := Problems([]*Page{p}, named)
	want := []string{"B-01 is called open", "B-02 is called shown", "case 9, which no page lists"}
	if len(got) != len(want) || !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("problems %q, want %q", got, want)
	}

	p.Update(named)
	for _, line := range []string{
		"Shown today: claims 1 of 2, races 1 of 1.",
		"| B-01 | one | kernel | `a.T`, `b.T` and 1 more |",
		"| B-02 | two | kernel | open |",
		"| race 3 | three | store | `x.TestY` |",
	} {
		if !strings.Contains(p.String(), line+"\n") {
			t.Errorf("the page lacks %q:\n%s", line, p)
		}
	}
	delete(named, "case 9")
	if got := Problems([]*Page{p}, named); got != nil {
		t.Errorf("after Update: %q", got)
	}
	if again, err := ParsePage("p.md", p.String()); err != nil || len(again.Rows()) != 3 || Total([]*Page{again}, Claims) != 2 {
		t.Errorf("the page does not read back: %v", err)
	}
}

func TestParsePageRefusesBrokenRows(t *testing.T) {
	for _, row := range []string{"| B-1 | x | y | open |", "| B-01 | x | open |", "| B-01 |  | y | open |", "| race 3b | x | y | open |"} {
		if _, err := ParsePage("p.md", row); err == nil {
			t.Errorf("%q is accepted", row)
		}
	}
	doubled, err := ParsePage("p.md", "| B-01 | x | y | open |\n| B-01 | x | y | open |")
	if err != nil || len(Problems([]*Page{doubled}, nil)) != 1 {
		t.Errorf("a promise may stand twice: %v", err)
	}
}
