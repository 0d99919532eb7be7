// Approval: an expense waits for a person. Whoever is asked first has some time to answer,
// from another process; then the next one is asked.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

const usage = `usage:
  approval ask ID [PATIENCE]     ask for 4200 cents; 20s for each of two people
  approval answer ID NAME yes|no answer, from another process`

func main() {
	ctx := context.Background()
	switch args := os.Args[1:]; {
	case len(args) >= 2 && args[0] == "ask":
		patience := 20 * time.Second
		if len(args) == 3 {
			var err error
			if patience, err = time.ParseDuration(args[2]); err != nil {
				log.Fatal(err)
			}
		}
		ask(ctx, args[1], patience)
	case len(args) == 4 && args[0] == "answer":
		answer(ctx, args[1], Decision{By: args[2], Yes: args[3] == "yes"})
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

// ask runs a node, starts the flow, or finds it there, and waits for its end.
func ask(ctx context.Context, id string, patience time.Duration) {
	approval := NewApproval(printed{})
	rt, err := loom.Open(ctx, sqlite.Open("approval.db"), loom.Flows(approval))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := approval.Start(ctx, rt, Expense{
		Who: "ann", What: "a chair", Cents: 4200, Askees: []string{"bob", "carol"}, Patience: patience,
	}, loom.ID(id))
	if errors.Is(err, loom.ErrAlreadyExists) {
		fmt.Println(id, "is there already: going on with it")
		run, err = loom.Attach[Outcome](rt, id)
	}
	if err != nil {
		log.Fatal(err)
	}
	out, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("done: %+v\n", out)
}

// answer drives nothing: it puts a message into the store and goes. The decision is kept if
// nobody runs who could take it. The message's id makes a second answer of one person the
// same as the first.
func answer(ctx context.Context, id string, d Decision) {
	rt, err := loom.Open(ctx, sqlite.Open("approval.db"), loom.Tuning{ClientOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	err = rt.Signal(ctx, id, "decision", d, loom.MessageID("decision-of-"+d.By))
	switch {
	case errors.Is(err, loom.ErrNotFound):
		fmt.Println("there is no", id)
	case errors.Is(err, loom.ErrEnded):
		fmt.Println("too late:", id, "is decided")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println("thank you")
	}
}

// printed is an office that only says what it would do.
type printed struct{}

func (printed) Ask(_ context.Context, _, who, about, id string) error {
	fmt.Printf("to %s: %s. Answer with: approval answer %s %s yes\n", who, about, id, who)
	return nil
}

func (printed) Pay(_ context.Context, key, who string, cents int) (string, error) {
	fmt.Printf("paid %d cents to %s (%s)\n", cents, who, key)
	return "payment-" + key[:4], nil
}
