package flowcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A summary is what the callers of a declared function have to know of it. Numbers are
// those of its parameters.
type summary struct {
	Calls   []int // functions that it calls as part of the flow
	Effects []int // functions that become effects
	Names   []int // texts that become names of steps
	Verbs   bool  // it reaches a verb
}

// add adds i to a sorted list and reports whether it is new.
func add(list *[]int, i int) bool {
	at, found := slices.BinarySearch(*list, i)
	if !found {
		*list = slices.Insert(*list, at, i)
	}
	return !found
}

// A Fact is what one package tells the others of a function.
type Fact struct {
	Module  string
	Calls   []int
	Effects []int
	Names   []int
	Verbs   bool
	Deeds   []FactDeed
}

// A FactDeed is what a call of the function comes to, one for each code.
type FactDeed struct {
	Code    Code
	Thing   string // what does it: time.Now
	At      string // where, file:line
	Instead string
}

// AFact makes Fact one of go/analysis.
func (*Fact) AFact() {}

// String is what tests compare a fact by.
func (f *Fact) String() string {
	var s []string
	for _, d := range f.Deeds {
		s = append(s, string(d.Code)+" by "+d.Thing)
	}
	if f.Verbs {
		s = append(s, "verbs")
	}
	return "does: " + strings.Join(s, ", ")
}

// module is the path of the module that a package is part of, "" if it is not known.
func (g *graph) module() string {
	if g.pass.Module == nil {
		return ""
	}
	return g.pass.Module.Path
}

// fact returns what another package of this module tells of fn, nil if it tells nothing.
func (g *graph) fact(fn *types.Func) *Fact {
	if fn == nil || fn.Pkg() == nil || fn.Pkg() == g.pass.Pkg {
		return nil
	}
	f := &Fact{}
	if !g.pass.ImportObjectFact(fn, f) || f.Module != g.module() {
		return nil
	}
	return f
}

// summaryOf returns what is known of fn.
func (g *graph) summaryOf(fn *types.Func) summary {
	if n := g.decls[fn]; n != nil {
		return n.sum
	}
	if f := g.fact(fn); f != nil {
		return summary{f.Calls, f.Effects, f.Names, f.Verbs}
	}
	return summary{}
}

// takes returns the number of the parameter that argument i of a call of fn goes to.
func takes(fn *types.Func, i int) int {
	sig := fn.Signature()
	if n := sig.Params().Len(); sig.Variadic() && i >= n {
		return n - 1
	}
	return i
}

// live reports whether control passes over the link as part of the flow.
func (g *graph) live(l link) bool {
	if l.through == nil {
		return true
	}
	if isLoom(l.through) || l.through.Pkg() == nil {
		return false
	}
	if callers[l.through.Pkg().Path()] {
		return true
	}
	return slices.Contains(g.summaryOf(l.through).Calls, takes(l.through, l.arg))
}

// effect reports whether the link makes its target an effect.
func (g *graph) effect(l link) bool {
	if l.through == nil {
		return false
	}
	if isLoom(l.through) {
		p := paramAt(l.through.Signature(), l.arg)
		return p != nil && (isEffect(p.Type()) || isEffect(elem(p.Type())))
	}
	return slices.Contains(g.summaryOf(l.through).Effects, takes(l.through, l.arg))
}

// elem returns the element type of a slice, as a variadic parameter has.
func elem(t types.Type) types.Type {
	if s, ok := t.(*types.Slice); ok {
		return s.Elem()
	}
	return nil
}

// A step of a reach: a node, and the link that led to it from the step before.
type step struct {
	node *node
	by   *step
	at   link
}

// reach returns what runs as part of the flow once start runs, start first, each node
// once, near ones before far ones.
func (g *graph) reach(start ...*node) []*step {
	var steps []*step
	seen := map[*node]bool{}
	for _, n := range start {
		if !seen[n] {
			seen[n] = true
			steps = append(steps, &step{node: n})
		}
	}
	for i := 0; i < len(steps); i++ {
		for _, l := range steps[i].node.links {
			if to := l.target.node; to != nil && !to.test && !seen[to] && g.live(l) {
				seen[to] = true
				steps = append(steps, &step{node: to, by: steps[i], at: l})
			}
		}
	}
	return steps
}

// summarise computes the summaries of all declared functions, until nothing changes:
// they depend on each other.
func (g *graph) summarise() {
	for changed := true; changed; {
		changed = false
		for _, n := range g.nodes {
			if n.fn != nil && g.summariseOne(n) {
				changed = true
			}
		}
	}
}

func (g *graph) summariseOne(n *node) (changed bool) {
	for _, s := range g.reach(n) {
		for _, l := range s.node.links {
			p, isParam := g.param[l.target.param]
			if isParam && p.owner == n {
				if g.live(l) && add(&n.sum.Calls, p.index) {
					changed = true
				}
			}
			if !n.sum.Verbs && g.live(l) && g.verb(l) {
				n.sum.Verbs, changed = true, true
			}
		}
	}
	for _, in := range g.nodes {
		if in.root() != n {
			continue
		}
		for _, l := range in.links {
			if p, ok := g.param[l.target.param]; ok && p.owner == n && g.effectively(l, in) && add(&n.sum.Effects, p.index) {
				changed = true
			}
		}
		if g.nameParams(in, n) {
			changed = true
		}
	}
	return changed
}

// effectively reports whether a link of the node in makes its target an effect, or calls
// it inside of one.
func (g *graph) effectively(l link, in *node) bool {
	return g.effect(l) || g.live(l) && g.insideEffect(in)
}

// insideEffect reports whether the node is an effect or stands in one.
func (g *graph) insideEffect(n *node) bool {
	for ; n != nil; n = n.outer {
		if n.lit == nil || n.outer == nil {
			return false
		}
		for _, l := range n.outer.links {
			if l.target.node == n && g.effect(l) {
				return true
			}
		}
	}
	return false
}

// verb reports whether a link leads to a verb at once or through a function that is
// known to reach one.
func (g *graph) verb(l link) bool {
	if to := l.target.node; to != nil {
		return to.fn != nil && to.sum.Verbs
	}
	fn := l.target.fn
	if fn == nil {
		return false
	}
	if ordered(fn) {
		return true
	}
	if isLoom(fn) {
		return false
	}
	if f := g.fact(fn); f != nil {
		return f.Verbs
	}
	return takesFlowContext(fn.Signature()) // what else would it want it for
}

// verbWithin reports whether a call in the body of a loop of the node reaches a verb
// whose place among the others matters.
func (g *graph) verbWithin(n *node, loop *ast.BlockStmt) bool {
	early := leavesEarly(loop)
	for _, l := range n.links {
		if l.pos < loop.Pos() || l.pos >= loop.End() || !g.live(l) {
			continue
		}
		if l.target.fn != nil && waits(l.target.fn) && !early {
			continue
		}
		if g.verb(l) {
			return true
		}
		if l.target.node != nil {
			for _, s := range g.reach(l.target.node) {
				for _, inner := range s.node.links {
					if g.live(inner) && g.verb(inner) {
						return true
					}
				}
			}
		}
	}
	return false
}

// leavesEarly reports whether the body of a loop may end the loop.
func leavesEarly(loop *ast.BlockStmt) (early bool) {
	ast.Inspect(loop, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			early = true
		case *ast.BranchStmt:
			early = early || x.Tok == token.BREAK || x.Tok == token.GOTO
		}
		return !early
	})
	return early
}

// sitesOf returns a node's own sites and those that its calls out of the package come
// to, once the summaries are there.
func (g *graph) sitesOf(n *node) []site {
	if n.all != nil {
		return n.all
	}
	n.all = append([]site{}, n.sites...)
	for _, l := range n.links {
		fn := l.target.fn
		if fn == nil || !g.live(l) {
			continue
		}
		if d, ok := deedOf(fn); ok {
			if !outputs(l) {
				n.all = append(n.all, site{pos: l.pos, code: d.code, what: display(fn) + " " + d.code.does(),
					instead: d.advice(), thing: display(fn), flowOnly: d.flowOnly})
			}
		} else if f := g.fact(fn); f != nil {
			for _, d := range f.Deeds {
				n.all = append(n.all, site{pos: l.pos, code: d.Code, what: display(fn) + " gets to " + d.Thing + " (" + d.At + "), which " + d.Code.does(),
					instead: d.Instead, thing: d.Thing, at: d.At})
			}
		}
	}
	return n.all
}

// outputs reports whether a call is a method of os.Stdout or os.Stderr.
func outputs(l link) bool {
	sel, ok := ast.Unparen(l.call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := ast.Unparen(sel.X).(*ast.SelectorExpr)
	return ok && (of.Sel.Name == "Stdout" || of.Sel.Name == "Stderr")
}

// at returns a position as base name and line.
func (g *graph) at(pos token.Pos) string {
	p := g.pass.Fset.Position(pos)
	return filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
}
