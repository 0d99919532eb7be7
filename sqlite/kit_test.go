//go:build unix

package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomwork/loom/store/storetest"
	"github.com/loomwork/loom/store/storetest/seedapi"
)

// bench opens the file at path for the conformance kit, which moves its clock.
// Node locks are off: they tell more about a node than its lease does, and the
// kit asks for the lease alone. lock_test.go has them.
func bench(ctx context.Context, path string, c *clock, opts ...Option) (storetest.Bench, error) {
	s, closer, err := Open(path, append(opts, WithClock(c.now), WithoutNodeLocks())...).OpenStore(ctx)
	if err != nil {
		return storetest.Bench{}, err
	}
	return storetest.Bench{
		Store: s, Advance: c.advance, Close: closer,
		Reopen: func(ctx context.Context) (storetest.Bench, error) { return bench(ctx, path, c, opts...) },
	}, nil
}

func opener(t *testing.T, opts ...Option) storetest.Opener {
	return func(ctx context.Context) (storetest.Bench, error) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			return storetest.Bench{}, err
		}
		return bench(ctx, filepath.Join(dir, "loom.db"), newClock(), opts...)
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, opener(t), storetest.Claim{SPI: "2.3.0"})
}

// claim A-25, claim A-26
func TestConformanceWithoutIncarnations(t *testing.T) {
	storetest.Run(t, opener(t, SchemaVersion(1)), storetest.Claim{SPI: "2.2.0"})
}

func TestOlderOperations(t *testing.T) {
	seedapi.Run(t, opener(t), storetest.Claim{SPI: "2.3.0"})
}

func TestOlderOperationsWithoutIncarnations(t *testing.T) {
	seedapi.Run(t, opener(t, SchemaVersion(1)), storetest.Claim{SPI: "2.2.0"})
}
