package loom

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/loomwork/loom/internal/kernel"
)

// Now returns the time of the event that the body reacts to: the same in every
// replay, never going back. Like [Rand] and [NewID] it has no error to return: where
// another verb would return a [*ForeignGoroutineError] or [*WrongBranchError], it panics
// with one.
func Now(ctx Context) time.Time {
	b := ctx.branch()
	b.mustEnter()
	return b.k.Now().Time()
}

// Rand returns a source of random numbers that is the same in every replay. It is
// seeded from the execution's recorded seed, anew for each call.
func Rand(ctx Context) *rand.Rand {
	e := entropy(ctx, "loom.rand")
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(e[:8]), binary.BigEndian.Uint64(e[8:16])))
}

// NewID returns a new ULID, 26 characters: the same in every replay.
func NewID(ctx Context) string {
	e := entropy(ctx, "loom.id")
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(Now(ctx))) // fails only past the year 10889
	copy(u[6:], e[:10])
	return u.String()
}

func entropy(ctx Context, name string) [32]byte {
	b := ctx.branch()
	b.mustEnter()
	path, d := b.k.Name(name)
	if d != kernel.Allowed {
		path = b.k.Path() + "/denied" // the body is being unwound: nobody uses the value
	}
	return kernel.Entropy(b.k.Execution(), b.k.Seed(), path)
}

// mustEnter panics if the running goroutine is not the branch's.
func (b *branch) mustEnter() {
	switch d := b.k.Enter(); d {
	case kernel.NoForeign, kernel.NoBranch, kernel.NoEnded:
		panic(b.denied(d))
	}
}

// ExecutionID returns the id of the execution that the body belongs to.
func ExecutionID(ctx Context) string { return string(ctx.branch().k.Execution()) }
