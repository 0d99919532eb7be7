package loom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// two is a flow that receives a word, and another if it is told to.
var two = loom.NewFlow("two-words", func(ctx loom.Context, n int) (string, error) {
	var words []string
	for range n {
		w, err := loom.Await[string](ctx, "word")
		if err != nil {
			return "", err
		}
		words = append(words, w)
	}
	return strings.Join(words, " "), nil
})

// case 47: a message that a start brings is there before the body asks, however it starts:
// here or for others, under a chosen id or a minted one, now or later; also for a body that
// asks whether there is one, and for one that asks for nothing.
func TestAStartBringsItsMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		poll := loom.NewFlow("poll", func(ctx loom.Context, _ int) (string, error) {
			a, err := loom.Await[string](ctx, "word", loom.Within(0))
			if err != nil {
				return "", err
			}
			b, err := loom.Await[string](ctx, "word", loom.Within(0))
			return a + b, err
		})
		deaf := loom.NewFlow("deaf", func(loom.Context, int) (string, error) { return "deaf", nil })
		warned := &warnings{}
		db := memstore.New(nil)
		client := open(t, db, loom.Tuning{ClientOnly: true})
		rt := open(t, db, loom.Flows(poll, deaf), warned.hooks())
		mail := func() []loom.StartOption {
			return []loom.StartOption{loom.WithSignal("word", "a", loom.MessageID("m1")), loom.WithSignal("word", "b"), loom.WithSignal("word", "a", loom.MessageID("m1"))}
		}
		yields(t, begin(t, poll, rt, 0, append(mail(), loom.ID("chosen"))...), "ab")
		yields(t, begin(t, poll, rt, 0, mail()...), "ab")
		yields(t, begin(t, poll, client, 0, mail()...), "ab")
		before := time.Now()
		yields(t, begin(t, poll, rt, 0, append(mail(), loom.Delay(time.Hour), loom.ID("late"))...), "ab")
		if time.Since(before) < time.Hour {
			t.Error("a message made a delayed start begin early")
		}
		if first := logOf(t, db, "late")[1].Time.Time(); first.Before(before.Add(time.Hour)) {
			t.Errorf("it began at %v", first)
		}
		run := begin(t, deaf, rt, 0, mail()...)
		yields(t, run, "deaf")
		var left *loom.LeftoverError
		if errs := warned.of(run.ID()); len(errs) != 1 || !errors.As(errs[0], &left) || left.Count != 2 || fmt.Sprint(left.Names) != "[word]" {
			t.Fatalf("%v", errs)
		}
	})
}

// A start that cannot be writes nothing: a bad message, too many, an id that exists.
func TestAStartWithABadMessageWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(two), loom.Tuning{MaxPayload: 1000})
		for _, bad := range []loom.StartOption{
			loom.WithSignal("loom.cancel", 1), loom.WithSignal("no good", 1), loom.WithSignal("word", make(chan int)),
			loom.WithSignal("word", strings.Repeat("x", 1001)), loom.WithSignal("word", 1, loom.MessageID("no good")),
		} {
			if run, err := two.Start(t.Context(), rt, 1, loom.ID("x"), bad); run != nil || err == nil {
				t.Errorf("started: %v", err)
			}
		}
		many := []loom.StartOption{loom.ID("x")}
		for range 65 {
			many = append(many, loom.WithSignal("word", 1))
		}
		if _, err := two.Start(t.Context(), rt, 1, many...); err == nil {
			t.Error("started with 65 messages")
		}
		if n := len(everything(t, db)); n != 0 {
			t.Fatalf("%d executions", n)
		}
		run := begin(t, two, rt, 1, loom.ID("x"))
		_, err := two.Start(t.Context(), rt, 1, loom.ID("x"), loom.WithSignal("word", "not this"))
		var there *loom.ExecutionAlreadyExistsError
		if !errors.As(err, &there) {
			t.Fatal(err)
		}
		signal(t, rt, "x", "word", "this")
		yields(t, run, "this")
	})
}

// Signal-with-start starts or signals, never both; a repeat with its message id is received
// once, whatever it finds: nothing, a running execution, one that has ended.
func TestSignalWithStartIsOneOfTheTwo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		other := loom.NewFlow("other", func(ctx loom.Context, _ int) (string, error) { return loom.Await[string](ctx, "word") })
		db := memstore.New(nil)
		a, b := open(t, db, loom.Flows(two, other)), open(t, db, loom.Flows(two, other))
		send := func(rt *loom.Runtime, word, message string) (*loom.Run[string], bool, error) {
			return two.SignalWithStart(t.Context(), rt, "x", 2, "word", word, loom.MessageID(message), loom.Labels(map[string]string{"by": message}))
		}
		run, started, err := send(a, "one", "m1")
		if err != nil || !started {
			t.Fatal(started, err)
		}
		pass(t, time.Minute) // received, and parked
		for _, rt := range []*loom.Runtime{a, b} {
			if _, started, err := send(rt, "one", "m1"); err != nil || started {
				t.Fatalf("a repeat: %v, %v", started, err)
			}
		}
		if _, _, err := other.SignalWithStart(t.Context(), a, "x", 1, "word", "no"); err == nil {
			t.Fatal("another flow's execution was signalled")
		}
		if _, started, err := send(b, "two", "m2"); err != nil || started {
			t.Fatal(started, err)
		}
		yields(t, run, "one two")
		for _, m := range []string{"m1", "m2"} {
			if run, started, err := send(b, "again", m); err != nil || started || run.ID() != "x" {
				t.Fatalf("a repeat after the end: %v, %v", started, err)
			}
		}
		if run, started, err := send(b, "three", "m3"); run != nil || started || !errors.Is(err, loom.ErrEnded) {
			t.Fatalf("%v %v", started, err)
		}
		if s, _ := a.Summary(t.Context(), "x"); s.Labels["by"] != "m1" || len(logOf(t, db, "x")) != 6 {
			t.Fatalf("%+v\n%s", s, kinds(logOf(t, db, "x")))
		}
	})
}

// Many callers at once on two nodes: one starts, every word is received once.
func TestManySignalsWithStartAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 20
		db := memstore.New(nil)
		nodes := []*loom.Runtime{open(t, db, loom.Flows(two)), open(t, db, loom.Flows(two))}
		type answer struct {
			started bool
			err     error
		}
		answers := make(chan answer, n)
		for i := range n {
			go func() {
				_, started, err := two.SignalWithStart(context.Background(), nodes[i%2], "x", n, "word", fmt.Sprintf("<%d>", i))
				answers <- answer{started, err}
			}()
		}
		starts := 0
		for range n {
			a := <-answers
			if a.err != nil {
				t.Fatal(a.err)
			}
			if a.started {
				starts++
			}
		}
		got, err := attach[string](t, nodes[0], "x").Result(soon(t))
		if err != nil || starts != 1 {
			t.Fatalf("%d starts, %v", starts, err)
		}
		for i := range n {
			if strings.Count(got, fmt.Sprintf("<%d>", i)) != 1 {
				t.Errorf("word %d in %s", i, got)
			}
		}
	})
}

// The node dies at each of its writes, or posts, before the store has it and after; the
// caller repeats the call on another node under the same message id. The word is in the log
// once, and the execution is one.
func TestSignalWithStartSurvivesACrashAtEachWrite(t *testing.T) {
	for _, exists := range []bool{false, true} {
		for _, landed := range []bool{false, true} {
			for k := 1; ; k++ {
				reached := false
				bubble(t, func(t *testing.T) {
					db := memstore.New(nil)
					second := open(t, db, loom.Flows(two), loom.Tuning{ClientOnly: true})
					if exists {
						begin(t, two, second, 1, loom.ID("x"))
					}
					first, way := tapped(t, db, loom.Flows(two))
					var n atomic.Int64
					die := func(c call) {
						if c.id != "x" || c.op != "commit" && c.op != "post" {
							return
						}
						if n.Add(1) == int64(k) {
							reached = true
							way.kill()
						}
					}
					if landed {
						way.onAnswer(func(c call, _ store.Result) { die(c); _ = way.alive() })
					} else {
						way.on(die)
					}
					go func() {
						_, _, _ = two.SignalWithStart(context.Background(), first, "x", 1, "word", "hello", loom.MessageID("m"))
					}()
					pass(t, 5*time.Second)
					if _, _, err := two.SignalWithStart(t.Context(), second, "x", 1, "word", "hello", loom.MessageID("m")); err != nil {
						t.Fatalf("k=%d, landed %v: the repeat: %v", k, landed, err)
					}
					pass(t, time.Minute)
					third := open(t, db, loom.Flows(two))
					yields(t, attach[string](t, third, "x"), "hello")
					if got := payloads[event.MessageReceived](t, db, "x"); len(got) != 1 || got[0].Message != "m" {
						t.Fatalf("k=%d: received %v", k, got)
					}
					way.release()
				})
				if !reached {
					if k < 3 {
						t.Fatalf("only %d writes were met", k-1)
					}
					break
				}
			}
		}
	}
}
