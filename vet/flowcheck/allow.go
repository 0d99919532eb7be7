package flowcheck

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const allowPrefix = "//loom:allow"

// An allowance is one loom:allow comment.
type allowance struct {
	pos    token.Pos
	file   string
	line   int // of the code that it is about
	reason string
	used   bool
}

// allowances returns the comments of the package's files, those of test files only if
// they are looked at.
func (g *graph) allowances() (all []*allowance) {
	for _, f := range g.pass.Files {
		if g.skipped(f.Pos()) {
			continue
		}
		code := g.codeLines(f)
		var own []*allowance // on lines of their own
		for _, group := range f.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, allowPrefix)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				p := g.pass.Fset.Position(c.Pos())
				a := &allowance{pos: c.Pos(), file: p.Filename, line: p.Line, reason: reasonOf(rest)}
				all = append(all, a)
				if !code[p.Line] {
					own = append(own, a)
				}
			}
		}
		// One on a line of its own is about the line below, and below others of its kind.
		for i := len(own) - 1; i >= 0; i-- {
			line := own[i].line
			own[i].line++
			if i+1 < len(own) && own[i+1].line == line+2 {
				own[i].line = own[i+1].line
			}
		}
	}
	return all
}

// reasonOf returns the reason in the rest of a comment: what a comment in the comment
// says is none.
func reasonOf(rest string) string {
	reason, _, _ := strings.Cut(rest, "//")
	return strings.TrimSpace(reason)
}

// codeLines returns the lines of a file on which code begins or ends.
func (g *graph) codeLines(f *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f, func(x ast.Node) bool {
		switch x.(type) {
		case nil:
			return false
		case *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.File:
			return true
		}
		lines[g.pass.Fset.Position(x.Pos()).Line] = true
		lines[g.pass.Fset.Position(x.End()).Line] = true
		return true
	})
	return lines
}

// A finding is a site as it will be reported.
type finding struct {
	pos     token.Pos
	code    Code
	message string
	flow    bool // it is in flow code; else it is only noted for other packages
}

// silence takes out the findings that are allowed, and adds one for each comment that is
// wrong. What is left is in the order of the source.
func (g *graph) silence(found []finding) []finding {
	slices.SortStableFunc(found, g.bySource)
	all := g.allowances()
	left := slices.DeleteFunc(found, func(f finding) bool {
		p := g.pass.Fset.Position(f.pos)
		for _, a := range all {
			if !a.used && a.file == p.Filename && a.line == p.Line && a.reason != "" {
				a.used = true
				return true
			}
		}
		return false
	})
	for _, a := range all {
		switch {
		case a.reason == "":
			left = append(left, finding{a.pos, Allow, message("loom:allow without a reason silences nothing", "say why it is right here", Allow), true})
		case !a.used:
			left = append(left, finding{a.pos, Allow, message("this loom:allow silences nothing", "take it out", Allow), true})
		}
	}
	slices.SortStableFunc(left, g.bySource)
	return left
}

// bySource orders findings by file, line and column. Positions alone do not: files get
// theirs in the order in which they happen to be read.
func (g *graph) bySource(a, b finding) int {
	p, q := g.pass.Fset.Position(a.pos), g.pass.Fset.Position(b.pos)
	return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Offset, q.Offset),
		cmp.Compare(a.code, b.code), cmp.Compare(a.message, b.message))
}
