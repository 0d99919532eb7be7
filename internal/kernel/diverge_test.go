package kernel

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// diverges replays a log with another body and returns the divergence. Nothing
// may come of it: no event, no end, and what was begun can be unloaded.
func diverges(t *testing.T, log []event.Envelope, body func(*Branch) End) *Divergence {
	t.Helper()
	r := newRig(t, body)
	r.now = log[len(log)-1].Time
	err := replayLog(r.m, log)
	var d *Divergence
	if !errors.As(err, &d) {
		t.Fatalf("replay gave %v, want a divergence; the log is\n%s", err, logText(log))
	}
	if es := r.m.TakeEvents(); len(es) != 0 {
		t.Errorf("a diverged machine wrote\n%s", logText(es))
	}
	r.m.Unload()
	if es := r.m.TakeEvents(); len(es) != 0 {
		t.Errorf("unloading it wrote\n%s", logText(es))
	}
	if len(r.m.branches) != 0 {
		t.Errorf("%d branches are left", len(r.m.branches))
	}
	if !strings.Contains(d.Error(), d.Recorded) || !strings.Contains(d.Error(), d.Asked) {
		t.Errorf("the error says %q", d.Error())
	}
	return d
}

// ops returns a body that asks for each of them in turn, "x+y" for two at once;
// a name that begins with ? is read-only, ! a timer, @ an await.
func ops(list ...string) func(*Branch) End {
	return func(b *Branch) End {
		for _, at := range list {
			var all []*Op
			for _, name := range strings.Split(at, "+") {
				var o *Op
				switch name[0] {
				case '?':
					o, _ = b.Effect(name[1:], &Effect{ReadOnly: true})
				case '!':
					o, _ = b.Timer(name[1:], time.Millisecond, 0)
				case '@':
					o, _ = b.Await(name[1:], -1)
				default:
					name, args, _ := strings.Cut(name, "=")
					e := &Effect{}
					if args != "" {
						e.Args = json.RawMessage(args)
					}
					o, _ = b.Effect(name, e)
				}
				all = append(all, o)
			}
			for _, o := range all {
				b.Wait(o)
			}
		}
		return done
	}
}

// TestDivergence: code that asks for something else than is recorded is told
// where, and writes nothing.
func TestDivergence(t *testing.T) {
	for _, tc := range []struct {
		name     string
		was, now func(*Branch) End
		settled  []string // effects that completed before, in order
		want     Divergence
	}{
		{"another name", ops("a"), ops("b"), nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "EFFECT_SCHEDULED b#1"}},
		{"another kind", ops("a"), ops("!a"), nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "TIMER_SCHEDULED a#1"}},
		{"a timer became an await", ops("!a"), ops("@a"), nil,
			Divergence{1, "TIMER_SCHEDULED a#1", "MESSAGE_AWAITED a#1 of a"}},
		{"another order in one turn", ops("a+b"), ops("b+a"), nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "EFFECT_SCHEDULED b#1"}},
		{"another order of turns", ops("a", "b"), ops("b", "a"), []string{"a#1"},
			Divergence{1, "EFFECT_SCHEDULED a#1", "EFFECT_SCHEDULED b#1"}},
		{"one inserted before", ops("a"), ops("x", "a"), []string{"a#1"},
			Divergence{1, "EFFECT_SCHEDULED a#1", "EFFECT_SCHEDULED x#1"}},
		{"one inserted between", ops("a", "b"), ops("a", "x", "b"), []string{"a#1", "b#1"},
			Divergence{3, "EFFECT_SCHEDULED b#1", "EFFECT_SCHEDULED x#1"}},
		{"one more in a turn that is over", ops("a", "b"), ops("a+x", "b"), []string{"a#1"},
			Divergence{2, "nothing", "EFFECT_SCHEDULED x#1"}},
		{"one missing, and the body waits", ops("a+b"), ops("a"), nil,
			Divergence{2, "EFFECT_SCHEDULED b#1", "nothing"}},
		{"one missing, and the body goes on", ops("a", "b", "c"), ops("a", "c"), []string{"a#1", "b#1"},
			Divergence{3, "EFFECT_SCHEDULED b#1", "EFFECT_SCHEDULED c#1"}},
		{"the last is missing, and the body ends", ops("a", "b"), ops("a"), []string{"a#1"},
			Divergence{3, "EFFECT_SCHEDULED b#1", "EXECUTION_COMPLETED"}},
		{"the body goes on where it ended", ops("a"), ops("a", "b"), []string{"a#1"},
			Divergence{3, "EXECUTION_COMPLETED", "EFFECT_SCHEDULED b#1"}},
		{"nothing at all is asked", ops("a"), func(b *Branch) End { o, _ := b.Effect("r", &Effect{ReadOnly: true}); b.Wait(o); return done }, nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "nothing"}},
		{"a read-only result that nobody asked for", ops("?r", "a"), ops("a"), []string{"r#1"},
			Divergence{1, "nothing", "EFFECT_SCHEDULED a#1"}},
		{"a read-only result of another name", ops("?r", "a"), ops("?s", "a"), []string{"r#1"},
			Divergence{1, "EFFECT_COMPLETED r#1", "nothing"}},
		{"other arguments", ops(`a={"n":1}`), ops(`a={"n":2}`), nil,
			Divergence{1, `EFFECT_SCHEDULED a#1 args {"n":1}`, `EFFECT_SCHEDULED a#1 args {"n":2}`}},
		{"arguments that are new", ops("a"), ops(`a=null`), nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "EFFECT_SCHEDULED a#1 args null"}},
		{"arguments that are gone", ops(`a=[1]`), ops("a"), nil,
			Divergence{1, "EFFECT_SCHEDULED a#1 args [1]", "EFFECT_SCHEDULED a#1"}},
		{"another result", ops(), func(*Branch) End { return End{Result: json.RawMessage("2")} }, nil,
			Divergence{1, "EXECUTION_COMPLETED", "EXECUTION_COMPLETED"}},
		{"a failure instead", ops(), func(*Branch) End { return End{Failure: &event.Failure{Code: "c"}} }, nil,
			Divergence{1, "EXECUTION_COMPLETED", "EXECUTION_FAILED"}},
		{"a panic instead", ops("a"), func(*Branch) End { panic("new") }, nil,
			Divergence{1, "EFFECT_SCHEDULED a#1", "EXECUTION_FAILED"}},
		{"a branch of another name", inBranch("b"), inBranch("c"), nil,
			Divergence{1, "EFFECT_SCHEDULED b#1/a#1", "EFFECT_SCHEDULED c#1/a#1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, tc.was)
			for _, path := range tc.settled {
				r.complete(path, "1")
			}
			if got := diverges(t, r.log, tc.now); *got != tc.want {
				t.Errorf("got %+v\nwant %+v\nthe log is\n%s", *got, tc.want, r.text())
			}
			replay(t, r.log, tc.was) // and the code that wrote it still fits
		})
	}
}

func inBranch(name string) func(*Branch) End {
	return func(b *Branch) End {
		b.WaitAny(branch(b, name, func(c *Branch) { do(c, "a") }))
		return done
	}
}

// TestDivergenceOfWhatMakesNoTurn: a failed attempt of an effect that the code
// does not have, and a command where a turn was over.
func TestDivergenceOfWhatMakesNoTurn(t *testing.T) {
	r := start(t, ops("?r"))
	r.m.FailAttempt(r.op("r#1"), &event.Failure{Code: "c"}, 5000)
	r.drain()
	if got, want := *diverges(t, r.log, ops("!t")), (Divergence{1, "EFFECT_ATTEMPT_FAILED r#1", "nothing"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r = start(t, ops("a"))
	r.m.FailAttempt(r.op("a#1"), &event.Failure{Code: "c"}, 5000)
	r.drain()
	// the attempt shows that all commands of its turn were recorded before it
	if got, want := *diverges(t, r.log, ops("a+b")), (Divergence{3, "nothing", "EFFECT_SCHEDULED b#1"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	replay(t, r.log, ops("a", "b"))
}

// TestTheLastTurnMayBeCut: what the code asks beyond the recorded is issued live,
// in the order of asking.
func TestTheLastTurnMayBeCut(t *testing.T) {
	whole := start(t, ops("a+!b+@c"))
	for n := 1; n <= len(whole.log); n++ {
		r := replay(t, whole.log[:n], ops("a+!b+@c"))
		r.want(whole.text())
	}
	r := replay(t, whole.log[:2], ops("a+x")) // even something else, beyond the cut
	r.want("0 EXECUTION_STARTED\n1 EFFECT_SCHEDULED a#1\n2 EFFECT_SCHEDULED x#1")
}

// TestFailuresAreNotCompared: what a body says when it fails may change between
// builds, that it fails may not.
func TestFailuresAreNotCompared(t *testing.T) {
	failing := func(code string) func(*Branch) End {
		return func(b *Branch) End { do(b, "a"); return End{Failure: &event.Failure{Code: code}} }
	}
	r := start(t, failing("old"))
	r.complete("a#1", "1")
	re := replay(t, r.log, failing("new"))
	if !re.m.Ended() || re.m.State().Failure.Code != "old" {
		t.Errorf("the end is %+v", re.m.State().Failure)
	}
}

// TestLogsThatCannotBeReplayed are no divergence: the code is not to blame.
func TestLogsThatCannotBeReplayed(t *testing.T) {
	r := start(t, ops("a", "b"))
	r.complete("a#1", "1")
	spoil := func(change func([]event.Envelope) []event.Envelope) error {
		m := newRig(t, ops("a", "b")).m
		err := replayLog(m, change(append([]event.Envelope(nil), r.log...)))
		if len(m.TakeEvents()) != 0 {
			t.Error("it wrote an event")
		}
		return err
	}
	var bad *fold.LogError
	var no *event.DecodeError
	if err := spoil(func(l []event.Envelope) []event.Envelope { l[2].Time = 1; return l }); !errors.As(err, &bad) || bad.Sequence != 2 {
		t.Errorf("time that goes back: %v", err)
	}
	if err := spoil(func(l []event.Envelope) []event.Envelope { return append(l[:1], l[2:]...) }); err == nil {
		t.Error("a gap was replayed")
	}
	if err := spoil(func(l []event.Envelope) []event.Envelope { l[3].Payload = []byte("{"); return l }); !errors.As(err, &no) || no.Sequence != 3 {
		t.Errorf("half a payload: %v", err)
	}
	if err := spoil(func(l []event.Envelope) []event.Envelope { return l[1:] }); err == nil {
		t.Error("a log without its beginning was replayed")
	}
	if err := spoil(func(l []event.Envelope) []event.Envelope { return nil }); err != nil {
		t.Errorf("an empty log: %v", err)
	}
}

// TestUnknownEventsArePassed: a newer build's fact makes no turn and belongs to
// none, wherever it stands.
func TestUnknownEventsArePassed(t *testing.T) {
	r := start(t, ops("a+b", "c"))
	r.complete("a#1", "1")
	r.complete("b#1", "1")
	for at := 1; at <= len(r.log); at++ {
		var log []event.Envelope
		for i, e := range r.log {
			if i == at {
				log = append(log, unknown(r.log[i-1]))
			}
			log = append(log, e)
		}
		if at == len(r.log) {
			log = append(log, unknown(r.log[at-1]))
		}
		for i := range log {
			log[i].Sequence = event.Seq(i)
		}
		re := replay(t, log, ops("a+b", "c"))
		re.complete("c#1", "1")
		if !re.m.Ended() {
			t.Errorf("with it at %d:\n%s", at, re.text())
		}
	}
}

func unknown(before event.Envelope) event.Envelope {
	return event.Envelope{Execution: rigID, Kind: "FROM_THE_FUTURE", Time: before.Time, Payload: []byte("x")}
}

// TestLongArgumentsAreCutInErrors, not in what is compared.
func TestLongArgumentsAreCutInErrors(t *testing.T) {
	long := `"` + strings.Repeat("x", 500) + `"`
	r := start(t, ops("a="+long))
	d := diverges(t, r.log, ops("a="+strings.Replace(long, `x"`, `y"`, 1)))
	if len(d.Recorded) > 160 || len(d.Asked) > 160 || !strings.HasSuffix(d.Recorded, "…") {
		t.Errorf("the error says %q", d.Error())
	}
}
