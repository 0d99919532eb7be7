// Order: a shop takes an order. Every step that can be taken back is, when a later one
// fails; the bank is asked before anything is charged twice; a mail is never sent twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

func main() {
	id := flag.String("id", "order-1", "the order's `id`: one id is one order, however often this is run")
	to := flag.String("to", "5 Elm Street", "the `address`; no courier goes to mars")
	stall := flag.String("stall", "", "the `service` whose reply does not come: warehouse, bank, courier, mail or basket")
	flag.Parse()

	ctx := context.Background()
	checkout := NewCheckout(desk{dir: "order-books", stall: *stall})
	rt, err := loom.Open(ctx, sqlite.Open("order.db"), loom.Flows(checkout))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	run, err := checkout.Start(ctx, rt, Order{Item: "kettle", Address: *to, Card: "4242", Email: "ann@example.com", Cents: 4200}, loom.ID(*id))
	if errors.Is(err, loom.ErrAlreadyExists) {
		fmt.Println(*id, "was taken before: going on with it")
		run, err = loom.Attach[Receipt](rt, *id)
	}
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := run.Result(ctx)
	switch {
	case errors.Is(err, ErrNoCourier):
		fmt.Println("not delivered, and everything was taken back:", err)
	case err != nil:
		fmt.Println("failed:", err)
	default:
		fmt.Printf("done: %s, %s, mailed: %v\n", short(receipt.Payment), short(receipt.Parcel), receipt.Mailed)
	}
}
