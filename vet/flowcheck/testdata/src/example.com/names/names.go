package names

import (
	"context"
	"fmt"

	"example.com/lib"
	"github.com/loomwork/loom"
)

const charge = "charge"

type kind string

const refund kind = "refund"

var table = []struct{ name string }{{"a"}, {"b"}}

func nothing(context.Context) (int, error) { return 0, nil }

func step(ctx loom.Context, name string) error {
	_, err := loom.Do(ctx, name, nothing) // its callers are looked at
	return err
}

func outer(ctx loom.Context, label string) error { return step(ctx, label) }

var child = loom.NewFlow("child", func(ctx loom.Context, n int) (int, error) { return n, nil })

var _ = loom.NewFlow("constants", func(ctx loom.Context, in []string) (int, error) {
	for i, x := range in {
		_, _ = loom.Do(ctx, fmt.Sprintf("file-%d", i), nothing) // want `^the name given to loom.Do is not a constant: equal names are numbered, so name the kind of step, and put what differs in loom.Args \(loom:name\)$`
		_, _ = loom.Do(ctx, x, nothing)                         // want `loom:name`
		_ = loom.Sleep(ctx, "nap-"+x, 1)                        // want `loom:name`
		_ = step(ctx, x)                                        // want `the name given to names.step is not a constant`
		_ = outer(ctx, "x"+x)                                   // want `names.outer is not a constant`
		_, _ = lib.Step(ctx, x, nothing)                        // want `lib.Step is not a constant`
		_, _ = child.Child(ctx, x, i)                           // want `loom.Flow.Child is not a constant`
		_ = loom.Version(ctx, x, 1, 2)                          // want `loom:name`

		_, _ = loom.Do(ctx, charge, nothing)
		_, _ = loom.Do(ctx, "pre"+"fix", nothing)
		_, _ = loom.Do(ctx, string(refund), nothing)
		_, _ = lib.Step(ctx, "step", nothing)
		_ = outer(ctx, "outer")
		_, _ = loom.Await[int](ctx, "reply."+x) // whoever sends it chose the name
		_ = loom.Set(ctx, x, i)
	}
	for _, name := range []string{"one", "two"} {
		_, _ = loom.Do(ctx, name, nothing)
	}
	for _, row := range table {
		_, _ = loom.Do(ctx, row.name, nothing)
	}
	name := "left"
	if len(in) > 1 {
		name = "right"
	}
	_, _ = loom.Do(ctx, name, nothing)
	computed := in[0]
	_, _ = loom.Do(ctx, computed, nothing) // want `loom:name`
	return 0, nil
})

var _ = loom.NewFlow("twice", func(ctx loom.Context, n int) (int, error) {
	_, _ = loom.Do(ctx, "mail", nothing)
	_, _ = loom.Do(ctx, "mail", nothing) // want `^the name mail is used for another call of loom.Do at names.go:\d+: a name of its own keeps the log readable and the numbers in place \(loom:samename\)$`
	_ = step(ctx, "wrapped")
	_ = step(ctx, "wrapped") // want `loom:samename`

	_ = loom.Sleep(ctx, "mail", 1) // another verb
	_, _ = loom.Await[int](ctx, "answer")
	_, _ = loom.Await[int](ctx, "answer")
	for range n {
		_, _ = loom.Do(ctx, "poll", nothing)
	}
	if n > 1 {
		_, _ = loom.Do(ctx, "either", nothing)
	} else if n > 0 {
		_, _ = loom.Do(ctx, "either", nothing)
	} else {
		_, _ = loom.Do(ctx, "either", nothing)
	}
	switch n {
	case 1:
		_, _ = loom.Do(ctx, "case", nothing)
	case 2:
		_, _ = loom.Do(ctx, "case", nothing)
	}
	if n == 7 {
		_, _ = loom.Do(ctx, "undo", nothing)
		return 0, nil
	}
	_, _ = loom.Do(ctx, "undo", nothing)
	if n == 8 {
		_, _ = loom.Do(ctx, "late", nothing)
	}
	_, _ = loom.Do(ctx, "late", nothing) // want `loom:samename`
	f := loom.Go(ctx, "branch", func(ctx loom.Context) (int, error) {
		return loom.Do(ctx, "mail", nothing) // another branch counts for itself
	})
	return f.Get(ctx)
})

type stage struct {
	name string
	run  func(context.Context) (int, error)
}

// do has its name from the program: who makes stages is not looked for.
func (s stage) do(ctx loom.Context) error {
	_, err := loom.Do(ctx, s.name, s.run)
	return err
}

func doAll(ctx loom.Context, stages []stage) error {
	for _, s := range stages {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

var _ = loom.NewFlow("input", func(ctx loom.Context, in stage) (int, error) {
	return loom.Do(ctx, in.name, nothing) // want `loom:name`
})

func body(ctx loom.Context, name string) (int, error) {
	return loom.Do(ctx, name, nothing) // want `loom:name`
}

var _ = loom.NewFlow("body", body)
