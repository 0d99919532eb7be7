package flowcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// scan notes the sites and links of one node. Literals in it are nodes of their own.
type scan struct {
	g    *graph
	n    *node
	info *types.Info
	// apart are calls whose function runs elsewhere: those of go statements.
	apart []*ast.CallExpr
	// selected are the channel operations of a select, which is reported once.
	selected []ast.Node
}

func (g *graph) scan(n *node) {
	if n.body == nil {
		return
	}
	s := &scan{g: g, n: n, info: g.pass.TypesInfo}
	ast.Inspect(n.body, s.visit)
}

// add notes that thing is there and does what its code says.
func (s *scan) add(pos token.Pos, code Code, thing, instead string) {
	s.n.sites = append(s.n.sites, site{pos: pos, code: code, what: thing + " " + code.does(), instead: instead, thing: thing})
}

func (s *scan) visit(x ast.Node) bool {
	switch x := x.(type) {
	case *ast.FuncLit:
		return false
	case *ast.GoStmt:
		s.add(x.Pos(), Goroutine, "a go statement", Goroutine.instead())
		s.apart = append(s.apart, x.Call)
	case *ast.SelectStmt:
		s.add(x.Pos(), Select, "a select statement", Select.instead())
		for _, c := range x.Body.List {
			if comm := c.(*ast.CommClause).Comm; comm != nil {
				s.selected = append(s.selected, comm)
				ast.Inspect(comm, func(y ast.Node) bool {
					if u, ok := y.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
						s.selected = append(s.selected, u)
					}
					return true
				})
			}
		}
	case *ast.SendStmt:
		if !slices.Contains(s.selected, ast.Node(x)) {
			s.add(x.Arrow, Channel, "a send", Channel.instead())
		}
	case *ast.UnaryExpr:
		if x.Op == token.ARROW && !slices.Contains(s.selected, ast.Node(x)) {
			s.add(x.Pos(), Channel, "a receive", Channel.instead())
		}
	case *ast.RangeStmt:
		if t := s.info.TypeOf(x.X); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				s.add(x.X.Pos(), Channel, "this range", Channel.instead())
			}
		}
		if x.Tok == token.ASSIGN {
			s.write(x.Key)
			s.write(x.Value)
		}
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			for _, lhs := range x.Lhs {
				s.write(lhs)
			}
		}
	case *ast.IncDecStmt:
		s.write(x.X)
	case *ast.Ident:
		s.variable(x)
	case *ast.CallExpr:
		s.call(x)
	}
	return true
}

// variable notes the use of a variable that is the world's, as os.Args is.
func (s *scan) variable(id *ast.Ident) {
	v, ok := s.info.Uses[id].(*types.Var)
	if !ok {
		return
	}
	if d, ok := deedOf(v); ok {
		s.add(id.Pos(), d.code, display(v), d.advice())
	}
}

// write notes an assignment to a variable of a package, or into one.
func (s *scan) write(e ast.Expr) {
	for e != nil {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			s.wrote(x, s.info.Uses[x])
			return
		case *ast.SelectorExpr:
			if v, ok := s.info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				s.wrote(x, v)
				return
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return
		}
	}
}

func (s *scan) wrote(at ast.Expr, obj types.Object) {
	v, ok := obj.(*types.Var)
	if !ok || v.Pkg() == nil || v.IsField() || v.Parent() != v.Pkg().Scope() {
		return
	}
	name := v.Name()
	if v.Pkg() != s.g.pass.Pkg {
		name = display(v)
	}
	s.add(at.Pos(), Global, "a write to the variable "+name+" of a package", Global.instead())
}

func (s *scan) call(call *ast.CallExpr) {
	if tv := s.info.Types[call.Fun]; tv.IsType() {
		return // a conversion
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := s.info.Uses[id].(*types.Builtin); ok {
			s.builtin(b.Name(), call)
			return
		}
	}
	if !slices.Contains(s.apart, call) {
		for _, t := range s.g.resolve(call.Fun) {
			s.n.links = append(s.n.links, link{pos: call.Pos(), target: t, call: call})
		}
	}
	callee := s.g.callee(call)
	if callee == nil {
		return
	}
	for i, arg := range call.Args {
		if signatureOf(s.info.TypeOf(arg)) == nil {
			continue
		}
		for _, t := range s.g.resolve(arg) {
			s.n.links = append(s.n.links, link{pos: arg.Pos(), target: t, through: callee, arg: i, call: call})
		}
	}
}

func (s *scan) builtin(name string, call *ast.CallExpr) {
	switch {
	case len(call.Args) == 0:
	case name == "close":
		s.add(call.Pos(), Channel, "close", Channel.instead())
	case name == "make":
		if t := s.info.TypeOf(call.Args[0]); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				s.add(call.Pos(), Channel, "make", Channel.instead())
			}
		}
	case name == "delete" || name == "clear" || name == "copy":
		s.write(call.Args[0])
	}
}
