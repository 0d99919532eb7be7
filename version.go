package loom

import (
	"fmt"

	"github.com/loomwork/loom/internal/kernel"
)

// Version lets a flow's code change while executions of it run. It returns which
// version of a change this execution runs, from min to max:
//
//   - what an earlier call for the same change was given, if that call was at the live
//     edge: it is recorded then, and holds for the rest of the execution;
//   - min, where the execution has gone on from here already, in code that was without
//     the change;
//   - max, recorded, where it has not.
//
// The first version of a change is 1, and 0 is the code before it:
//
//	if loom.Version(ctx, "ship-by-air", 0, 1) == 0 {
//		err = shipBySea(ctx)
//	} else {
//		err = shipByAir(ctx)
//	}
//
// Once no execution of version 0 is left, min becomes 1 and the old code goes. An
// execution whose version is not in the range any more has diverged: nothing is written,
// it is let go, and goes on once a build runs that has its version. The call itself
// stays for as long as there are executions that have it recorded.
//
// It has no error to return: a bad name, a range that is none, or a Context that is not
// the running branch's is a panic with the error that another verb would return.
func Version(ctx Context, change string, min, max int) int {
	b := ctx.branch()
	if err := checkName("change", change); err != nil {
		panic(err)
	}
	if min < 0 || max < 1 || min > max {
		panic(&InputValidationError{What: "version of " + change, Err: fmt.Errorf("%d to %d is no range: versions are from 1, and 0 is the code before the change", min, max)})
	}
	v, d := b.k.Version(change, min, max)
	if d != kernel.Allowed && d != kernel.NoUnloading {
		panic(b.denied(d))
	}
	return v
}
