package flowcheck

import (
	"go/types"
)

// loomPath is the import path of package loom.
const loomPath = "github.com/loomwork/loom"

// isLoom reports whether obj is package loom's.
func isLoom(obj types.Object) bool {
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == loomPath
}

// isFlowContext reports whether t is loom.Context.
func isFlowContext(t types.Type) bool { return isNamed(t, loomPath, "Context") }

// isPlainContext reports whether t is context.Context.
func isPlainContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isNamed(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg
}

// takesFlowContext reports whether one of the parameters is a loom.Context: only flow
// code can call such a function.
func takesFlowContext(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if isFlowContext(v.Type()) {
			return true
		}
	}
	return false
}

// signatureOf returns the signature of a function's type, nil if t is none.
func signatureOf(t types.Type) *types.Signature {
	if t == nil {
		return nil
	}
	sig, _ := t.Underlying().(*types.Signature)
	return sig
}

// isEffect reports whether a function of package loom takes, at a parameter of type t, an
// effect: a function that gets a plain context.Context.
func isEffect(t types.Type) bool {
	sig := signatureOf(t)
	return sig != nil && sig.Params().Len() > 0 && isPlainContext(sig.Params().At(0).Type())
}

// paramAt returns the parameter that argument i of a call goes to, nil if there is none.
func paramAt(sig *types.Signature, i int) *types.Var {
	n := sig.Params().Len()
	switch {
	case i < n-1 || i < n && !sig.Variadic():
		return sig.Params().At(i)
	case sig.Variadic():
		return sig.Params().At(n - 1)
	}
	return nil
}

// quiet are functions of package loom that take a Context and ask nothing of the log:
// they do not care in which order they are called.
var quiet = map[string]bool{"Now": true, "Logger": true, "ExecutionID": true}

// ordered reports whether fn is a verb whose place among the others is recorded.
func ordered(fn *types.Func) bool {
	return isLoom(fn) && takesFlowContext(fn.Signature()) && !quiet[fn.Name()]
}

// waits reports whether fn does nothing but wait for a branch: calls of it may come in
// any order as long as all of them come.
func waits(fn *types.Func) bool {
	return isLoom(fn) && fn.Name() == "Get" && fn.Signature().Recv() != nil
}

// anywhere reports whether fn, of package loom, may be used with the Context of another
// branch, and from an effect: what it returns never changes.
func anywhere(fn *types.Func) bool { return isLoom(fn) && fn.Name() == "ExecutionID" }

// nameOf returns which argument of a function of package loom is the name of a step or a
// branch, -1 if none is. The name of a message is no such thing: whoever sends it
// chooses it. Nor is the key of a published value.
func nameOf(fn *types.Func) int {
	if !ordered(fn) || fn.Name() == "Await" {
		return -1
	}
	params := fn.Signature().Params()
	for i := range params.Len() {
		p := params.At(i)
		if b, ok := p.Type().Underlying().(*types.Basic); ok && b.Kind() == types.String && (p.Name() == "name" || p.Name() == "change") {
			return i
		}
	}
	return -1
}
