package loom_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store/memstore"
)

// loop is a value that no encoder can write down.
type loop struct{ Next *loop }

func endless() *loop {
	l := &loop{}
	l.Next = l
	return l
}

// unwritable are values that cannot be recorded.
var unwritable = map[string]any{
	"NaN": math.NaN(), "infinity": math.Inf(1), "a channel": make(chan int), "a function": func() {},
	"a cycle": endless(), "invalid UTF-8": "a\xffb", "invalid UTF-8 as a key": map[string]int{"\xff": 1},
	"invalid UTF-8 deep inside": []any{map[string]any{"k": []string{"ok", "\xc3\x28"}}},
	"raw JSON that is none":     json.RawMessage("{"), "raw JSON with invalid UTF-8": json.RawMessage("\"\xff\""),
}

// A value that cannot be recorded is refused, with a typed error that names it, before
// anything is written.
func TestAValueThatCannotBeWrittenIsRefusedBeforeAnythingIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("any", func(ctx loom.Context, _ any) (int, error) { return loom.Await[int](ctx, "n") })
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		begin(t, flow, rt, nil, loom.ID("there"))
		synctest.Wait()
		before := headOf(t, db, "there")
		for name, v := range unwritable {
			for _, opts := range [][]loom.StartOption{nil, {loom.ID("x")}} {
				run, err := flow.Start(t.Context(), rt, v, opts...)
				var invalid *loom.InputValidationError
				if run != nil || !errors.As(err, &invalid) || invalid.What != "input of flow any" {
					t.Errorf("input %s: %v", name, err)
				}
			}
			err := rt.Signal(t.Context(), "there", "n", v)
			var invalid *loom.InputValidationError
			if !errors.As(err, &invalid) || invalid.What != "message n" {
				t.Errorf("message %s: %v", name, err)
			}
		}
		var invalid *loom.InputValidationError
		if err := rt.Cancel(t.Context(), "there", "\xff"); !errors.As(err, &invalid) {
			t.Errorf("reason: %v", err)
		}
		synctest.Wait()
		if ids := everything(t, db); len(ids) != 1 || headOf(t, db, "there").Mail != before.Mail {
			t.Fatalf("something was written: %v, %+v", ids, headOf(t, db, "there"))
		}
	})
}

// U+FFFD itself, and its escape, are text like any other.
func TestTheReplacementCharacterIsText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("echo", func(_ loom.Context, in string) (string, error) { return in, nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		for _, text := range []string{"\uFFFD", `\ufffd`, `\\ufffd`, "\x00\x1f\u2028<&>", `"`} {
			yields(t, begin(t, flow, rt, text), text)
		}
	})
}

// JSON that comes ready-made, from a model say, may escape the character: it is valid.
func TestReadyMadeJSONMayEscapeTheReplacementCharacter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type reply struct {
			Body json.RawMessage
			Of   map[string]any
			Text *string
		}
		text := "fine"
		flow := loom.NewFlow("echo", func(ctx loom.Context, in reply) (reply, error) {
			return loom.Do(ctx, "reply", func(context.Context) (reply, error) { return in, nil })
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		in := reply{Body: json.RawMessage(`{"a":"\ufffd","b":["\ufffd"]}`), Of: map[string]any{"k": []string{"x"}}, Text: &text}
		out, err := begin(t, flow, rt, in).Result(soon(t))
		if err != nil || string(out.Body) != string(in.Body) {
			t.Fatalf("%s, %v", out.Body, err)
		}
		broken := "\xff"
		for _, in := range []reply{{Body: in.Body, Text: &broken}, {Body: in.Body, Of: map[string]any{broken: 1}}, {Body: in.Body, Of: map[string]any{"k": []string{broken}}}} {
			var invalid *loom.InputValidationError
			if _, err := flow.Start(t.Context(), rt, in); !errors.As(err, &invalid) {
				t.Errorf("broken text beside it: %v", err)
			}
		}
	})
}

// What an effect's arguments or result hold is checked too: arguments before the intent;
// a result was paid for and settles its step.
func TestAStepsValuesAreChecked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, v := range unwritable {
			var calls counter
			got, db, id, err := run1(t, func(ctx loom.Context) (string, error) {
				effect := func(context.Context) (any, error) { calls.inc(); return v, nil }
				_, args := loom.Do(ctx, "x", effect, loom.Args(v))
				var invalid *loom.InputValidationError
				if !errors.As(args, &invalid) || invalid.What != "arguments of step x" {
					return "", fmt.Errorf("arguments: %w", args)
				}
				_, result := loom.Do(ctx, "x", effect, loom.Retry{Attempts: 5})
				var step *loom.StepError
				if !errors.As(result, &step) || step.Code != event.CodeInvalidResult {
					return "", fmt.Errorf("result: %w", result)
				}
				return "ok", nil
			})
			if err != nil || got != "ok" {
				t.Errorf("%s: %v", name, err)
			}
			calls.is(t, "the effect was called", 1)
			if log := kinds(logOf(t, db, id)); log != "EXECUTION_STARTED EFFECT_SCHEDULED EFFECT_FAILED EXECUTION_COMPLETED" {
				t.Errorf("%s: %s", name, log)
			}
		}
	})
}

// A result of a body that cannot be written down fails its execution.
func TestABodysResultIsChecked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, v := range unwritable {
			_, _, _, err := run1(t, func(loom.Context) (any, error) { return v, nil })
			var ended *loom.ExecutionError
			if !errors.As(err, &ended) || ended.Code != event.CodeInvalidResult {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Over the limit: refused with the size and the limit before anything is written; a
// result was paid for and settles as too large, durable and not retried.
func TestWhatIsTooLargeIsRefusedOrSettled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const limit = 1000
		var calls counter
		exactly, over := strings.Repeat("x", limit-2), strings.Repeat("x", limit-1)
		flow := loom.NewFlow("text", func(ctx loom.Context, in string) (string, error) {
			if in != "results" {
				return in, nil
			}
			if _, err := loom.Do(ctx, "args", func(context.Context) (int, error) { return 0, nil }, loom.Args(over)); tooLarge(err, limit+1, limit) != nil {
				return "", tooLarge(err, limit+1, limit)
			}
			_, err := loom.Do(ctx, "big", func(context.Context) (string, error) { calls.inc(); return over, nil }, loom.Retry{Attempts: 5})
			var step *loom.StepError
			if !errors.As(err, &step) || step.Code != event.CodeTooLarge || tooLarge(err, 0, 0) != nil {
				return "", fmt.Errorf("result: %w", err)
			}
			return over, nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow), loom.Tuning{MaxPayload: limit})
		for _, opts := range [][]loom.StartOption{nil, {loom.ID("x")}} {
			_, err := flow.Start(t.Context(), rt, over, opts...)
			if err := tooLarge(err, limit+1, limit); err != nil {
				t.Error(err)
			}
		}
		if ids := everything(t, db); len(ids) != 0 {
			t.Fatal(ids)
		}
		yields(t, begin(t, flow, rt, exactly), exactly)
		run := begin(t, flow, rt, "results", loom.ID("r"))
		if err := fails(t, run); err.Code != event.CodeTooLarge || tooLarge(err, 0, 0) != nil {
			t.Fatal(err)
		}
		calls.is(t, "the effect was called", 1)
		waits := begin(t, flow, rt, "results", loom.ID("again"))
		if err := tooLarge(rt.Signal(t.Context(), waits.ID(), "m", over), limit+1, limit); err != nil {
			t.Error(err)
		}
	})
}

// tooLarge checks that err is a TooLargeError of this size.
func tooLarge(err error, bytes, limit int) error {
	var large *loom.TooLargeError
	if !errors.As(err, &large) || large.Bytes != bytes || large.Limit != limit {
		return fmt.Errorf("not the TooLargeError that it should be: %w", err)
	}
	return nil
}

// Error texts are cut at 16 KiB and made valid UTF-8, wherever they come from.
func TestErrorTextsAreCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := errors.New("\xff" + strings.Repeat("ä", 1<<20))
		_, db, id, err := run1(t, func(ctx loom.Context) (int, error) {
			_, err := loom.Do(ctx, "x", func(context.Context) (int, error) { return 0, long }, loom.Retry{Attempts: 2})
			return 0, fmt.Errorf("%w%s", err, strings.Repeat("é", 1<<20))
		})
		var ended *loom.ExecutionError
		if !errors.As(err, &ended) || len(ended.Message) > event.MaxMessageBytes || len(ended.Message) < event.MaxMessageBytes-4 {
			t.Fatalf("%d bytes", len(ended.Message))
		}
		for _, e := range logOf(t, db, id) {
			if len(e.Payload) > event.MaxMessageBytes+1000 {
				t.Errorf("%s has %d bytes", e.ID(), len(e.Payload))
			}
		}
	})
}

// An input that is not what the flow takes, as another program may start it, fails the
// execution with a typed cause.
func TestAnInputOfAnotherShapeFailsTheExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := loom.NewFlow("shape", func(loom.Context, string) (int, error) { return 0, nil })
		number := loom.NewFlow("shape", func(_ loom.Context, n int) (int, error) { return n, nil })
		db := memstore.New(nil)
		client, worker := open(t, db, loom.Tuning{ClientOnly: true}), open(t, db, loom.Flows(number))
		run := begin(t, text, client, "seven")
		if err := fails(t, run); err.Code != "invalid_input" || !strings.Contains(err.Message, "input of flow shape") {
			t.Fatalf("%+v", err)
		}
		_ = worker
	})
}
