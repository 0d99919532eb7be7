package loom_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store/memstore"
)

// errDeclined is a code of the user's own.
const errDeclined = loom.Code("card_declined")

// seen is what a body saw of an error, as a result that can be compared.
func seen(err error, targets ...error) string {
	if err == nil {
		return "nil"
	}
	var out []string
	for _, target := range targets {
		out = append(out, fmt.Sprint(errors.Is(err, target)))
	}
	return err.Error() + " " + strings.Join(out, " ")
}

func TestAStepGivesItsResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type part struct {
			Name  string
			Sizes []int
			Of    map[string]bool
		}
		flow := loom.NewFlow("parts", func(ctx loom.Context, in part) (part, error) {
			return loom.Do(ctx, "double", func(context.Context) (part, error) {
				return part{in.Name + in.Name, append(in.Sizes, in.Sizes...), in.Of}, nil
			})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		run := begin(t, flow, rt, part{"<&>\u2028", []int{1, 2}, map[string]bool{"x": true}}, loom.ID("p"))
		got, err := run.Result(soon(t))
		if err != nil || got.Name != "<&>\u2028<&>\u2028" || len(got.Sizes) != 4 || !got.Of["x"] {
			t.Fatalf("%+v, %v", got, err)
		}
		if got := kinds(logOf(t, db, "p")); got != "EXECUTION_STARTED EFFECT_SCHEDULED EFFECT_COMPLETED EXECUTION_COMPLETED" {
			t.Fatalf("log: %s", got)
		}
	})
}

// An error keeps its text and the codes of its chain, live and after a restart:
// the body must see the same in both.
func TestAStepsErrorIsTheSameAfterARestart(t *testing.T) {
	_, opened := os.Open(filepath.Join(t.TempDir(), "none"))
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			err  error
			is   []error
			not  []error
		}{
			{"a code", errDeclined, []error{errDeclined}, []error{loom.ErrTimeout}},
			{"wrapped", fmt.Errorf("charge: %w", errDeclined), []error{errDeclined}, nil},
			{"joined", errors.Join(errors.New("x"), errDeclined, loom.ErrNotFound), []error{errDeclined, loom.ErrNotFound}, nil},
			{"std", fmt.Errorf("call: %w", context.DeadlineExceeded), []error{context.DeadlineExceeded}, []error{context.Canceled}},
			{"canceled by itself", context.Canceled, []error{context.Canceled}, []error{loom.ErrCancelled}},
			{"unsupported", fmt.Errorf("x: %w", errors.ErrUnsupported), []error{errors.ErrUnsupported}, nil},
			{"a file", fmt.Errorf("open: %w", fs.ErrNotExist), []error{fs.ErrNotExist}, []error{fs.ErrExist, fs.ErrPermission}},
			{"a file that was opened", opened, []error{fs.ErrNotExist}, []error{fs.ErrExist, fs.ErrPermission}},
			{"a system call", fmt.Errorf("mkdir: %w", syscall.EEXIST), []error{fs.ErrExist}, []error{fs.ErrNotExist}},
			{"the end", io.ErrUnexpectedEOF, []error{io.ErrUnexpectedEOF}, []error{io.EOF}},
			{"no code", fs.ErrClosed, nil, []error{fs.ErrClosed, errDeclined}},
		} {
			var calls service
			flow := loom.NewFlow("pay", func(ctx loom.Context, _ int) (string, error) {
				_, err := loom.Do(ctx, "charge", func(context.Context) (int, error) {
					calls.call("charge")
					return 7, c.err
				})
				var step *loom.StepError
				if !errors.As(err, &step) || step.Step != "charge#1" {
					return "", fmt.Errorf("no StepError: %w", err)
				}
				if _, err := loom.Await[bool](ctx, "go"); err != nil {
					return "", err
				}
				return seen(err, append(c.is, c.not...)...), nil
			})
			want := c.err.Error() + " " + strings.Join(append(slicesOf("true", len(c.is)), slicesOf("false", len(c.not))...), " ")
			db := memstore.New(nil)
			first := open(t, db, loom.Flows(flow))
			begin(t, flow, first, 0, loom.ID("live"))
			begin(t, flow, first, 0, loom.ID("restarted"))
			if err := first.Signal(t.Context(), "live", "go", true); err != nil {
				t.Fatal(err)
			}
			yields(t, attach[string](t, first, "live"), want)
			synctest.Wait() // an error that comes while a node stops is not recorded
			shut(t, first)
			second := open(t, db, loom.Flows(flow))
			if err := second.Signal(t.Context(), "restarted", "go", true); err != nil {
				t.Fatal(err)
			}
			yields(t, attach[string](t, second, "restarted"), want)
			if n := calls.count(""); n != 2 {
				t.Fatalf("%s: %d calls", c.name, n)
			}
			shut(t, second)
		}
	})
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestAPanicInAnEffectIsAStepErrorWithAStack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("boom", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "boom", func(context.Context) (int, error) { panic("kettle " + "\xff" + strings.Repeat("x", 1<<20)) })
			var p *loom.PanicError
			if !errors.As(err, &p) || !strings.HasPrefix(p.Message, "kettle \uFFFD") || len(p.Message) > event.MaxMessageBytes || len(p.Stack) == 0 {
				return "", fmt.Errorf("not a panic as it should be: %.200v", err)
			}
			return "alive", nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), "alive")
	})
}

func TestGoexitInAnEffectIsAStepError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("exit", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "exit", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
			return seen(err, loom.Code(event.CodeExited)), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), "loom: exited true")
	})
}

// brokenError is an error whose methods panic: a typed nil pointer above all.
type brokenError struct{ text string }

func (e *brokenError) Error() string    { return e.text }
func (e *brokenError) LoomCode() string { return e.text }

func TestAnErrorThatCannotSpeakIsAPanicOfItsEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("mute", func(ctx loom.Context, _ int) (string, error) {
			_, err := loom.Do(ctx, "mute", func(context.Context) (int, error) { return 0, (*brokenError)(nil) })
			var p *loom.PanicError
			return fmt.Sprint(errors.As(err, &p)), nil
		})
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		yields(t, begin(t, flow, rt, 0), "true")

		body := loom.NewFlow("mute-body", func(loom.Context, int) (string, error) { return "", (*brokenError)(nil) })
		rt = open(t, memstore.New(nil), loom.Flows(body))
		if err := fails(t, begin(t, body, rt, 0)); err.Code != event.CodePanic {
			t.Fatalf("%v", err)
		}
	})
}

func TestABodysPanicEndsItsExecutionAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("fall", func(ctx loom.Context, n int) (int, error) {
			if err := loom.Sleep(ctx, "nap", time.Second); err != nil {
				return 0, err
			}
			if n == 13 {
				panic(fmt.Sprintf("unlucky \xff%s", strings.Repeat("y", 1<<20)))
			}
			return n, nil
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		bad, good := begin(t, flow, rt, 13, loom.ID("bad")), begin(t, flow, rt, 12)
		err := fails(t, bad)
		var p *loom.PanicError
		if err.Status != fold.Failed || err.Code != event.CodePanic || !errors.As(err, &p) || len(err.Stack) == 0 ||
			!strings.Contains(strings.Join(err.Stack, "\n"), "TestABodysPanicEndsItsExecutionAlone") {
			t.Fatalf("%.300v\n%v", err, err.Stack)
		}
		if len(err.Message) > event.MaxMessageBytes || !strings.HasPrefix(err.Message, "unlucky \uFFFD") {
			t.Fatalf("message of %d bytes: %.40q", len(err.Message), err.Message)
		}
		yields(t, good, 12)
		if s := stateOf(t, db, "bad"); s.Status != fold.Failed || len(s.Failure.Stack) == 0 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestGoexitInABodyEndsItsExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("gone", func(loom.Context, int) (int, error) { runtime.Goexit(); return 1, nil })
		rt := open(t, memstore.New(nil), loom.Flows(flow))
		if err := fails(t, begin(t, flow, rt, 0)); err.Code != event.CodeExited {
			t.Fatal(err)
		}
	})
}

// claim H-21: what user code returns is an ordinary failure, whatever its code.
func TestACodeOfTheKernelsFromUserCodeMeansNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flow := loom.NewFlow("mimic", func(ctx loom.Context, _ int) (int, error) {
			return loom.Do(ctx, "mimic", func(context.Context) (int, error) {
				return 0, errors.Join(loom.ErrCancelled, loom.ErrClosed, &loom.DivergedError{})
			})
		})
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		err := fails(t, begin(t, flow, rt, 0, loom.ID("m")))
		if err.Status != fold.Failed || !errors.Is(err, loom.ErrCancelled) {
			t.Fatalf("%+v", err)
		}
		if h := headOf(t, db, "m"); h.Owner != "" || statusText(h.State) != "failed" {
			t.Fatalf("%+v", h)
		}
	})
}
