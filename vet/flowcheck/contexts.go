package flowcheck

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkEffect reports where an effect uses the loom.Context of the flow around it. The
// flow's context is never done, so that a cancel or a time limit would not reach what
// gets it, and a verb called from an effect is refused.
func (g *graph) checkEffect(effect *node) (found []site) {
	fine := map[ast.Expr]bool{}
	ast.Inspect(effect.body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.CallExpr:
			if fn := g.callee(x); fn != nil && anywhere(fn) {
				for _, arg := range x.Args {
					fine[ast.Unparen(arg)] = true
				}
			}
			return true
		case *ast.Ident, *ast.SelectorExpr:
			e := x.(ast.Expr)
			if fine[e] || !g.captured(e, effect.lit) {
				return true
			}
			found = append(found, site{pos: e.Pos(), code: EffectCtx,
				what:    "the effect uses " + types.ExprString(e) + ", the loom.Context of the flow",
				instead: "use the context that the effect is given"})
			return false
		}
		return true
	})
	return found
}

// checkBranch reports where a branch passes on the loom.Context of another one.
func (g *graph) checkBranch(branch *node) (found []site) {
	ast.Inspect(branch.body, func(x ast.Node) bool {
		call, ok := x.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := g.callee(call)
		if fn == nil || anywhere(fn) {
			return true
		}
		for i, arg := range call.Args {
			p := paramAt(fn.Signature(), i)
			if p != nil && isFlowContext(p.Type()) && g.captured(ast.Unparen(arg), branch.lit) {
				found = append(found, site{pos: arg.Pos(), code: BranchCtx,
					what:    display(fn) + " gets " + types.ExprString(arg) + ", which belongs to another branch",
					instead: "use the loom.Context that this branch is given"})
			}
		}
		return true
	})
	return found
}

// captured reports whether e is a loom.Context that comes from outside of a literal.
func (g *graph) captured(e ast.Expr, lit *ast.FuncLit) bool {
	t := g.pass.TypesInfo.TypeOf(e)
	if t == nil || !isFlowContext(t) {
		return false
	}
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if v, ok := g.pass.TypesInfo.Uses[x.Sel].(*types.Var); !ok || !v.IsField() {
				return false
			}
			e = ast.Unparen(x.X)
			continue
		case *ast.Ident:
			v, ok := g.pass.TypesInfo.Uses[x].(*types.Var)
			return ok && !v.IsField() && outside(v.Pos(), lit)
		}
		return false
	}
}

func outside(pos token.Pos, lit *ast.FuncLit) bool { return pos < lit.Pos() || pos >= lit.End() }
