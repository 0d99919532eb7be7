package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomwork/loom"
)

// Task is what the flow gets.
type Task struct {
	Question string
	Models   []string // asked first, asked when that one refuses, and so on
	Cents    int      // what all calls together may cost
}

// Answer is what it returns.
type Answer struct {
	Text  string
	Calls int // of models, paid
	Cents int // what they cost
}

// Message is one piece of the conversation that a model is shown.
type Message struct {
	Role string // "user", "model" or "tool"
	Text string
}

// Reply is what a model says: a text at the end, or a tool that it wants to be called.
type Reply struct {
	Text  string
	Tool  string
	Input string
	Cents int // what the call cost
}

// Model calls a paid model, with an upper bound for what the call may cost. A repeat under
// a key is answered like the first call, and paid once.
type Model interface {
	Ask(ctx context.Context, key, model string, limit int, talk []Message) (Reply, error)
}

// Tool does something for a model. It may be called again if the process dies meanwhile.
type Tool func(ctx context.Context, input string) (string, error)

// Errors that end a task.
const (
	ErrBudget  = loom.Code("over_budget")
	ErrRefused = loom.Code("all_models_refused")
)

// Refusal is a model's No. The call was paid for all the same, so that its cost has to
// survive in the log: it is registered, and comes back with its fields.
type Refusal struct {
	Model string
	Cents int
}

func (r *Refusal) Error() string { return fmt.Sprintf("model %s refuses to answer", r.Model) }

func init() { loom.RegisterError[*Refusal]("model_refusal") }

// atMost is what a single call may cost, in cents.
const atMost = 10

// NewAgent returns the flow over a model and tools, by their names.
func NewAgent(model Model, tools map[string]Tool) *loom.Flow[Task, Answer] {
	return loom.NewFlow("agent", func(ctx loom.Context, in Task) (out Answer, err error) {
		models, talk := in.Models, []Message{{"user", in.Question}}
		for len(models) > 0 {
			if out.Cents+atMost > in.Cents {
				return out, fmt.Errorf("%d of %d cents are spent: %w", out.Cents, in.Cents, ErrBudget)
			}

			// A reply is recorded before anything is done with it. However often the process
			// dies, this call is not paid again.
			reply, err := loom.Do(ctx, "model", func(ctx context.Context) (Reply, error) {
				r, err := model.Ask(ctx, loom.IdempotencyKey(ctx), models[0], atMost, talk)
				if no := (*Refusal)(nil); errors.As(err, &no) {
					err = loom.Permanent(err) // the same question gets the same answer
				}
				return r, err
			}, loom.Args(models[0]), loom.Timeout(2*time.Minute), loom.Retry{Attempts: 8, Initial: time.Second, Max: time.Minute})

			if no := (*Refusal)(nil); errors.As(err, &no) {
				out.Calls, out.Cents = out.Calls+1, out.Cents+no.Cents
				loom.Logger(ctx).Info("refused", "by", no.Model)
				models = models[1:]
				continue
			}
			if err != nil {
				return out, err
			}
			out.Calls, out.Cents = out.Calls+1, out.Cents+reply.Cents
			if reply.Tool == "" {
				out.Text = reply.Text
				return out, nil
			}

			result, err := loom.Do(ctx, "tool", func(ctx context.Context) (string, error) {
				tool, ok := tools[reply.Tool]
				if !ok {
					return "there is no tool called " + reply.Tool, nil
				}
				return tool(ctx, reply.Input)
			}, loom.Args([]string{reply.Tool, reply.Input}), loom.Timeout(time.Minute))
			if errors.Is(err, loom.ErrCancelled) {
				return out, err
			}
			if err != nil {
				result = "error: " + err.Error() // for the model to deal with
			}
			talk = append(talk, Message{"model", reply.Tool + " " + reply.Input}, Message{"tool", result})
		}
		return out, ErrRefused
	})
}
