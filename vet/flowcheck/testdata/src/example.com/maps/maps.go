package maps

import (
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/loomwork/loom"
)

func do(ctx loom.Context, k string) error {
	_, err := loom.Do(ctx, "item", func(context.Context) (string, error) { return k, nil }, loom.Args(k))
	return err
}

func say(ctx loom.Context, k string) { loom.Logger(ctx).Info(k) }

var _ = loom.NewFlow("bad", func(ctx loom.Context, m map[string]int) (int, error) {
	for k := range m { // want `^the order of a map decides in which order this loop calls verbs: sort the keys first, as in slices.Sorted\(maps.Keys\(m\)\) \(loom:maporder\)$`
		if err := do(ctx, k); err != nil {
			return 0, err
		}
	}
	for range maps.Keys(m) { // want `loom:maporder`
		_ = loom.NewID(ctx)
	}
	for k := range m { // want `loom:maporder`
		func() { _ = do(ctx, k) }()
	}
	var futures []*loom.Future[int]
	for range m { // want `loom:maporder`
		futures = append(futures, loom.Go(ctx, "one", func(ctx loom.Context) (int, error) { return 0, nil }))
	}
	_, _ = loom.All(ctx, futures...)

	var keys []string
	for k := range m { // want `the order of a map becomes the order of keys, which decides the order of verbs at maps.go:41`
		keys = append(keys, k)
	}
	for _, k := range keys {
		_ = do(ctx, k)
	}
	values := slices.Collect(maps.Values(m)) // want `becomes the order of values`
	for i := 0; i < len(values); i++ {
		_ = loom.Sleep(ctx, "nap", 1)
		_ = values[i]
	}
	branches := map[string]*loom.Future[int]{}
	for _, f := range branches { // want `loom:maporder`
		if _, err := f.Get(ctx); err != nil {
			return 0, err
		}
	}
	var args []string
	for k := range m { // want `becomes the order of args`
		args = append(args, k)
	}
	_, err := loom.Do(ctx, "all", func(context.Context) (int, error) { return 0, nil }, loom.Args(args))
	return 0, err
})

var _ = loom.NewFlow("good", func(ctx loom.Context, m map[string]int) (int, error) {
	sum := 0
	for k, v := range m {
		sum += v
		say(ctx, k)
		_ = loom.Now(ctx)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		_ = do(ctx, k)
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		_ = do(ctx, k)
	}
	var others []string
	for k := range m {
		others = append(others, k)
	}
	slices.SortFunc(others, func(a, b string) int { return len(a) - len(b) })
	for _, k := range others {
		_ = do(ctx, k)
	}
	var counted []string
	for k := range m {
		counted = append(counted, k)
	}
	for range len(counted) {
		_ = loom.Sleep(ctx, "nap", 1)
	}
	branches, results := map[string]*loom.Future[int]{}, map[string]int{}
	for k, f := range branches {
		results[k], _ = f.Get(ctx) // all of them, in whatever order
	}
	_, err := loom.Do(ctx, "all", func(context.Context) (int, error) {
		for k := range m {
			sum += len(k)
		}
		return sum, nil
	}, loom.Args(m))
	return sum, err
})
