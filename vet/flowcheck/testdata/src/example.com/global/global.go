package global

import (
	"context"

	"example.com/lib"
	"github.com/loomwork/loom"
)

var (
	count  int
	cache  = map[string]int{}
	state  struct{ n, m int }
	shared = &state
	list   []int
)

var _ = loom.NewFlow("global", func(ctx loom.Context, n int) (int, error) {
	count++                // want `^a write to the variable count of a package outlives the execution: keep it in the body, or write it in an effect \(loom:global\)$`
	count = n              // want `loom:global`
	count += 1             // want `loom:global`
	cache["a"] = 1         // want `loom:global`
	delete(cache, "a")     // want `loom:global`
	clear(cache)           // want `loom:global`
	state.n = 1            // want `loom:global`
	shared.m = 1           // want `loom:global`
	list[0] = 1            // want `loom:global`
	list = append(list, 1) // want `loom:global`
	lib.Count = 1          // want `the variable lib.Count`
	n, count = 1, 2        // want `loom:global`
	for count = range 3 {  // want `loom:global`
	}

	local := map[string]int{"a": count} // reading one is not reported
	local["b"] = cache["a"]
	delete(local, "a")
	p := &n
	*p = 2
	count := 1
	count++
	return loom.Do(ctx, "count", func(context.Context) (int, error) {
		cache["a"]++
		return n + count, nil
	})
})
