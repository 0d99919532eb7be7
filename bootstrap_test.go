package loom_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// worked is a flow that counts how far it came.
func worked(bodies *counter, calls *service) *loom.Flow[int, string] {
	return loom.NewFlow("work", func(ctx loom.Context, _ int) (string, error) {
		bodies.inc()
		for range 2 {
			if _, err := step(ctx, calls, "x"); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
}

// claim B-08: with a chosen id nothing of the run happens before sequence 0 is durable: no
// body, no effect, no hook, no return of Start; then each exactly once, in that order.
func TestAChosenIDIsDurableBeforeAnythingRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		heard := &hears{}
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		commits := shutGate(t)
		way.commitGate(commits, "x")
		started := make(chan *loom.Run[string], 1)
		go func() { started <- begin(t, flow, rt, 0, loom.ID("x")) }()
		pass(t, 2*time.Second)
		select {
		case <-started:
			t.Fatal("Start returned before sequence 0 was durable")
		default:
		}
		bodies.is(t, "body entered", 0)
		if len(heard.all("x")) != 0 || calls.count("") != 0 || commits.waiting() != 1 {
			t.Fatalf("heard %v, %d calls, %d commits", heard.all("x"), calls.count(""), commits.waiting())
		}
		commits.open()
		yields(t, <-started, "done")
		bodies.is(t, "body entered", 1)
		synctest.Wait()
		if got := strings.Join(heard.all("x")[:2], " "); got != "event 0 durable 0" { // claim B-11: each once
			t.Fatal(heard.all("x"))
		}
		n := 0
		for _, c := range way.commits("x") {
			for _, e := range c.Events {
				if e.Sequence == 0 {
					n++
				}
			}
		}
		if n != 1 {
			t.Fatalf("sequence 0 was sent %d times", n)
		}
	})
}

// claim B-05: with a minted id the body begins while sequence 0 is on its way; the first
// effect waits for it. claim B-36: Start does not wait.
func TestAMintedIDsBodyBeginsAtOnceAndItsEffectWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		heard := &hears{}
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		commits := shutGate(t)
		way.commitGate(commits, "")
		before := time.Now()
		run := begin(t, flow, rt, 0)
		if took := time.Since(before); took != 0 {
			t.Fatalf("Start waited %v", took)
		}
		synctest.Wait()
		bodies.is(t, "body entered", 1)
		if calls.count("") != 0 || len(everything(t, db)) != 0 {
			t.Fatal("an effect before its intent was durable")
		}
		// claim B-45: what is told of it is ahead of the store, and says so: events that
		// OnDurable has not confirmed.
		if got := strings.Join(heard.all(run.ID()), " "); got != "event 0 event 1" {
			t.Fatal(got)
		}
		commits.open()
		yields(t, run, "done")
		if calls.count("") != 2 {
			t.Fatalf("%d calls", calls.count(""))
		}
	})
}

// claim B-36: a caller who chose an id waits for the store, and nobody else does.
func TestOnlyAChosenIDWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		rt, way := tapped(t, memstore.New(nil), loom.Flows(flow))
		way.on(func(c call) {
			if c.op == "commit" {
				<-time.After(50 * time.Millisecond)
			}
		})
		for _, c := range []struct {
			opts []loom.StartOption
			want time.Duration
		}{{nil, 0}, {[]loom.StartOption{loom.ID("x")}, 50 * time.Millisecond}} {
			before := time.Now()
			run := begin(t, flow, rt, 0, c.opts...)
			if took := time.Since(before); took != c.want {
				t.Fatalf("%v, want %v", took, c.want)
			}
			yields(t, run, "done")
		}
	})
}

// claim B-69: before the body a chosen id costs one round trip, a minted one none. The
// first effect costs each one more: its intent.
func TestRoundTripsBeforeTheBodyAndTheFirstEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			opts         []loom.StartOption
			body, effect int
		}{{nil, 0, 1}, {[]loom.StartOption{loom.ID("x")}, 1, 2}} {
			var way *tap
			var body, effect int
			flow := loom.NewFlow("work", func(ctx loom.Context, _ int) (int, error) {
				body = way.count("commit", loom.ExecutionID(ctx))
				return loom.Do(ctx, "x", func(ctx context.Context) (int, error) {
					id, _, _ := loom.StepOf(ctx)
					effect = way.count("commit", id)
					return 0, nil
				})
			})
			var rt *loom.Runtime
			rt, way = tapped(t, memstore.New(nil), loom.Flows(flow))
			run := begin(t, flow, rt, 0, c.opts...)
			yields(t, run, 0)
			if body != c.body || effect != c.effect {
				t.Fatalf("%d before the body, %d before the effect; want %d and %d", body, effect, c.body, c.effect)
			}
			if n := len(way.reads(run.ID())); n != 0 { // claim B-37: success costs no read
				t.Fatalf("%d reads", n)
			}
		}
	})
}

// dice is a world whose chance follows from a seed; seeds of executions come from a
// stream of their own, so that drawing an id first does not change them.
type dice struct {
	*rt.Real
	mu           sync.Mutex
	seeds, other *rand.ChaCha8
}

func newDice(seed byte) *dice {
	return &dice{Real: rt.NewReal(), seeds: rand.NewChaCha8([32]byte{seed}), other: rand.NewChaCha8([32]byte{seed, 1})}
}

func (d *dice) Random(p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(p) == 8 {
		_, _ = d.seeds.Read(p)
		return
	}
	_, _ = d.other.Read(p)
}

// claims B-09, B-11 and B-35: with the same clock and seed a minted and a chosen start
// write the same bytes, ids aside, and tell the same events.
func TestMintedAndChosenStartsWriteTheSameBytes(t *testing.T) {
	logs, told := map[bool][]event.Envelope{}, map[bool][]event.Envelope{}
	for _, chosen := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var bodies counter
			var calls service
			flow := worked(&bodies, &calls)
			db := memstore.New(nil)
			heard := &hears{}
			node, err := loom.Open(rt.With(t.Context(), newDice(1)), db, loom.Flows(flow), heard.hooks())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = node.Close() })
			opts := []loom.StartOption{loom.Labels(map[string]string{"a": "1"}), loom.Metadata(map[string]string{"who": "me"})}
			if chosen {
				opts = append(opts, loom.ID("x"))
			}
			run := begin(t, flow, node, 7, opts...)
			yields(t, run, "done")
			synctest.Wait()
			logs[chosen], told[chosen] = logOf(t, db, run.ID()), heard.seen(run.ID())
		})
	}
	for _, pair := range [][2][]event.Envelope{{logs[true], logs[false]}, {told[true], told[false]}, {logs[true], told[true]}} {
		if len(pair[0]) != 6 || len(pair[1]) != 6 {
			t.Fatalf("%s\n%s", kinds(pair[0]), kinds(pair[1]))
		}
		for i, a := range pair[0] {
			b := pair[1][i]
			a.Execution, b.Execution = "", ""
			if !a.Equal(b) {
				t.Errorf("sequence %d: %s %s %d\n%s %s %d", i, a.Payload, a.Meta, a.Time, b.Payload, b.Meta, b.Time)
			}
		}
	}
	if !bytes.Contains(logs[true][0].Meta, []byte(`"who":"me"`)) { // claim B-10
		t.Fatalf("metadata %s", logs[true][0].Meta)
	}
}

// claim B-10: Loom's own metadata keys cannot be set by a caller.
func TestReservedMetadataIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		rt := open(t, db, loom.Flows(flow))
		for _, key := range []string{"fence", "parent", "target", "not-before"} {
			_, err := flow.Start(t.Context(), rt, 0, loom.Metadata(map[string]string{key: "1", "ok": "2"}))
			var bad *loom.NameError
			if !errors.As(err, &bad) || bad.Name != key {
				t.Errorf("%s: %v", key, err)
			}
		}
		if ids := everything(t, db); len(ids) != 0 {
			t.Fatal(ids)
		}
		yields(t, begin(t, flow, rt, 0, loom.ID("x"), loom.Labels(map[string]string{"fence": "mine"})), "done")
	})
}

// claims B-32 and B-33: a dead store refuses the start: no handle, one report, no body, no
// event, and no goroutine (the bubble would find it).
func TestAStartOnADeadStoreIsRefusedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		db := memstore.New(nil)
		heard := &hears{}
		rt, way := tapped(t, db, loom.Flows(flow), heard.hooks())
		boom := errors.New("disk on fire")
		way.answering(func(call) (store.Result, bool) { return store.Result{Outcome: store.Failed, Err: boom}, true })
		run, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
		var failed *loom.StorageWriteError
		if run != nil || !errors.As(err, &failed) || !failed.Definite || failed.ID != "x" || !errors.Is(err, boom) {
			t.Fatalf("%v, %v", run, err)
		}
		synctest.Wait()
		bodies.is(t, "body entered", 0)
		if got := fmt.Sprint(heard.all("x")); got != "[storage-error]" || len(everything(t, db)) != 0 {
			t.Fatal(got)
		}
	})
}

// lookalike is an error of another module that has the code of already-exists.
type lookalike struct{}

func (*lookalike) Error() string    { return "loom: execution x already exists (flow work, running)" }
func (*lookalike) LoomCode() string { return "already_exists" }

// claim B-31: only what the store says of the row makes a duplicate. An error that looks
// like one is a storage error; one that cannot speak is too; an unknown outcome is
// resolved, whatever stands beside it.
func TestAnErrorThatLooksLikeADuplicateIsAStorageError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var bodies counter
		var calls service
		flow := worked(&bodies, &calls)
		rt, way := tapped(t, memstore.New(nil), loom.Flows(flow))
		for i, look := range []error{
			&lookalike{}, errors.New((&lookalike{}).Error()), fmt.Errorf("%v", &loom.ExecutionAlreadyExistsError{ID: "x"}),
			errors.Join(&loom.ExecutionAlreadyExistsError{ID: "x"}, errors.New("connection reset")), (*brokenError)(nil), nil,
		} {
			way.answering(func(call) (store.Result, bool) { return store.Result{Outcome: store.Failed, Err: look}, true })
			run, err := flow.Start(t.Context(), rt, 0, loom.ID("x"))
			var failed *loom.StorageWriteError
			if run != nil || !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), "loom: execution x: nothing was written") {
				t.Errorf("%d: %v", i, err)
			}
		}
		lost := true
		way.answering(func(call) (store.Result, bool) {
			was := lost
			lost = false
			return store.Result{Outcome: store.Unknown, Err: errors.Join(&lookalike{}, errors.New("reset"))}, was
		})
		yields(t, begin(t, flow, rt, 0, loom.ID("x")), "done")
		bodies.is(t, "body entered", 1)
	})
}
