// Transfer: money leaves one account and enters another, or comes back. The test beside it
// kills the program at each of its commits, and no cent may be lost or made.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// Order is what the flow gets.
type Order struct {
	From, To string
	Cents    int
}

// Bank is the service that moves money. A booking whose key was booked before is the same
// booking, and nothing is moved twice.
type Bank interface {
	Book(ctx context.Context, key, account string, cents int) error
}

// ErrNoAccount is final: there is nobody to pay.
var ErrNoAccount = errors.New("there is no such account")

// NewTransfer returns the flow over a bank.
func NewTransfer(bank Bank) *loom.Flow[Order, string] {
	book := func(account string, cents int) func(ctx context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			err := bank.Book(ctx, loom.IdempotencyKey(ctx), account, cents)
			if errors.Is(err, ErrNoAccount) {
				err = loom.Permanent(err)
			}
			return err == nil, err
		}
	}
	patient := loom.Retry{Attempts: 20, Initial: time.Second}
	return loom.NewFlow("transfer", func(ctx loom.Context, in Order) (string, error) {
		if _, err := loom.Do(ctx, "debit", book(in.From, -in.Cents), patient); err != nil {
			return "", err
		}
		err := loom.Compensate(ctx, "give-back", func(ctx context.Context) error {
			_, err := book(in.From, in.Cents)(ctx)
			return err
		}, patient)
		if err != nil {
			return "", err
		}
		if err := loom.Sleep(ctx, "settle", time.Hour); err != nil {
			return "", err
		}
		_, err = loom.Do(ctx, "credit", book(in.To, in.Cents), patient)
		return "moved", err
	})
}

// printed is a bank that only says what it would do.
type printed struct{}

func (printed) Book(_ context.Context, key, account string, cents int) error {
	fmt.Printf("%s: %+d cents (%s)\n", account, cents, key)
	return nil
}

func main() {
	ctx := context.Background()
	transfer := NewTransfer(printed{})
	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(transfer))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := transfer.Start(ctx, rt, Order{"ann", "bob", 100})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
}
