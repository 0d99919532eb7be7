package flowcheck

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports what makes the flows of a package nondeterministic. It exports a
// [Fact] for each function that other packages have to know something of. Diagnostics
// come in the order of the source and have their [Code] as category.
//
// It has one flag, testfiles: look at flows in test files, too.
var Analyzer = newAnalyzer()

func newAnalyzer() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name: "flowcheck",
		Doc: "find what makes a flow of Loom nondeterministic\n\n" +
			"Code that runs as part of a flow must ask for the same verbs in the same order whenever it is called again. " +
			"flowcheck reports clocks, randomness, I/O, goroutines, channels, map order and the like in it, outside of effects. " +
			"A comment //loom:allow REASON silences one finding of its line, or of the line below.",
		URL:       "https://pkg.go.dev/github.com/loomwork/loom/vet/flowcheck",
		FactTypes: []analysis.Fact{(*Fact)(nil)},
	}
	var conf config
	a.Flags.BoolVar(&conf.tests, "testfiles", false, "look at flows in test files, too")
	a.Run = func(pass *analysis.Pass) (any, error) {
		if theirs(pass) {
			return nil, nil
		}
		g := newGraph(pass, conf)
		for _, n := range g.nodes {
			g.scan(n)
		}
		g.summarise()
		left := g.silence(g.findings())
		g.export(left)
		for _, f := range left {
			if f.flow {
				pass.Report(analysis.Diagnostic{Pos: f.pos, Category: string(f.code), Message: f.message})
			}
		}
		return nil, nil
	}
	return a
}

// theirs reports whether a package is not the user's: the standard library's, one of a
// module that is depended on, or package loom, which knows what it does.
func theirs(pass *analysis.Pass) bool {
	path := pass.Pkg.Path()
	if path == loomPath || path == loomPath+"_test" {
		return true
	}
	if m := pass.Module; m != nil && m.Path != "" {
		return m.Version != "" || m.Path == "std" || m.Path == "cmd"
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != "main" && path != "command-line-arguments"
}

// skipped reports whether a position is in a test file that is left alone.
func (g *graph) skipped(pos token.Pos) bool {
	return !g.conf.tests && strings.HasSuffix(g.pass.Fset.Position(pos).Filename, "_test.go")
}

// message puts a finding into words.
func message(what, instead string, code Code) string {
	return what + ": " + instead + " (loom:" + string(code) + ")"
}

// findings returns everything that could be reported: what flow code does, and what
// functions do that flow code of another package may call.
func (g *graph) findings() (found []finding) {
	type key struct {
		pos  token.Pos
		code Code
		what string
	}
	seen := map[key]bool{}
	put := func(s site, flow bool, from string) {
		if k := (key{s.pos, s.code, s.what}); !seen[k] {
			seen[k] = true
			found = append(found, finding{s.pos, s.code, message(s.what+from, s.instead, s.code), flow})
		}
	}
	var flows, others []*node
	for _, n := range g.nodes {
		switch {
		case n.test:
		case n.isFlow():
			flows = append(flows, n)
		case n.fn != nil:
			others = append(others, n)
		}
	}
	for _, s := range g.reach(flows...) {
		from := ""
		if !s.node.inFlow() {
			from = ", and flow code calls " + s.node.name() + " at " + g.at(s.at.pos)
		}
		for _, x := range g.sitesOf(s.node) {
			if !x.flowOnly || s.node.inFlow() {
				put(x, true, from)
			}
		}
		for _, x := range g.checkMaps(s.node) {
			put(x, true, "")
		}
	}
	for _, n := range g.nodes {
		if n.test {
			continue
		}
		for _, x := range g.checkNames(n) {
			put(x, true, "")
		}
		for _, l := range n.links {
			lit := l.target.node
			if lit == nil || lit.lit == nil {
				continue
			}
			switch {
			case g.effect(l):
				for _, x := range g.checkEffect(lit) {
					put(x, true, "")
				}
			case l.through != nil && isLoom(l.through) && lit.isFlow():
				for _, x := range g.checkBranch(lit) {
					put(x, true, "")
				}
			}
		}
	}
	for _, s := range g.reach(others...) {
		for _, x := range g.sitesOf(s.node) {
			if !x.flowOnly {
				put(x, false, "")
			}
		}
	}
	return dedupe(found)
}

// dedupe drops a finding about a branch's context where an effect's stands: the effect
// is inside.
func dedupe(found []finding) []finding {
	effects := map[token.Pos]bool{}
	for _, f := range found {
		if f.code == EffectCtx {
			effects[f.pos] = true
		}
	}
	return slices.DeleteFunc(found, func(f finding) bool { return f.code == BranchCtx && effects[f.pos] })
}

// export tells other packages of this one's functions. What is allowed here is nobody's
// concern there.
func (g *graph) export(left []finding) {
	type at struct {
		pos  token.Pos
		code Code
	}
	standing := map[at]bool{}
	for _, f := range left {
		standing[at{f.pos, f.code}] = true
	}
	for _, n := range g.nodes {
		if n.fn == nil || n.test || !n.fn.Exported() {
			continue
		}
		f := &Fact{Module: g.module(), Calls: n.sum.Calls, Effects: n.sum.Effects, Names: n.sum.Names, Verbs: n.sum.Verbs}
		if !n.isFlow() { // else it is reported where it is
			for _, s := range g.reach(n) {
				if s.node.isFlow() {
					continue
				}
				for _, x := range g.sitesOf(s.node) {
					if x.flowOnly || !standing[at{x.pos, x.code}] || slices.ContainsFunc(f.Deeds, func(d FactDeed) bool { return d.Code == x.code }) {
						continue
					}
					where := x.at
					if where == "" {
						where = g.at(x.pos)
					}
					f.Deeds = append(f.Deeds, FactDeed{Code: x.code, Thing: x.thing, At: where, Instead: x.instead})
				}
			}
		}
		if len(f.Calls)+len(f.Effects)+len(f.Names)+len(f.Deeds) > 0 || f.Verbs {
			g.pass.ExportObjectFact(n.fn, f)
		}
	}
}
