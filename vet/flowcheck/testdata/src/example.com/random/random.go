package random

import (
	"context"
	crand "crypto/rand"
	"hash/maphash"
	"math/rand"
	v2 "math/rand/v2"
	"time"

	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	"github.com/loomwork/loom"
)

var _ = loom.NewFlow("random", func(ctx loom.Context, in string) (string, error) {
	_ = rand.Intn(3)                                // want `^rand.Intn is random: use loom.Rand \(loom:random\)$`
	_ = v2.IntN(3)                                  // want `loom:random`
	_ = v2.N(10 * time.Second)                      // want `loom:random`
	_, _ = crand.Read(nil)                          // want `loom:random`
	_, _ = crand.Int(crand.Reader, nil)             // want `loom:random` `rand.Reader is random`
	_ = maphash.MakeSeed()                          // want `loom:random`
	_ = uuid.New()                                  // want `uuid.New is random: use loom.NewID`
	_, _ = gofrs.NewV7()                            // want `uuid.NewV7 is random: use loom.NewID`
	_ = rand.New(rand.NewSource(time.Now().Unix())) // want `loom:clock`
	_ = rand.New(rand.NewSource(7)).Intn(3)         // a generator with a seed repeats itself
	_ = v2.New(v2.NewPCG(1, 2)).IntN(3)
	_ = loom.Rand(ctx).IntN(3)
	_, _ = uuid.Parse(in)
	return loom.Do(ctx, "id", func(context.Context) (string, error) { return uuid.NewString(), nil })
})
