package loom_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

// Now, Rand and NewID have no error to return: used where a verb would be refused they
// panic, because a value that depends on who runs when would be worse.
func TestValuesAreGuardedAsVerbsAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		uses := map[string]func(loom.Context){
			"Now":   func(ctx loom.Context) { loom.Now(ctx) },
			"Rand":  func(ctx loom.Context) { loom.Rand(ctx) },
			"NewID": func(ctx loom.Context) { loom.NewID(ctx) },
		}
		try := func(use func(loom.Context), ctx loom.Context) (p any) {
			defer func() { p = recover() }()
			use(ctx)
			return nil
		}
		flow := loom.NewFlow("guarded", func(ctx loom.Context, name string) (bool, error) {
			var foreign, wrong any
			var wg sync.WaitGroup
			wg.Go(func() { foreign = try(uses[name], ctx) })
			wg.Wait()
			_, err := loom.Go(ctx, "branch", func(loom.Context) (int, error) { wrong = try(uses[name], ctx); return 0, nil }).Get(ctx)
			var f *loom.ForeignGoroutineError
			var w *loom.WrongBranchError
			asForeign, _ := foreign.(error)
			asWrong, _ := wrong.(error)
			return errors.As(asForeign, &f) && errors.As(asWrong, &w) && try(uses[name], ctx) == nil, err
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for name := range uses { // order does not matter: each is a run of its own
			run, err := flow.Start(t.Context(), rt, name)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := run.Result(t.Context()); err != nil || !ok {
				t.Errorf("%s: %v, %v", name, ok, err)
			}
		}
	})
}

// What is asked of a closed runtime is refused as such. The store of this one is closed
// with it, as a database is.
func TestViewsOfAClosedRuntimeSayClosed(t *testing.T) {
	rt, err := loom.Open(t.Context(), closing{memstore.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range rt.List(t.Context(), loom.Filter{}) {
		expectClosed(t, "List", err)
	}
	for _, err := range rt.Log(t.Context(), "x", 0) {
		expectClosed(t, "Log", err)
	}
	for _, err := range rt.Follow(t.Context(), "x", 0) {
		expectClosed(t, "Follow", err)
	}
	_, err = rt.State(t.Context(), "x")
	expectClosed(t, "State", err)
	_, err = rt.Summary(t.Context(), "x")
	expectClosed(t, "Summary", err)
	expectClosed(t, "Signal", rt.Signal(t.Context(), "x", "name", 1))
}

func expectClosed(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, loom.ErrClosed) {
		t.Errorf("%s: %v, want ErrClosed", what, err)
	}
}
