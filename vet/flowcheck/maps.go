package flowcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// checkMaps reports where the order of a map decides the order of verbs: a range over
// one whose body reaches a verb, and a list that is made from one, never sorted, and
// then walked to reach verbs.
func (g *graph) checkMaps(n *node) (found []site) {
	if n.body == nil {
		return nil
	}
	const instead = "sort the keys first, as in slices.Sorted(maps.Keys(m))"
	ast.Inspect(n.body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.RangeStmt:
			if !g.unsorted(x.X) {
				return true
			}
			if g.verbWithin(n, x.Body) {
				found = append(found, site{pos: x.Pos(), code: MapOrder, what: "the order of a map decides in which order this loop calls verbs", instead: instead})
				return true
			}
			for _, list := range g.appended(x) {
				if use := g.walked(n, list, x.End()); use.IsValid() {
					found = append(found, site{pos: x.Pos(), code: MapOrder,
						what: "the order of a map becomes the order of " + list.Name() + ", which decides the order of verbs at " + g.at(use), instead: instead})
				}
			}
		case *ast.AssignStmt:
			for i, rhs := range x.Rhs {
				if len(x.Lhs) != len(x.Rhs) || !g.collects(rhs) {
					continue
				}
				id, ok := x.Lhs[i].(*ast.Ident)
				if !ok {
					continue
				}
				list, ok := g.pass.TypesInfo.ObjectOf(id).(*types.Var)
				if !ok {
					continue
				}
				if use := g.walked(n, list, x.End()); use.IsValid() {
					found = append(found, site{pos: x.Pos(), code: MapOrder,
						what: "the order of a map becomes the order of " + list.Name() + ", which decides the order of verbs at " + g.at(use), instead: instead})
				}
			}
		}
		return true
	})
	return found
}

// unsorted reports whether a range over e walks a map in its own order.
func (g *graph) unsorted(e ast.Expr) bool {
	t := g.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return false
	}
	if _, ok := t.Underlying().(*types.Map); ok {
		return true
	}
	return g.isCall(e, "maps", "Keys", "Values", "All") || g.collects(e)
}

// collects reports whether e is a list made from a map's iterator.
func (g *graph) collects(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && g.isCall(e, "slices", "Collect") && len(call.Args) == 1 && g.isCall(call.Args[0], "maps", "Keys", "Values")
}

func (g *graph) isCall(e ast.Expr, pkg string, names ...string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := g.callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == pkg && slices.Contains(names, fn.Name())
}

// appended returns the local variables outside of a loop that its body appends to.
func (g *graph) appended(loop *ast.RangeStmt) (lists []*types.Var) {
	ast.Inspect(loop.Body, func(x ast.Node) bool {
		if _, ok := x.(*ast.FuncLit); ok {
			return false
		}
		a, ok := x.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
			return true
		}
		call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
		if !ok {
			return true
		}
		fn, ok := ast.Unparen(call.Fun).(*ast.Ident)
		if !ok {
			return true
		}
		if b, ok := g.pass.TypesInfo.Uses[fn].(*types.Builtin); !ok || b.Name() != "append" {
			return true
		}
		id, ok := a.Lhs[0].(*ast.Ident)
		if !ok {
			return true
		}
		if v, ok := g.pass.TypesInfo.ObjectOf(id).(*types.Var); ok && !slices.Contains(lists, v) &&
			(v.Pos() < loop.Pos() || v.Pos() >= loop.End()) {
			lists = append(lists, v)
		}
		return true
	})
	return lists
}

// walked returns where, after a position, a loop over the list or an argument of a verb
// makes its order matter; no position if there is none or if something sorts the list.
func (g *graph) walked(n *node, list *types.Var, after token.Pos) (use token.Pos) {
	sorted := false
	ast.Inspect(n.body, func(x ast.Node) bool {
		if x == nil || x.End() <= after {
			return false
		}
		if x.Pos() < after {
			return true
		}
		switch x := x.(type) {
		case *ast.CallExpr:
			switch {
			case !g.mentions(x, list):
			case g.sorts(x):
				sorted = true
			case !use.IsValid() && g.verbOf(x) && g.given(x, list):
				use = x.Pos()
			}
		case *ast.RangeStmt:
			if !use.IsValid() && g.mentions(x, list) && g.verbWithin(n, x.Body) {
				use = x.Pos()
			}
		case *ast.ForStmt:
			if !use.IsValid() && g.mentions(x, list) && g.verbWithin(n, x.Body) {
				use = x.Pos()
			}
		}
		return true
	})
	if sorted {
		return token.NoPos
	}
	return use
}

// sorts reports whether a call is to something that sorts, by its name.
func (g *graph) sorts(call *ast.CallExpr) bool {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return strings.Contains(strings.ToLower(fun.Name), "sort")
	case *ast.SelectorExpr:
		if strings.Contains(strings.ToLower(fun.Sel.Name), "sort") {
			return true
		}
		id, ok := fun.X.(*ast.Ident)
		return ok && id.Name == "sort" // sort.Strings, sort.Ints
	}
	return false
}

// verbOf reports whether a call is to a verb or to what is known to reach one.
func (g *graph) verbOf(call *ast.CallExpr) bool {
	fn := g.callee(call)
	if fn == nil {
		return false
	}
	return ordered(fn) || g.summaryOf(fn).Verbs
}

// given reports whether the list is part of the arguments of a call; what a function
// literal does with it is its own affair.
func (g *graph) given(call *ast.CallExpr, list *types.Var) bool {
	for _, arg := range call.Args {
		if _, ok := ast.Unparen(arg).(*ast.FuncLit); !ok && g.mentions(arg, list) {
			return true
		}
	}
	return false
}

// mentions reports whether the list stands in x, other than to ask for its length.
func (g *graph) mentions(x ast.Node, list *types.Var) (found bool) {
	ast.Inspect(x, func(y ast.Node) bool {
		switch y := y.(type) {
		case *ast.CallExpr:
			if id, ok := y.Fun.(*ast.Ident); ok {
				if b, ok := g.pass.TypesInfo.Uses[id].(*types.Builtin); ok && (b.Name() == "len" || b.Name() == "cap") {
					return false
				}
			}
		case *ast.Ident:
			if g.pass.TypesInfo.Uses[y] == list {
				found = true
			}
		}
		return !found
	})
	return found
}
