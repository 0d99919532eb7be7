package floors

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// claim B-60
func TestNothingSuggestsATokenBeforeAStart(t *testing.T) { clean(t, tokensFirst(here(t))) }

// What taking a token before a start sounds like. A start makes the execution with token
// 0, in its one commit; a token that was taken for an id beforehand would be one that
// shuts the start out.
var tokenFirst = func() []*regexp.Regexp {
	const (
		taking = `\b(?:take|takes|taking|took|acquire|acquires|acquiring|acquired|obtain|obtains|obtaining|allocate|allocates|allocating|get|gets|getting|fetch|fetches|reserve|reserves|hold|holds|holding|grab|grabs|claim|claims|claiming)\b`
		token  = `\b(?:token|tokens|fence|fences|fencing token|lease|lock)\b`
		start  = `\b(?:start|starts|starting|started|bootstrap|bootstraps|first event|first commit|sequence 0|dispatch|dispatches)\b`
		gap    = `.{0,48}?`
	)
	var all []*regexp.Regexp
	for _, text := range []string{
		taking + ` (?:a|an|the|its|your|one|new|fresh)? ?(?:\w+ )?` + token + gap + `\b(?:before|ahead of|prior to|and then|then|first, )` + gap + start,
		`\b(?:before|ahead of|prior to)\b` + gap + start + gap + taking + gap + token,
		token + gap + `\b(?:is|are|must be|should be|has to be|be) (?:taken|acquired|obtained|allocated|held|reserved)` + gap + `\b(?:before|ahead of|prior to)` + gap + start,
		start + gap + `\b(?:under|with|needs|requires|behind)` + ` (?:a|an|the|its|your) (?:newly |freshly |own )?(?:acquired |taken |allocated |held |new |fresh )` + token,
		`\b(?:fence|fences|fencing|fence off) (?:a|the|an|each|every|its|your) ` + start,
		`\bfenced (?:start|bootstrap)`,
	} {
		all = append(all, regexp.MustCompile(`(?i)`+text))
	}
	return all
}()

// denial makes a sentence say the opposite.
var denial = regexp.MustCompile(`(?i)\b(?:no|not|never|nothing|nobody|neither|nor|none|without|cannot)\b|n't\b`)

// tokensFirst looks at each sentence of the comments, outside of tests, and of the pages.
func tokensFirst(c *checkout) (problems []string) {
	look := func(where, text string) {
		for sentence := range strings.SplitSeq(strings.Join(strings.Fields(text), " "), ". ") {
			if denial.MatchString(sentence) {
				continue
			}
			for _, r := range tokenFirst {
				if what := r.FindString(sentence); what != "" {
					problems = append(problems, fmt.Sprintf("%s: %q suggests a token before a start, which takes none", where, what))
					break
				}
			}
		}
	}
	for _, p := range c.packages {
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, group := range f.ast.Comments {
				look(c.at(group.Pos()), group.Text())
			}
		}
	}
	err := fs.WalkDir(c.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(c.fsys, name)
		if err != nil {
			return err
		}
		rejected := false // what a decision turned down is told as what it was
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			if strings.HasPrefix(paragraph, "#") {
				rejected = strings.HasPrefix(paragraph, "## Rejected")
			}
			if rejected {
				continue
			}
			if strings.HasPrefix(paragraph, "|") { // a table: each row by itself
				for row := range strings.Lines(paragraph) {
					look(name, row)
				}
				continue
			}
			look(name, paragraph)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

func TestTokensFirstCanFail(t *testing.T) {
	found(t, tokensFirst(madeUp(t,
		"a.go", `package loom

// A takes a fence before it starts the execution.
type A int

// B is good. Before the first event is written a node has to
// acquire the token of the id.
type B int

// C takes no token before it starts. It never fences a start.
type C int

// D starts, is claimed, and its token moves.
type D int
`,
		"a_test.go", "package loom\n\n// takes a token before the start\n",
		"docs/x.md", "A token must be acquired by the\ndispatcher before the start.\n\nA start under a newly acquired fence wins. Fence every start.\n\n| a | takes a token, then starts |\n| b | fenced start |\n",
		"docs/y.md", "## Rejected alternatives\n\nFence every start.\n\n## Consequences\n\nFence each start.\n",
	)),
		`a.go:3: "takes a fence before it starts"`,
		`a.go:6: "Before the first event`,
		`x.md: "token must be acquired by the dispatcher before the start`,
		`x.md: "start under a newly acquired fence"`,
		`x.md: "Fence every start"`,
		`x.md: "takes a token, then starts"`,
		`x.md: "fenced start"`,
		`y.md: "Fence each start"`,
	)
}
