// Quickstart: kill it in the middle of the sleep, start it again, and it goes on.
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
type Order struct{ Item, Email string }

// Receipt is what it returns.
type Receipt struct{ Payment, Mail string }

// Checkout charges, waits, and writes a mail.
var Checkout = loom.NewFlow("checkout", func(ctx loom.Context, in Order) (Receipt, error) {
	pay, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
		fmt.Println("charging for", in.Item, "under key", loom.IdempotencyKey(ctx))
		return "payment-1", nil
	}, loom.Retry{Attempts: 5, Initial: time.Second})
	if err != nil {
		return Receipt{}, err
	}
	fmt.Println("cooling off")
	if err := loom.Sleep(ctx, "cool-off", 10*time.Second); err != nil {
		return Receipt{}, err
	}
	mail, err := loom.Do(ctx, "mail", func(context.Context) (string, error) {
		fmt.Println("mailing", in.Email)
		return "mail-1", nil
	})
	return Receipt{Payment: pay, Mail: mail}, err
})

func main() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Checkout))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	run, err := Checkout.Start(ctx, rt, Order{"a kettle", "ann@example.com"}, loom.ID("order-42"))
	if exists := (*loom.ExecutionAlreadyExistsError)(nil); errors.As(err, &exists) {
		fmt.Println("order-42 was started before: going on with it")
		run, err = loom.Attach[Receipt](rt, "order-42")
	}
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("done: %+v\n", receipt)
}
