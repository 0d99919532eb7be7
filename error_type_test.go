package loom_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// declinedError is a registered type that is a pointer.
type declinedError struct {
	Card   string          `json:"card"`
	Cents  int64           `json:"cents"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Weight float64         `json:"weight,omitempty"`
}

func (e *declinedError) Error() string { return fmt.Sprintf("card %s: %d declined", e.Card, e.Cents) }

// Temporary makes it one of those that an interface finds.
func (e *declinedError) Temporary() bool { return e.Cents < 100 }

// busyError is one that is a comparable value with a code of its own that nobody sees.
type busyError struct{ Line int }

func (e busyError) Error() string    { return fmt.Sprint("line is busy: ", e.Line) }
func (e busyError) LoomCode() string { return "not_this" }

// secretError writes itself down.
type secretError struct{ inner string }

func (e *secretError) Error() string                { return "secret " + e.inner }
func (e *secretError) MarshalJSON() ([]byte, error) { return json.Marshal([]string{e.inner}) }
func (e *secretError) UnmarshalJSON(raw []byte) error {
	var in []string
	if err := json.Unmarshal(raw, &in); err != nil || len(in) != 1 {
		return errors.Join(err, errors.New("not one"))
	}
	e.inner = in[0]
	return nil
}

func init() {
	loom.RegisterError[*declinedError]("test_declined")
	loom.RegisterError[busyError]("test_busy")
	loom.RegisterError[*secretError]("test_secret")
}

// sees describes what is found in an error; it is the same for the original and for every
// record of it.
func sees(err error) string {
	var d *declinedError
	var b busyError
	var s *secretError
	var temporary interface{ Temporary() bool }
	out := fmt.Sprint(errors.Is(err, loom.Code("test_declined")), errors.Is(err, loom.Code("test_busy")), errors.Is(err, loom.Code("not_this")),
		errors.Is(err, busyError{7}), errors.Is(err, busyError{8}), errors.Is(err, io.EOF))
	if errors.As(err, &d) {
		out += fmt.Sprintf(" declined %s %d %s", d.Card, d.Cents, d.Answer)
	}
	if errors.As(err, &b) {
		out += fmt.Sprint(" busy ", b.Line)
	}
	if errors.As(err, &s) {
		out += " " + s.inner
	}
	if errors.As(err, &temporary) {
		out += fmt.Sprint(" temporary ", temporary.Temporary())
	}
	return out
}

const seesAll = `true true false true false true declined 4242 99 {"why":1e2} busy 7 inner temporary true`

// allErrors is an error with all of them in its chain.
func allErrors() error {
	return fmt.Errorf("pay: %w", errors.Join(&declinedError{Card: "4242", Cents: 99, Answer: json.RawMessage(`{"why":1e2}`)}, &declinedError{Card: "second"},
		fmt.Errorf("line: %w", busyError{7}), &secretError{"inner"}, io.EOF))
}

// Errors of registered types come back as themselves: in the body that called, after a
// crash in another process, from a child, in the result here and elsewhere, and through
// what another body makes of them.
func TestErrorsOfRegisteredTypesComeBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		saw := map[string]string{}
		child := loom.NewFlow("child", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "pay", func(context.Context) (int, error) { return 0, allErrors() })
		})
		flow := loom.NewFlow("pays", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "pay", func(context.Context) (int, error) { return 0, allErrors() })
			saw["step"] += sees(err) + "\n"
			_, err = child.Child(ctx, 0)
			saw["child"] += sees(err) + "\n"
			if err := loom.Sleep(ctx, "nap", time.Minute); err != nil {
				return "", err
			}
			if err := loom.Cleanup(ctx, "undo", func(loom.Context) error { return fmt.Errorf("again: %w", err) }); err != nil {
				return "", err
			}
			return "", fmt.Errorf("gave up: %w", err)
		})
		db := memstore.New(nil)
		rt, way := tapped(t, db, loom.Flows(flow, child))
		begin(t, flow, rt, 0, loom.ID("x"))
		pass(t, 30*time.Second)
		way.kill()
		second, client := open(t, db, loom.Flows(flow, child)), open(t, db, loom.Tuning{ClientOnly: true})
		for name, node := range map[string]*loom.Runtime{"driver": second, "client": client} { // order does not matter: both are asked
			err := fails(t, attach[string](t, node, "x"))
			if got := sees(err); got != seesAll || !errors.Is(err, loom.ErrCleanup) {
				t.Errorf("%s: the result is %v\n%s\n%s", name, err, got, seesAll)
			}
		}
		for _, what := range []string{"step", "child"} {
			if got, want := saw[what], seesAll+"\n"+seesAll+"\n"; got != want {
				t.Errorf("the %s in two runs of the body:\n%swant\n%s", what, got, want)
			}
		}
		if d := payloads[event.EffectFailed](t, db, "x")[0].Error.Details; len(d) != 4 || string(d[0].Value) != `{"card":"4242","cents":99,"answer":{"why":1e2}}` {
			t.Errorf("recorded: %s", d)
		}
	})
}

// What cannot be written, or is too much, is left out: the text and the code stay.
func TestErrorsThatCannotBeWrittenKeepTheirTextAndCode(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 80) + strings.Repeat("]", 80))
	for name, tc := range map[string]struct { // order does not matter: each stands for itself
		err     error
		details int
	}{
		"no number":    {&declinedError{Weight: math.NaN()}, 0},
		"too large":    {&declinedError{Card: strings.Repeat("x", event.MaxDetailBytes)}, 0},
		"too deep":     {&declinedError{Answer: deep}, 0},
		"broken text":  {&declinedError{Card: "\xff"}, 0},
		"second large": {errors.Join(&declinedError{}, &declinedError{Card: strings.Repeat("x", event.MaxDetailBytes-10)}, &declinedError{}), 2},
	} {
		bubble(t, func(t *testing.T) {
			flow := loom.NewFlow("bad", func(ctx loom.Context, _ int) (int, error) {
				return loom.Do(ctx, "x", func(context.Context) (int, error) { return 0, tc.err })
			})
			db := memstore.New(nil)
			rt := open(t, db, loom.Flows(flow))
			err := fails(t, begin(t, flow, rt, 0, loom.ID("x")))
			var d *declinedError
			if !errors.Is(err, loom.Code("test_declined")) || errors.As(err, &d) != (tc.details > 0) || err.Message == "" {
				t.Errorf("%s: %.200v", name, err)
			}
			if got := len(stateOf(t, db, "x").Failure.Details); got != tc.details {
				t.Errorf("%s: %d details", name, got)
			}
		})
	}
}

// A record of a type that this process does not know, or cannot read, is a RecordedError.
func TestErrorsOfUnknownTypesAreRecordedErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		started := event.ExecutionStarted{Flow: "f", Input: json.RawMessage("1"), Seed: "0"}
		failed := event.ExecutionFailed{Error: &event.Failure{Code: "of_tomorrow", Message: "m", Details: []event.Detail{
			{Code: "of_tomorrow", Value: json.RawMessage(`{"a":1}`)}, {Code: "test_secret", Value: json.RawMessage(`7`)}, {Code: "test_busy", Value: json.RawMessage(`null`)}}}}
		req := store.Request{Execution: "x", Nonce: store.Nonce{1}, Expect: store.Absent(), Index: &store.IndexEntry{Flow: "f"}, State: store.StateFailed,
			Events: []event.Envelope{event.New("x", 0, 1, started, nil), event.New("x", 1, 1, failed, nil)}}
		if res, err := db.Commit(t.Context(), req); err != nil || res[0].Outcome != store.Committed {
			t.Fatal(res, err)
		}
		rt := open(t, db)
		err := fails(t, attach[int](t, rt, "x"))
		var d *declinedError
		var s *secretError
		var b busyError
		if errors.As(err, &d) || errors.As(err, &s) || !errors.As(err, &b) || b != (busyError{}) || !errors.Is(err, loom.Code("of_tomorrow")) {
			t.Fatalf("%+v", err)
		}
	})
}

// badKind is an error that no record can be filled into.
type badKind string

func (e badKind) Error() string { return string(e) }

func TestRegisterErrorRefusesWhatCannotWork(t *testing.T) {
	loom.RegisterError[*declinedError]("test_declined") // again, and the same: nothing changes
	for name, register := range map[string]func(){      // order does not matter: each stands for itself
		"a bad name":        func() { loom.RegisterError[*brokenError]("no good") },
		"an own name":       func() { loom.RegisterError[*brokenError]("loom.x") },
		"an own code":       func() { loom.RegisterError[*brokenError]("cancelled") },
		"a foreign code":    func() { loom.RegisterError[*brokenError]("eof") },
		"a taken code":      func() { loom.RegisterError[*brokenError]("test_busy") },
		"a second code":     func() { loom.RegisterError[busyError]("test_busier") },
		"no struct":         func() { loom.RegisterError[badKind]("test_bad") },
		"an interface":      func() { loom.RegisterError[error]("test_any") },
		"an own type's":     func() { loom.RegisterError[*brokenError]("diverged") },
		"a refused start's": func() { loom.RegisterError[*brokenError]("already_exists") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was registered", name)
				}
			}()
			register()
		}()
	}
}

// reservedCodes are all that the kernel, its errors and its store write or answer with.
var reservedCodes = []string{event.CodeError, event.CodeCancelled, event.CodeDeadline, event.CodeTimeout, event.CodeOutcomeUnknown,
	event.CodePanic, event.CodeExited, event.CodeTooLarge, event.CodeInvalidResult, event.CodeTerminated, event.CodeCleanup,
	"not_an_effect", "settled", "unloading", "not_found", "ended", "closed", "deleting", "already_exists", "diverged", "wrong_branch",
	"foreign_goroutine", "invalid_input", "invalid_name", "storage_write", "start_fenced_out", "stale_fence", "superseded", "undecodable",
	"impossible_log", "context_canceled", string(store.ErrCorrupt)}

// claim H-21: a body and an effect return each code of the kernel's after the execution was
// asked to give way, or its deadline has passed: a failure like any other, tried as often as
// any other, and never what the kernel would have written under that code.
func TestEveryReservedCodeFromUserCodeIsAnOrdinaryFailure(t *testing.T) {
	for _, asked := range []string{"cancel", "deadline"} {
		for _, from := range []string{"body", "effect"} {
			bubble(t, func(t *testing.T) {
				var calls service
				flow := loom.NewFlow("forger", func(ctx loom.Context, code string) (int, error) {
					err := error(fmt.Errorf("wrapped: %w", mimic(code)))
					if from == "effect" {
						_, err = loom.Do(ctx, "act", func(context.Context) (int, error) {
							calls.call(code)
							return 0, mimic(code)
						}, loom.Retry{Attempts: 3, Initial: time.Second})
					}
					if gave := loom.Sleep(ctx, "nap", time.Hour); !errors.Is(gave, loom.ErrCancelled) {
						return 0, errors.New("nobody asked")
					}
					return 0, err
				})
				db := memstore.New(nil)
				rt := open(t, db, loom.Flows(flow), loom.Tuning{Unload: 2 * time.Hour})
				for _, code := range reservedCodes {
					var opts []loom.StartOption
					if asked == "deadline" {
						opts = append(opts, loom.Deadline(time.Now().Add(time.Minute)))
					}
					run := begin(t, flow, rt, code, append(opts, loom.ID(code))...)
					if asked == "cancel" {
						pass(t, 30*time.Second)
						if err := run.Cancel(t.Context(), "enough"); err != nil {
							t.Fatal(err)
						}
					}
					err := fails(t, run)
					if err.Status != fold.Failed || err.Code != code || !errors.Is(err, loom.Code(code)) || !strings.HasSuffix(err.Message, "the gateway says "+code) {
						t.Errorf("%s, %s, %s: %+v", asked, from, code, err)
					}
					var p *loom.PanicError
					if errors.As(err, &p) {
						t.Errorf("%s is a panic", code)
					}
					if n := calls.count(code); from == "effect" && n != 3 {
						t.Errorf("%s, %s: %d calls, want 3", asked, code, n)
					}
					if h := headOf(t, db, code); statusText(h.State) != "failed" || h.Owner != "" || h.Tip.Fence != 0 {
						t.Errorf("%s, %s, %s: %+v", asked, from, code, h)
					}
				}
			})
		}
	}
}

// The errors that a cancel makes still end an execution as cancelled: as they are, with
// text around them, out of a step that was asked to give way, or out of a child.
func TestABodyThatGivesWayIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		child := loom.NewFlow("child", func(ctx loom.Context, _ string) (int, error) { return 0, loom.Sleep(ctx, "nap", time.Hour) })
		flow := loom.NewFlow("yields", func(ctx loom.Context, how string) (int, error) {
			switch how {
			case "step":
				return loom.Do(ctx, "act", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			case "child":
				return child.Child(ctx, "")
			case "branch":
				all, err := loom.All(ctx, loom.Go(ctx, "a", func(ctx loom.Context) (int, error) { return 0, loom.Sleep(ctx, "nap", time.Hour) }))
				return len(all), err
			}
			return 0, fmt.Errorf("while asleep: %w", loom.Sleep(ctx, "nap", time.Hour))
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow, child))
		for _, how := range []string{"step", "child", "branch", "sleep"} {
			run := begin(t, flow, rt, how)
			pass(t, time.Minute)
			if err := run.Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if err := fails(t, run); err.Status != fold.Cancelled || !errors.Is(err, loom.ErrCancelled) {
				t.Errorf("%s: %+v", how, err)
			}
		}
	})
}
