package rt

import "context"

// Stage is what a [Runtime] has beside the rest if it was made for the tests of people's
// own flows. On a stage time stands still while code runs, so that nothing watches for
// bodies that keep control for too long.
type Stage interface {
	// Effect is called in place of each effect, on its fiber. It returns what the effect
	// is to have returned: c.Do's result, which is written down already, or a value.
	Effect(ctx context.Context, c EffectCall) (any, error)
	// Warn is told of what loom.Hooks.OnWarn is told of.
	Warn(execution string, err error)
}

// EffectCall is one call of an effect.
type EffectCall struct {
	Execution string
	Name      string // of the step
	Path      string // of the step
	Attempt   int    // from 1
	ReadOnly  bool
	// Do calls the effect.
	Do func(context.Context) (any, error)
}
