// Reminder: a trial runs for thirty days, then the customer has three days to answer. The
// test beside it lets the month pass at once.
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

// Customer is what the flow gets.
type Customer struct{ Name, Email string }

// send stands for a mail service.
var send = func(ctx context.Context, to, text string) error {
	fmt.Printf("to %s: %s (%s)\n", to, text, loom.IdempotencyKey(ctx))
	return nil
}

// Trial returns what became of a trial: "stays", "leaves" or "silent".
var Trial = loom.NewFlow("trial", func(ctx loom.Context, c Customer) (string, error) {
	if err := mail(ctx, "welcome", c, "welcome, "+c.Name); err != nil {
		return "", err
	}
	if err := loom.Sleep(ctx, "trial", 30*24*time.Hour); err != nil {
		return "", err
	}
	if err := mail(ctx, "remind", c, "do you want to stay?"); err != nil {
		return "", err
	}
	stays, err := loom.Await[bool](ctx, "answer", loom.Within(3*24*time.Hour))
	switch {
	case errors.Is(err, loom.ErrTimeout):
		return "silent", nil
	case err != nil:
		return "", err
	case stays:
		return "stays", nil
	}
	return "leaves", nil
})

func mail(ctx loom.Context, step string, c Customer, text string) error {
	_, err := loom.Do(ctx, step, func(ctx context.Context) (bool, error) {
		return true, send(ctx, c.Email, text)
	}, loom.Retry{Attempts: 10, Initial: time.Second})
	return err
}

func main() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Trial))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := Trial.Start(ctx, rt, Customer{"Ann", "ann@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
}
