package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
)

// Expense is what the flow gets.
type Expense struct {
	Who, What string
	Cents     int
	// Askees are asked one after the other, each for Patience.
	Askees   []string
	Patience time.Duration
}

// Decision is the message that a person answers with, under the name "decision".
type Decision struct {
	By  string
	Yes bool
}

// Outcome is what becomes of an expense.
type Outcome struct {
	Approved bool
	By       string // "" if nobody answered
	Payment  string // "" if nothing was paid
}

// Office is what the flow needs of others.
type Office interface {
	// Ask tells somebody that a decision is wanted, and under which id to answer.
	Ask(ctx context.Context, key, who, about, id string) error
	// Pay pays once for each key.
	Pay(ctx context.Context, key, who string, cents int) (payment string, err error)
}

// NewApproval returns the flow over an office.
func NewApproval(office Office) *loom.Flow[Expense, Outcome] {
	patient := loom.Retry{Attempts: 20, Initial: time.Second, Max: time.Minute}

	return loom.NewFlow("approval", func(ctx loom.Context, in Expense) (out Outcome, err error) {
		for _, askee := range in.Askees {
			_, err := loom.Do(ctx, "ask", func(ctx context.Context) (bool, error) {
				id, _, _ := loom.StepOf(ctx)
				about := fmt.Sprintf("%s wants %d cents for %s", in.Who, in.Cents, in.What)
				return true, office.Ask(ctx, loom.IdempotencyKey(ctx), askee, about, id)
			}, loom.Args(askee), patient)
			if err != nil {
				return out, err
			}
			d, err := decision(ctx, in)
			if errors.Is(err, loom.ErrTimeout) {
				continue // the next one is asked
			}
			if err != nil {
				return out, err
			}
			out.Approved, out.By = d.Yes, d.By
			break
		}
		if !out.Approved {
			return out, nil
		}
		out.Payment, err = loom.Do(ctx, "pay", func(ctx context.Context) (string, error) {
			return office.Pay(ctx, loom.IdempotencyKey(ctx), in.Who, in.Cents)
		}, loom.Args(in.Cents), patient)
		return out, err
	})
}

// decision waits for one that counts. Nobody decides on an expense of their own, and such
// an answer does not make the wait longer.
func decision(ctx loom.Context, in Expense) (Decision, error) {
	until := loom.Now(ctx).Add(in.Patience)
	for {
		d, err := loom.Await[Decision](ctx, "decision", loom.Within(until.Sub(loom.Now(ctx))))
		if err != nil || d.By != in.Who {
			return d, err
		}
		loom.Logger(ctx).Warn("a decision on an expense of one's own", "by", d.By)
	}
}
