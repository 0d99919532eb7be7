package flowcheck

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// A node is one function of the package: a declared one, or a literal.
type node struct {
	fn    *types.Func  // declared, else nil
	lit   *ast.FuncLit // literal, else nil
	outer *node        // the node that a literal stands in, nil at package level
	body  *ast.BlockStmt
	sig   *types.Signature
	test  bool // in a test file that is left alone

	sites []site // what its own statements do
	links []link
	sum   summary // of a declared one
	all   []site  // its sites and those that its calls out of the package come to; see sitesOf
}

// isFlow reports whether the node has a loom.Context of its own.
func (n *node) isFlow() bool { return takesFlowContext(n.sig) }

// inFlow reports whether the node or one around it has a loom.Context.
func (n *node) inFlow() bool {
	for ; n != nil; n = n.outer {
		if n.isFlow() {
			return true
		}
	}
	return false
}

// root returns the declared function around a node, nil for a literal at package level.
func (n *node) root() *node {
	for n.outer != nil {
		n = n.outer
	}
	if n.fn == nil {
		return nil
	}
	return n
}

// name returns how a message calls the node.
func (n *node) name() string {
	if n.fn != nil {
		return n.fn.Name()
	}
	return "a function literal"
}

// A site is a place where a node does what it should not.
type site struct {
	pos      token.Pos
	code     Code
	what     string // the beginning of the message: what is there, and what is wrong with it
	instead  string
	thing    string // what other packages call it: time.Now
	at       string // where the thing is, "" if it is here
	flowOnly bool
}

// A link is a place where control may pass from a node to a target: target is called
// there, or it is passed as argument arg to through, which may call it.
type link struct {
	pos     token.Pos
	target  target
	through *types.Func // nil: target is called
	arg     int
	call    *ast.CallExpr
}

// A target is what a function expression stands for: one of its fields is set.
type target struct {
	node  *node
	fn    *types.Func // of another package
	param *types.Var  // a parameter of a declared function
}

// graph is what the analysis of one package knows of its functions.
type graph struct {
	pass  *analysis.Pass
	conf  config
	nodes []*node // in the order of the source
	decls map[*types.Func]*node
	lits  map[*ast.FuncLit]*node
	held  map[*types.Var][]ast.Expr // what is assigned to a variable of a function type
	param map[*types.Var]paramOf
	// bodies are the nodes that loom.NewFlow is given.
	bodies map[*node]bool
}

// config is what flags set.
type config struct{ tests bool }

// paramOf is a parameter of a declared function.
type paramOf struct {
	owner *node
	index int
}

// newGraph collects the package's functions and what its variables hold.
func newGraph(pass *analysis.Pass, conf config) *graph {
	g := &graph{pass: pass, conf: conf, decls: map[*types.Func]*node{}, lits: map[*ast.FuncLit]*node{},
		held: map[*types.Var][]ast.Expr{}, param: map[*types.Var]paramOf{}, bodies: map[*node]bool{}}
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			g.collect(d, g.skipped(f.Pos()))
		}
	}
	for _, f := range pass.Files {
		ast.Inspect(f, func(x ast.Node) bool {
			if call, ok := x.(*ast.CallExpr); ok {
				if fn := g.callee(call); fn != nil && isLoom(fn) && fn.Name() == "NewFlow" {
					for _, arg := range call.Args {
						for _, t := range g.resolve(arg) {
							g.bodies[t.node] = true
						}
					}
				}
			}
			return true
		})
	}
	return g
}

func (g *graph) collect(d ast.Decl, test bool) {
	var stack []ast.Node
	var outers []*node // of the functions in stack
	top := func() *node {
		if len(outers) == 0 {
			return nil
		}
		return outers[len(outers)-1]
	}
	ast.Inspect(d, func(x ast.Node) bool {
		if x == nil {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch last.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				outers = outers[:len(outers)-1]
			}
			return true
		}
		stack = append(stack, x)
		switch x := x.(type) {
		case *ast.FuncDecl:
			fn, _ := g.pass.TypesInfo.Defs[x.Name].(*types.Func)
			n := &node{fn: fn, body: x.Body, test: test, sig: fn.Signature()}
			g.nodes = append(g.nodes, n)
			g.decls[fn] = n
			for i := range n.sig.Params().Len() {
				g.param[n.sig.Params().At(i)] = paramOf{n, i}
			}
			outers = append(outers, n)
		case *ast.FuncLit:
			n := &node{lit: x, body: x.Body, outer: top(), test: test, sig: signatureOf(g.pass.TypesInfo.TypeOf(x))}
			g.nodes = append(g.nodes, n)
			g.lits[x] = n
			outers = append(outers, n)
		case *ast.AssignStmt:
			if len(x.Lhs) == len(x.Rhs) && !test {
				for i := range x.Lhs {
					g.hold(x.Lhs[i], x.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			if len(x.Names) == len(x.Values) && !test {
				for i := range x.Names {
					g.hold(x.Names[i], x.Values[i])
				}
			}
		}
		return true
	})
}

// hold notes that a variable of a function type holds a value.
func (g *graph) hold(lhs, rhs ast.Expr) {
	id, ok := ast.Unparen(lhs).(*ast.Ident)
	if !ok {
		return
	}
	if v, ok := g.pass.TypesInfo.ObjectOf(id).(*types.Var); ok && signatureOf(v.Type()) != nil {
		g.held[v] = append(g.held[v], rhs)
	}
}

// resolve returns what a function expression may stand for; nothing if that is not
// known here.
func (g *graph) resolve(e ast.Expr) []target { return g.resolveSeen(e, nil) }

func (g *graph) resolveSeen(e ast.Expr, seen []*types.Var) []target {
	info := g.pass.TypesInfo
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return []target{{node: g.lits[e]}}
	case *ast.IndexExpr:
		if signatureOf(info.TypeOf(e.X)) != nil {
			return g.resolveSeen(e.X, seen)
		}
	case *ast.IndexListExpr:
		return g.resolveSeen(e.X, seen)
	case *ast.CallExpr:
		if tv, ok := info.Types[e.Fun]; ok && tv.IsType() && len(e.Args) == 1 {
			return g.resolveSeen(e.Args[0], seen) // a conversion
		}
	case *ast.SelectorExpr:
		if fn, ok := info.Uses[e.Sel].(*types.Func); ok {
			return g.function(fn)
		}
	case *ast.Ident:
		switch obj := info.Uses[e].(type) {
		case *types.Func:
			return g.function(obj)
		case *types.Var:
			for _, v := range seen {
				if v == obj {
					return nil
				}
			}
			var ts []target
			if _, ok := g.param[obj]; ok {
				ts = append(ts, target{param: obj})
			}
			for _, held := range g.held[obj] {
				ts = append(ts, g.resolveSeen(held, append(seen, obj))...)
			}
			return ts
		}
	}
	return nil
}

func (g *graph) function(fn *types.Func) []target {
	fn = fn.Origin()
	if n := g.decls[fn]; n != nil {
		return []target{{node: n}}
	}
	return []target{{fn: fn}}
}

// callee returns the function that a call calls statically, nil if that is not known
// here. It may be an interface's method.
func (g *graph) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(g.pass.TypesInfo, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}
