package loom_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomwork/loom"
)

// DeclinedError is an error with something in it.
type DeclinedError struct{ Cents int }

func (e *DeclinedError) Error() string { return fmt.Sprintf("%d cents were declined", e.Cents) }

// An error of a registered type comes back as itself, also after a replay. The flow acts on
// what it holds.
func ExampleRegisterError() {
	loom.RegisterError[*DeclinedError]("example_declined") // when the program starts
	pay := loom.NewFlow("pay", func(ctx loom.Context, cents int) (string, error) {
		_, err := loom.Do(ctx, "charge", func(context.Context) (bool, error) {
			return false, fmt.Errorf("bank: %w", &DeclinedError{Cents: cents})
		})
		if declined := (*DeclinedError)(nil); errors.As(err, &declined) {
			return fmt.Sprintf("please pay %d cents in cash", declined.Cents), nil
		}
		return "paid", err
	})
	fmt.Println(outcome(pay, 4200))
	// Output: please pay 4200 cents in cash <nil>
}
