package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
)

// TestTheRecordedDeadlineWins: a sleep is known by its name. Code that now asks
// for another duration gets the deadline that was recorded. case 37
func TestTheRecordedDeadlineWins(t *testing.T) {
	body := func(d time.Duration) func(*Branch) End {
		return func(b *Branch) End {
			c := branch(b, "c", func(c *Branch) {
				o, _ := c.Await("m", d)
				c.Wait(o)
			})
			o, _ := b.Timer("sleep", d, 0)
			b.Wait(o)
			b.WaitAny(c)
			return done
		}
	}
	was := start(t, body(time.Hour))
	due := was.m.NextDue()
	for _, d := range []time.Duration{time.Minute, 100 * time.Hour, 0} {
		r := replay(t, was.log, body(d))
		if len(r.log) != len(was.log) {
			t.Fatalf("with %v it wrote\n%s", d, r.text())
		}
		for _, path := range []string{"sleep#1", "c#1/m#1"} {
			if got := r.op(path).Due; got != due || r.m.State().Op(path).Due != due {
				t.Errorf("with %v %s is due at %d, recorded is %d", d, path, got, due)
			}
		}
		if r.m.TakeDue(due-1) != nil {
			t.Errorf("with %v something is due early", d)
		}
		r.fire()
		r.fire()
		if !r.m.Ended() || r.now != due {
			t.Errorf("with %v: ended %v at %d", d, r.m.Ended(), r.now)
		}
	}
}

// TestATimeoutUnregistersItsOwnWait: of waits for one message name one runs out;
// the others get theirs, in the order in which they began, and so do later ones.
// case 38
func TestATimeoutUnregistersItsOwnWait(t *testing.T) {
	ends := map[string]string{}
	body := func(b *Branch) End {
		var all []*Branch
		for i, within := range []int{9000, 500, -1} {
			all = append(all, branch(b, "b", func(c *Branch) {
				o := await(c, "m", within)
				ends[fmt.Sprint(i)] = fmt.Sprintf("%d %s", o.Ending, o.Result)
				if o.Ending == Fired {
					o = await(c, "m", 10_000)
					ends[fmt.Sprint(i, " again")] = fmt.Sprintf("%d %s", o.Ending, o.Result)
				}
			}))
		}
		joinAll(b, all...)
		return done
	}
	r := start(t, body)
	if o := r.fire(); o.Path != "b#2/m#1" {
		t.Fatalf("%s ran out", o.Path)
	}
	for i, want := range []string{"b#1/m#1", "b#3/m#1", "b#2/m#2"} {
		o := r.m.Awaiting("m")
		if o == nil || o.Path != want {
			t.Fatalf("message %d is for %+v, want %s", i, o, want)
		}
		r.receive(o.Path, fmt.Sprintf("m-%d", i), fmt.Sprint(i))
	}
	want := map[string]string{"0": fmt.Sprintf("%d 0", Received), "1": fmt.Sprintf("%d ", Fired), "2": fmt.Sprintf("%d 1", Received), "1 again": fmt.Sprintf("%d 2", Received)}
	for k, v := range want {
		if ends[k] != v {
			t.Errorf("wait %s ended with %q, want %q", k, ends[k], v)
		}
	}
	if !r.m.Ended() || r.m.Awaiting("m") != nil || r.m.NextDue() != event.Never {
		t.Errorf("ended %v, due %d", r.m.Ended(), r.m.NextDue())
	}
	first := r.text()
	ends = map[string]string{}
	replay(t, r.log, body).want(first)
}

// TestIdentityDoesNotDependOnTiming: whether a message was there already, whether
// an effect was quick, whether a verb was denied because of a cancel: what comes
// after has the same path. case 21
func TestIdentityDoesNotDependOnTiming(t *testing.T) {
	paths := map[string]bool{}
	body := func(b *Branch) End {
		c := branch(b, "c", func(c *Branch) { do(c, "slow") })
		o := await(b, "m", 5000)
		if o.Ending == Fired {
			timer(b, "backoff", 10)
		}
		o, _ = b.Effect("pay", &Effect{})
		b.Wait(o)
		paths[o.Path] = true
		b.WaitAny(c)
		return done
	}
	early := start(t, body)
	early.receive("m#1", "m-1", "1")
	early.complete("pay#1", "1")
	early.complete("c#1/slow#1", "1")
	late := start(t, body)
	late.complete("c#1/slow#1", "1")
	late.fire()
	late.fire()
	late.complete("pay#1", "1")
	if len(paths) != 1 || !paths["pay#1"] {
		t.Errorf("the paths were %v", paths)
	}

	denied := start(t, func(b *Branch) End {
		do(b, "a") // open when the cancel comes
		for range 2 {
			if o, d := b.Effect("a", &Effect{}); d != NoCancelled || o != nil {
				t.Errorf("an effect after the cancel: %v, %d", o, d)
			}
			if o, d := b.Timer("a", 5, 0); d != NoCancelled || o != nil {
				t.Errorf("a timer after the cancel: %v, %d", o, d)
			}
			if o, d := b.Await("a", -1); d != NoCancelled || o != nil {
				t.Errorf("an await after the cancel: %v, %d", o, d)
			}
		}
		if p, _ := b.Name("a"); p != "a#8" {
			t.Errorf("after one effect and six denied verbs the next name is %s", p)
		}
		return done
	})
	denied.cancel("m-1")
	denied.complete("a#1", "1")
}

// TestReplayKeepsWhatWasAnswered: making the wait again does not undo its answer.
// case 20
func TestReplayKeepsWhatWasAnswered(t *testing.T) {
	var got []string
	body := func(b *Branch) End {
		for range 2 {
			o := await(b, "m", 5000)
			got = append(got, fmt.Sprintf("%d %s", o.Ending, o.Result))
		}
		return done
	}
	r := start(t, body)
	r.receive("m#1", "m-1", `"yes"`)
	got = nil
	re := replay(t, r.log, body)
	if len(got) != 1 || got[0] != fmt.Sprintf(`%d "yes"`, Received) {
		t.Fatalf("the body saw %q", got)
	}
	if o := re.m.Awaiting("m"); o == nil || o.Path != "m#2" {
		t.Errorf("the next message is for %+v", o)
	}
	if !re.m.State().Consumed("m-1") {
		t.Error("the message is not known as consumed")
	}
}

// goldenBody uses everything that this version can do. Like the log beside it, it
// is never changed; what comes later gets another.
func goldenBody(b *Branch) End {
	first := branch(b, "ship", func(c *Branch) {
		timer(c, "cool-off", 3600)
		do(c, "pack")
	})
	second := branch(b, "ask", func(c *Branch) {
		for await(c, "approval", 1800).Ending == Fired {
			do(c, "remind")
		}
	})
	o, _ := b.Effect("charge", &Effect{Args: []byte(`{"card":"4242"}`)})
	b.Wait(o)
	r, _ := b.Effect("look", &Effect{ReadOnly: true})
	b.Wait(r)
	b.WaitAny(first, second)
	b.Cancel(first)
	joinAll(b, first, second)
	await(b, "pick-up", -1)
	if b.Cancelled() {
		return End{Failure: &event.Failure{Code: event.CodeCancelled, Message: "gave way", Chain: []string{string(r.Result)}}, GaveWay: true}
	}
	return done
}

// TestGoldenLogsReplay: goldenBody writes the log of this version as it stands in
// testdata, and replays those of all versions. case 72
func TestGoldenLogsReplay(t *testing.T) {
	r := start(t, goldenBody)
	r.m.FailAttempt(r.op("charge#1"), &event.Failure{Code: "busy", Message: "try later"}, 1200)
	r.drain()
	r.now = 1250
	r.complete("charge#1", `{"id":"p-1"}`)
	r.now = 1300
	r.complete("look#1", `"blue"`)
	r.fire() // the first approval runs out
	r.complete("ask#1/remind#1", "null")
	r.receive("ask#1/approval#2", "m-1", `{"by":"ann"}`)
	r.cancel("m-2")
	if !r.m.Ended() {
		t.Fatalf("not ended:\n%s", r.text())
	}
	var b strings.Builder
	for _, e := range r.log {
		fmt.Fprintf(&b, "%d %d %s %s\n", e.Sequence, e.Time, e.Kind, e.Payload)
	}
	golden(t, "log-"+event.SchemaVersion+".golden", b.String())
	kinds := map[event.Kind]bool{}
	for _, e := range r.log {
		kinds[e.Kind] = true
	}
	if len(kinds) < 10 {
		t.Errorf("the golden log holds %v only", kinds)
	}

	names, err := filepath.Glob(filepath.Join("testdata", "log-*.golden"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden logs: %v", err)
	}
	for _, name := range names {
		log := readLog(t, name)
		for n := 1; n < len(log); n++ {
			replay(t, log[:n], goldenBody)
		}
		whole := replay(t, log, goldenBody)
		if s := whole.m.State(); len(whole.log) != len(log) || s.Status != fold.Cancelled || s.Failure.Chain[0] != `"blue"` {
			t.Errorf("%s ends %s %+v", name, s.Status, s.Failure)
		}
	}
}

func readLog(t *testing.T, name string) (log []event.Envelope) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		e := event.Envelope{Execution: rigID}
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if _, err := fmt.Sscan(strings.Join(parts[:2], " "), &e.Sequence, &e.Time); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		e.Kind, e.Payload = event.Kind(parts[2]), []byte(parts[3])
		log = append(log, e)
	}
	return log
}
