package flowcheck

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// namings returns the arguments of a call that name a step or a branch: fn is the verb,
// or a function that hands the argument on to one.
func (g *graph) namings(call *ast.CallExpr) (fn *types.Func, args []int) {
	fn = g.callee(call)
	if fn == nil {
		return nil, nil
	}
	if i := nameOf(fn); i >= 0 {
		return fn, []int{i}
	}
	return fn, g.summaryOf(fn).Names
}

// eachCall calls do for the calls of a node, without those of the literals in it.
func eachCall(n *node, do func(*ast.CallExpr)) {
	if n.body == nil {
		return
	}
	ast.Inspect(n.body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			do(x)
		}
		return true
	})
}

// nameParams notes which parameters of the declared function around in become names in
// it, and reports whether there are new ones.
func (g *graph) nameParams(in, around *node) (changed bool) {
	eachCall(in, func(call *ast.CallExpr) {
		_, args := g.namings(call)
		for _, i := range args {
			if i >= len(call.Args) {
				continue
			}
			id, ok := ast.Unparen(call.Args[i]).(*ast.Ident)
			if !ok {
				continue
			}
			v, _ := g.pass.TypesInfo.Uses[id].(*types.Var)
			if p, ok := g.param[v]; ok && p.owner == around && !g.bodies[around] && add(&around.sum.Names, p.index) {
				changed = true
			}
		}
	})
	return changed
}

// checkNames reports names that are not constants, and call sites of one function that
// share a name.
func (g *graph) checkNames(n *node) (found []site) {
	type first struct {
		fn   *types.Func
		name string
	}
	sites := map[first][]token.Pos{}
	eachCall(n, func(call *ast.CallExpr) {
		fn, args := g.namings(call)
		for _, i := range args {
			if i >= len(call.Args) {
				continue
			}
			arg := call.Args[i]
			value := g.pass.TypesInfo.Types[arg].Value
			if value == nil || value.Kind() != constant.String {
				if !g.settled(n, arg) {
					found = append(found, site{pos: arg.Pos(), code: Name, what: "the name given to " + display(fn) + " is not a constant",
						instead: "equal names are numbered, so name the kind of step, and put what differs in loom.Args"})
				}
				continue
			}
			key := first{fn, constant.StringVal(value)}
			for _, pos := range sites[key] {
				if !apart(n.body, pos, arg.Pos()) {
					found = append(found, site{pos: arg.Pos(), code: SameName,
						what:    "the name " + constant.StringVal(value) + " is used for another call of " + display(fn) + " at " + g.at(pos),
						instead: "a name of its own keeps the log readable and the numbers in place"})
					break
				}
			}
			sites[key] = append(sites[key], arg.Pos())
		}
	})
	return found
}

// settled reports whether a name, though no constant, is or may be chosen by the
// program's text: a parameter, whose callers are looked at where they are known, a field
// of a receiver, a variable that only ever holds constants, or something out of a table
// that stands in the source.
func (g *graph) settled(n *node, arg ast.Expr) bool {
	switch x := ast.Unparen(arg).(type) {
	case *ast.Ident:
		v, ok := g.pass.TypesInfo.Uses[x].(*types.Var)
		if !ok {
			return false
		}
		if owner := ownerOf(n, v); owner != nil {
			return !g.bodies[owner] // the input of a flow is data
		}
		return ofPackage(v) || g.onlyConstants(outermost(n), v)
	case *ast.SelectorExpr:
		if v, ok := g.pass.TypesInfo.Uses[x.Sel].(*types.Var); ok && ofPackage(v) {
			return true
		}
		return g.settled(n, x.X)
	case *ast.IndexExpr:
		return g.settled(n, x.X)
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr: // string(kind)
		tv := g.pass.TypesInfo.Types[x.Fun]
		return tv.IsType() && len(x.Args) == 1 && (g.pass.TypesInfo.Types[x.Args[0]].Value != nil || g.settled(n, x.Args[0]))
	}
	return false
}

// ofPackage reports whether v is a variable of a package.
func ofPackage(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

// ownerOf returns the node, n or one around it, whose parameter or receiver v is; nil if
// there is none.
func ownerOf(n *node, v *types.Var) *node {
	for ; n != nil; n = n.outer {
		if v == n.sig.Recv() {
			return n
		}
		for p := range n.sig.Params().Variables() {
			if p == v {
				return n
			}
		}
	}
	return nil
}

func outermost(n *node) *node {
	for n.outer != nil {
		n = n.outer
	}
	return n
}

// onlyConstants reports whether every value that a local variable gets in the function
// is a constant, or comes from a literal list.
func (g *graph) onlyConstants(in *node, v *types.Var) bool {
	good, some := true, false
	info := g.pass.TypesInfo
	is := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && info.ObjectOf(id) == v
	}
	set := func(value ast.Expr) {
		some = true
		if value == nil || info.Types[value].Value == nil && !g.listed(in, value, v) {
			good = false
		}
	}
	ast.Inspect(in.body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.AssignStmt:
			for i, lhs := range x.Lhs {
				switch {
				case !is(lhs):
				case x.Tok != token.ASSIGN && x.Tok != token.DEFINE, len(x.Lhs) != len(x.Rhs):
					set(nil)
				default:
					set(x.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range x.Names {
				if is(name) && i < len(x.Values) {
					set(x.Values[i])
				}
			}
		case *ast.RangeStmt:
			if x.Key != nil && is(x.Key) || x.Value != nil && is(x.Value) {
				some = true
				good = good && g.listed(in, x.X, v)
			}
		case *ast.UnaryExpr:
			if x.Op == token.AND && is(x.X) {
				set(nil)
			}
		}
		return true
	})
	return good && some
}

// listed reports whether e is a list or a table that stands in the source.
func (g *graph) listed(in *node, e ast.Expr, not *types.Var) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		_, isMap := g.pass.TypesInfo.TypeOf(x).Underlying().(*types.Map)
		return !isMap
	case *ast.Ident:
		v, ok := g.pass.TypesInfo.Uses[x].(*types.Var)
		return ok && v != not && (ofPackage(v) || g.onlyConstants(in, v))
	case *ast.SelectorExpr:
		v, ok := g.pass.TypesInfo.Uses[x.Sel].(*types.Var)
		return ok && ofPackage(v)
	}
	return false
}

// apart reports whether at most one of two places in a body is passed: they stand in
// different arms of a branch, or what is around the first leaves before the second.
func apart(body *ast.BlockStmt, first, second token.Pos) bool {
	around := func(pos token.Pos) (path []ast.Node) {
		ast.Inspect(body, func(x ast.Node) bool {
			if x == nil || pos < x.Pos() || pos >= x.End() {
				return false
			}
			path = append(path, x)
			return true
		})
		return path
	}
	a, b := around(first), around(second)
	fork := 0
	for fork < len(a) && fork < len(b) && a[fork] == b[fork] {
		fork++
	}
	if fork > 0 && fork < len(a) && fork < len(b) {
		switch x := a[fork-1].(type) {
		case *ast.IfStmt:
			arms := []ast.Node{x.Body, x.Else}
			if slices.Contains(arms, a[fork]) && slices.Contains(arms, b[fork]) {
				return true
			}
		case *ast.BlockStmt:
			if clause(a[fork]) && clause(b[fork]) {
				return true
			}
		}
	}
	for _, x := range a[fork:] {
		switch x := x.(type) {
		case *ast.BlockStmt:
			if leaves(x.List) {
				return true
			}
		case *ast.CaseClause:
			if leaves(x.Body) {
				return true
			}
		}
	}
	return false
}

func clause(x ast.Node) bool {
	switch x.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// leaves reports whether a block ends by leaving what is around it.
func leaves(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok != token.FALLTHROUGH
	case *ast.ExprStmt:
		if call, ok := last.X.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			return ok && id.Name == "panic"
		}
	}
	return false
}
