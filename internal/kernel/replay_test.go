package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
)

// replaySeeds is how many random executions are tried; LOOM_KERNEL_SEED is the
// one to look at.
const replaySeeds = 400

// live is a random execution as it went.
type live struct {
	r     *rig
	p     *program
	after map[int]string // number of events → what was open then, at the end of each turn
}

func goLive(t *testing.T, seed uint64) *live {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	l := &live{p: newProgram(rng, 0), after: map[int]string{}}
	l.r = start(t, l.p.body(), l.p.finally)
	f := &fate{rng: rng}
	l.after[len(l.r.log)] = open(l.r.m)
	for range 80 {
		if l.r.m.Ended() {
			return l
		}
		if !f.next(l.r) {
			t.Fatalf("seed %d: nothing is open and nothing has ended:\n%s", seed, l.r.text())
		}
		for path, o := range l.r.m.ops { // order does not matter: each is judged alone
			if in := l.r.m.State().Op(path); o.Intent != event.None && (in == nil || !in.Open()) || o.Effect == nil && !in.Open() {
				t.Fatalf("seed %d: %s is open, and not in the fold:\n%s", seed, path, l.r.text())
			}
		}
		l.after[len(l.r.log)] = open(l.r.m)
	}
	return l
}

// open describes what a machine waits for.
func open(m *Machine) string {
	var b strings.Builder
	for o := m.opens.first; o != nil; o = o.next {
		due := o.Due
		fmt.Fprintf(&b, "%s %s %s due %d intent %d attempts %d cancelled %v started %v\n", o.Path, o.Kind, o.Name, due, o.Intent, o.Attempts, o.Cancelled, o.Started)
	}
	only, awaits := m.Waits()
	fmt.Fprintf(&b, "next %d, waits %v %v, branches %d, ended %v", m.NextDue(), only, awaits, len(m.branches), m.Ended())
	return b.String()
}

// again gives a machine the recorded event as if it came now.
func again(r *rig, e event.Envelope) {
	m := r.m
	r.now = e.Time
	p, err := e.Decode()
	if err != nil {
		r.t.Fatal(err)
	}
	switch p := p.(type) {
	case event.EffectCompleted:
		m.CompleteEffect(r.op(p.Op), p.Result)
	case event.EffectFailed:
		m.FailEffect(r.op(p.Op), p.Attempt, p.Error)
	case event.EffectAttemptFailed:
		m.FailAttempt(r.op(p.Op), p.Error, p.NotBefore)
	case event.ChildStarted:
		m.StartedChild(r.op(p.Op))
	case event.ChildSettled:
		m.SettleChild(r.op(p.Op), p)
	case event.EffectProgressed:
		m.Progress(r.op(p.Op), p.Value)
	case event.ExecutionTerminated:
		m.Terminate(p)
	case event.ExecutionPaused:
		m.Pause(p)
	case event.ExecutionResumed:
		m.add(p, m.cfg.Stamp())
	case event.TimerFired:
		m.Fire(r.op(p.Op))
	case event.MessageReceived:
		m.Receive(r.op(p.Op), p.Message, p.Body)
	case event.CancelRequested:
		m.Cancel(p)
	default:
		r.t.Fatalf("event %d, %s, comes from no one", e.Sequence, e.Kind)
	}
}

// resume replays the first n events and goes on with the rest as it came the
// first time; it returns what is wrong, "" for nothing.
func (l *live) resume(t *testing.T, n int) string {
	log := l.r.log
	r := newRig(t, l.p.body(), l.p.finally)
	defer r.m.Unload()
	r.now = log[n-1].Time
	if err := replayLog(r.m, log[:n]); err != nil {
		return err.Error()
	}
	r.log = slices.Clone(log[:n])
	same := func() string {
		r.drain()
		if len(r.log) > len(log) {
			return "more events than live:\n" + r.text()
		}
		for i := n; i < len(r.log); i++ {
			if !r.log[i].Equal(log[i]) {
				return fmt.Sprintf("event %d is %s at %d, live it was %s at %d\nlive:\n%s", i, r.log[i].Payload, r.log[i].Time, log[i].Payload, log[i].Time, l.r.text())
			}
		}
		if want, ok := l.after[len(r.log)]; !ok {
			return fmt.Sprintf("a turn ends at event %d, live it did not", len(r.log))
		} else if got := open(r.m); got != want {
			return fmt.Sprintf("after %d events:\n%s\nlive:\n%s", len(r.log), got, want)
		}
		return ""
	}
	for {
		if bad := same(); bad != "" {
			return bad
		}
		if len(r.log) == len(log) {
			break
		}
		again(r, log[len(r.log)])
	}
	if got, want := r.m.State(), l.r.m.State(); !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("the state is\n%+v\nlive it was\n%+v", got, want)
	}
	return ""
}

// TestReplayEqualsLive runs random bodies against random fates, cuts each log at
// every event, as a commit may have been cut, replays what is left and goes on.
// Every event, every open operation and the final state must be those of the
// live run, byte for byte. claim H-25 is why bytes: nothing is encoded twice.
func TestReplayEqualsLive(t *testing.T) {
	first, count := uint64(1), uint64(replaySeeds)
	if s := os.Getenv("LOOM_KERNEL_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = n, 1
	}
	generations := 0
	kinds, prefixes, finals := map[event.Kind]int{}, 0, 0
	for seed := first; seed < first+count; seed++ {
		l := goLive(t, seed)
		for _, e := range l.r.log {
			kinds[e.Kind]++
		}
		if l.r.m.State().Generation == 3 {
			generations++
		}
		if l.r.m.final != nil && l.r.m.State().Cancel != nil {
			finals++
		}
		for n := 1; n <= len(l.r.log); n++ {
			prefixes++
			if bad := l.resume(t, n); bad != "" {
				t.Fatalf("seed %d, cut to %d events: %s\nLOOM_KERNEL_SEED=%d shows it again", seed, n, bad, seed)
			}
		}
		l.r.m.Unload()
	}
	if count > 1 {
		if generations < 20 {
			t.Errorf("%d runs came to a third generation", generations)
		}
		if finals < 10 {
			t.Errorf("%d runs had a final branch and a cancel", finals)
		}
		for _, k := range event.Kinds() {
			if k == event.KindOperatorRecovered {
				continue // no runner writes it
			}
			if kinds[k] == 0 {
				t.Errorf("no run had a %s", k)
			}
		}
	}
	t.Logf("%d prefixes, %v", prefixes, kinds)
	t.Logf("tally: seeds=%d", count)
}

// TestOneSeedGivesOneLog runs each random execution twice.
func TestOneSeedGivesOneLog(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		a, b := goLive(t, seed), goLive(t, seed)
		if a.r.text() != b.r.text() || !slices.EqualFunc(a.r.log, b.r.log, event.Envelope.Equal) {
			t.Fatalf("seed %d:\n%s\nand\n%s", seed, a.r.text(), b.r.text())
		}
	}
}

// TestReplaySaysWhatIsRecorded: in every turn but the last the body is told that
// it replays.
func TestReplaySaysWhatIsRecorded(t *testing.T) {
	var said []bool
	body := func(b *Branch) End {
		said = append(said, b.Replaying())
		do(b, "a")
		said = append(said, b.Replaying())
		do(b, "b")
		said = append(said, b.Replaying())
		return done
	}
	r := start(t, body)
	r.complete("a#1", "1")
	said = nil
	re := replay(t, r.log, body)
	re.complete("b#1", "1")
	if want := []bool{true, false, false}; !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
}
