package loom

import (
	"context"
	"strings"

	"github.com/loomwork/loom/internal/kernel"
)

// Context is what a body gets. It passes to any helper that takes a
// context.Context, but only a Context can be used for verbs: an effect gets a
// plain context.Context and so cannot call one, and a context derived with a
// wall-clock limit cannot either, because no replay could repeat it.
//
// A Context belongs to one branch of one execution. It is never done; a cancel
// shows as [ErrCancelled] from the verbs.
type Context interface {
	context.Context
	branch() *branch
}

// branch is a kernel branch with what verbs need of the shell.
type branch struct {
	context.Context
	k   *kernel.Branch
	run *run
}

func (b *branch) branch() *branch { return b }

// denied returns the error of a verb that was denied.
func (b *branch) denied(d kernel.Denial) error {
	switch d {
	case kernel.NoCancelled:
		return ErrCancelled
	case kernel.NoUnloading:
		return ErrUnloading
	case kernel.NoForeign:
		return &ForeignGoroutineError{Branch: b.k.Path()}
	case kernel.NoBranch, kernel.NoEnded:
		return &WrongBranchError{Branch: b.k.Path()}
	}
	return nil
}

// reserved is the beginning of names that only Loom uses.
const reserved = "loom."

func checkName(what, name string) error {
	if own := strings.HasPrefix(name, reserved); own || !kernel.ValidName(name) {
		return &NameError{What: what, Name: name, Reserved: own}
	}
	return nil
}
