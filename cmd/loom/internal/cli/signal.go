package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/spf13/cobra"
)

// sent is the data of "signal --json".
type sent struct {
	Execution string `json:"execution"`
	Name      string `json:"name"`
	MessageID string `json:"messageId"`
}

func (a *app) signal() *cobra.Command {
	var messageID string
	c := &cobra.Command{
		Use:   "signal ID NAME [VALUE|@FILE]",
		Short: "send an execution a message",
		Long: `signal sends an execution the message NAME. VALUE is JSON; @FILE reads it from a file,
@- from standard input; without it the message is null. When signal has returned, the
message is durable, and the first await of its name receives it, once. Repeat a signal
whose outcome is unknown with the same --message-id.`,
		Example:           "  loom signal order-42 approval true\n  loom signal order-42 note '\"call back\"'\n  loom signal order-42 order @order.json",
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: a.completeID,
		RunE: a.with("ls", func(ctx context.Context, o *opened, _ *cobra.Command, args []string) error {
			value := json.RawMessage("null")
			if len(args) == 3 {
				var err error
				if value, err = a.value(args[2]); err != nil {
					return err
				}
			}
			id, err := o.whole(ctx, "signal", args[0])
			if err != nil {
				return err
			}
			if messageID == "" {
				messageID = newMessageID()
			}
			if err := o.rt.Signal(ctx, id, args[1], value, loom.MessageID(messageID)); err != nil {
				return undelivered(err, o, id)
			}
			if a.flags.json {
				return a.screen.Emit("signal", sent{Execution: id, Name: args[1], MessageID: messageID})
			}
			a.screen.Printf("sent %s to %s as message %s\n", args[1], id, messageID)
			return nil
		}),
	}
	c.Flags().StringVar(&messageID, "message-id", "", "the message's `id`: sent again under it, it is received once")
	return c
}

// undelivered is the error of a message that was not taken.
func undelivered(err error, o *opened, id string) error {
	e := fault.Of(err, o.again("show %s", id))
	if e.Code == loom.ErrEnded.LoomCode() {
		e.Message = fmt.Sprintf("execution %s has ended and takes no message", id)
	}
	return e
}

func newMessageID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return "cli-" + hex.EncodeToString(b[:])
}

// value reads a JSON value from an argument.
func (a *app) value(arg string) (json.RawMessage, error) {
	raw := []byte(arg)
	if name, ok := strings.CutPrefix(arg, "@"); ok {
		var err error
		if name == "-" {
			raw, err = io.ReadAll(a.stdin)
		} else {
			raw, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, fault.Of(err, "loom signal --help")
		}
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.Usage, "invalid_json", "the value is no JSON; a text needs quotes of its own: '\"text\"'", "loom signal --help")
	}
	return raw, nil
}
