package loom_test

import (
	"context"
	"errors"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// mimic is an error of a user's that carries a code of Loom's.
type mimic string

func (m mimic) Error() string    { return "the gateway says " + string(m) }
func (m mimic) LoomCode() string { return string(m) }

// claim H-21: each code that Loom itself uses, from an effect and from a body: the run
// is not taken for one that was superseded, cancelled, unloaded or refused; it fails at
// its first attempt, with that code, on this node and under its first token.
func TestEveryCodeOfLoomsFromUserCodeIsAFailure(t *testing.T) {
	codes := []string{
		event.CodeError, event.CodeCancelled, event.CodeDeadline, event.CodeTimeout, event.CodeOutcomeUnknown, event.CodePanic,
		event.CodeExited, event.CodeTooLarge, event.CodeInvalidResult, event.CodeCleanup,
		"unloading", "not_found", "ended", "closed", "deleting", "diverged", "wrong_branch", "foreign_goroutine", "invalid_id",
		"undecodable", "already_exists", "storage_write", "start_fenced_out", "stuck", "unknown_flow", "impossible_log",
		"invalid_input", "invalid_name", "unsupported", "refused", "vanished", "corrupt", "epoch", "full", "read_only", "busy",
		"unavailable", "stale_fence", "duplicate_sequence", "duplicate_envelope", "gap",
	}
	bubble(t, func(t *testing.T) {
		var calls service
		flow := loom.NewFlow("mimic", func(ctx loom.Context, code string) (int, error) {
			if code, ok := effectOf(code); ok {
				return loom.Do(ctx, "mimic", func(context.Context) (int, error) { calls.call(code); return 0, mimic(code) })
			}
			return 0, mimic(code)
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		for _, code := range codes {
			for _, in := range []string{code, "effect " + code} {
				run := begin(t, flow, rt, in)
				err := fails(t, run)
				var plain *loom.StorageWriteError
				if err.Status != fold.Failed || !errors.Is(err, loom.Code(code)) && code != event.CodeError || errors.As(err, &plain) {
					t.Errorf("%s: %+v", in, err)
				}
				if h := headOf(t, db, run.ID()); h.Owner != "" || h.State != store.StateFailed || h.Tip.Fence != 0 || h.Strikes != 0 {
					t.Errorf("%s: %+v", in, h)
				}
			}
			if n := calls.count(code); n != 1 {
				t.Errorf("%s: %d calls", code, n)
			}
		}
	})
}

// effectOf is the code that the effect is to return, if it is not the body.
func effectOf(in string) (code string, ok bool) {
	if len(in) > 7 && in[:7] == "effect " {
		return in[7:], true
	}
	return in, false
}
