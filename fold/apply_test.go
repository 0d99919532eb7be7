package fold

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
)

// base is a log with one operation of each kind in each condition that matters
// to what may come next.
const base = `0 1000 EXECUTION_STARTED {"flow":"checkout","input":null,"seed":"1"}
1 1000 EFFECT_SCHEDULED {"op":"open#1"}
2 1000 EFFECT_SCHEDULED {"op":"retrying#1"}
3 1100 EFFECT_ATTEMPT_FAILED {"op":"retrying#1","attempt":1,"error":{"code":"error","message":""},"notBefore":1200}
4 1100 EFFECT_SCHEDULED {"op":"done#1"}
5 1150 EFFECT_COMPLETED {"op":"done#1","result":1}
6 1150 TIMER_SCHEDULED {"op":"timer#1","deadline":2000}
7 1150 TIMER_SCHEDULED {"op":"fired#1","deadline":1160}
8 1160 TIMER_FIRED {"op":"fired#1"}
9 1160 MESSAGE_AWAITED {"op":"await#1","name":"await","deadline":3000}
10 1160 MESSAGE_AWAITED {"op":"await#2","name":"await"}
11 1160 MESSAGE_AWAITED {"op":"await#3","name":"await"}
12 1170 MESSAGE_RECEIVED {"op":"await#3","name":"await","message":"m-1","body":1}`

// child is base with a child that is not known to be durable.
const child = base + `
13 1170 CHILD_SCHEDULED {"op":"child#1","execution":"o/1","flow":"f"}`

// TestRefusals gives Apply each thing that no writer of Loom can have written,
// and checks the reason and that the state is as it was.
func TestRefusals(t *testing.T) {
	ended := base + "\n13 1170 EXECUTION_COMPLETED {\"result\":1}"
	cancelled := base + "\n13 1170 CANCEL_REQUESTED {\"cause\":\"asked\",\"message\":\"m-2\"}"
	const started = `EXECUTION_STARTED {"flow":"f","input":1,"seed":"1"}`
	for _, tc := range []struct{ name, log, next, reason string }{
		{"a repeat", base, `12 1170 TIMER_FIRED {"op":"timer#1"}`, "head is 12"},
		{"a gap", base, `14 1170 TIMER_FIRED {"op":"timer#1"}`, "head is 12"},
		{"the first again", base, `0 1170 ` + started, "head is 12"},
		{"a log that begins at 1", "", `1 1000 ` + started, "head is -1"},
		{"a log before its beginning", "", `-1 1000 ` + started, "head is -1"},
		{"time that goes back", base, `13 1169 TIMER_FIRED {"op":"timer#1"}`, "before that of the event before"},
		{"a log that begins with a command", "", `0 1000 EFFECT_SCHEDULED {"op":"a#1"}`, "begins with EXECUTION_STARTED"},
		{"a log that begins with an end", "", `0 1000 EXECUTION_COMPLETED {"result":1}`, "begins with EXECUTION_STARTED"},
		{"a log that begins with something unknown", "", `0 1000 FROM_THE_FUTURE x`, "begins with EXECUTION_STARTED"},
		{"a second start", base, `13 1170 ` + started, "begins with EXECUTION_STARTED"},
		{"a command after the end", ended, `14 1170 EFFECT_SCHEDULED {"op":"a#1"}`, "has ended"},
		{"a result after the end", ended, `14 1170 EFFECT_COMPLETED {"op":"open#1","result":1}`, "has ended"},
		{"a cancel after the end", ended, `14 1170 CANCEL_REQUESTED {"cause":"asked"}`, "has ended"},
		{"a second end", ended, `14 1170 EXECUTION_FAILED {"error":{"code":"c"}}`, "has ended"},

		{"an effect begun twice", base, `13 1170 EFFECT_SCHEDULED {"op":"open#1"}`, "open#1 began already"},
		{"a timer under an effect's name", base, `13 1170 TIMER_SCHEDULED {"op":"done#1","deadline":9}`, "done#1 began already"},
		{"an await under a timer's name", base, `13 1170 MESSAGE_AWAITED {"op":"timer#1","name":"x"}`, "timer#1 began already"},

		{"a generation that skips one", base, `13 1170 EXECUTION_CONTINUED {"generation":3,"input":3}`, "generation 3 follows generation 1"},
		{"a generation again", base + "\n13 1170 EXECUTION_CONTINUED {\"generation\":2,\"input\":3}", `14 1170 EXECUTION_CONTINUED {"generation":2,"input":3}`, "generation 2 follows generation 2"},
		{"a result for the generation before", base + "\n13 1170 EXECUTION_CONTINUED {\"generation\":2,\"input\":3}", `14 1170 TIMER_FIRED {"op":"timer#1"}`, "timer#1 is not open for it"},
		{"a child begun twice", child, `14 1170 CHILD_SCHEDULED {"op":"child#1","execution":"o/2","flow":"f"}`, "child#1 began already"},
		{"a child started twice", child + "\n14 1170 CHILD_STARTED {\"op\":\"child#1\"}", `15 1170 CHILD_STARTED {"op":"child#1"}`, "no child that starts"},
		{"a start of an effect", base, `13 1170 CHILD_STARTED {"op":"open#1"}`, "no child that starts"},
		{"an end of an effect as a child's", base, `13 1170 CHILD_SETTLED {"op":"open#1","status":"failed"}`, "open#1 is not open for it"},
		{"a child's end by a message that is in the log", child, `14 1170 CHILD_SETTLED {"op":"child#1","message":"m-1","status":"failed"}`, "in the log already"},
		{"a result of a child", child, `14 1170 EFFECT_COMPLETED {"op":"child#1","result":1}`, "child#1 is not open for it"},
		{"progress of a settled effect", base, `13 1170 EFFECT_PROGRESSED {"op":"done#1","value":1}`, "done#1 is no open effect"},
		{"progress of a timer", base, `13 1170 EFFECT_PROGRESSED {"op":"timer#1","value":1}`, "timer#1 is no open effect"},
		{"progress of nothing", base, `13 1170 EFFECT_PROGRESSED {"op":"x#1","value":1}`, "x#1 is no open effect"},
		{"a version marked twice", base + "\n13 1170 VERSION_MARKED {\"change\":\"tax\",\"version\":2}", `14 1170 VERSION_MARKED {"change":"tax","version":3}`, "marked already"},
		{"a pair after the end", ended, `14 1170 STATE_SET {"key":"stage","value":"paid"}`, "has ended"},
		{"an end by a message that is in the log", base, `13 1170 EXECUTION_TERMINATED {"message":"m-1"}`, "in the log already"},
		{"a pause of a paused one", base + "\n13 1170 EXECUTION_PAUSED {\"by\":\"n\"}", `14 1170 EXECUTION_PAUSED {"by":"n"}`, "is paused already"},
		{"a pause by a message that is in the log", base, `13 1170 EXECUTION_PAUSED {"by":"n","message":"m-1"}`, "in the log already"},
		{"a resume of one that runs", base, `13 1170 EXECUTION_RESUMED {"by":"n"}`, "is not paused"},
		{"progress after an end from outside", base + "\n13 1170 EXECUTION_TERMINATED {\"message\":\"m-9\"}", `14 1170 EFFECT_PROGRESSED {"op":"open#1","value":1}`, "has ended"},
		{"an attempt of a settled effect", base, attempt("done#1", 1), "done#1 is no open effect"},
		{"an attempt of a timer", base, attempt("timer#1", 1), "timer#1 is no open effect"},
		{"an attempt of an await", base, attempt("await#1", 1), "await#1 is no open effect"},
		{"an attempt that skips one", base, attempt("retrying#1", 3), "attempt 3 of retrying#1 follows attempt 1"},
		{"an attempt again", base, attempt("retrying#1", 1), "attempt 1 of retrying#1 follows attempt 1"},
		{"a first attempt that is no first", base, attempt("open#1", 2), "attempt 2 of open#1 follows attempt 0"},
		{"a second attempt of something unheard of", base, attempt("new#1", 2), "attempt 2 of new#1 follows attempt 0"},
		{"a negative attempt", base, attempt("new#1", -1), "attempt -1 of new#1 follows attempt 0"},

		{"a second result", base, `13 1170 EFFECT_COMPLETED {"op":"done#1","result":2}`, "done#1 is not open for it"},
		{"an error after a result", base, `13 1170 EFFECT_FAILED {"op":"done#1","error":{"code":"c"}}`, "done#1 is not open for it"},
		{"a result of a timer", base, `13 1170 EFFECT_COMPLETED {"op":"timer#1","result":2}`, "timer#1 is not open for it"},
		{"an error of an await", base, `13 1170 EFFECT_FAILED {"op":"await#1","error":{"code":"c"}}`, "await#1 is not open for it"},

		{"a timer that fires twice", base, `13 1170 TIMER_FIRED {"op":"fired#1"}`, "fired#1 is not open for it"},
		{"a timer that nobody set", base, `13 1170 TIMER_FIRED {"op":"timer#2"}`, "timer#2 is not open for it"},
		{"an effect that fires", base, `13 1170 TIMER_FIRED {"op":"retrying#1"}`, "retrying#1 is not open for it"},
		{"an await without a limit that runs out", base, `13 1170 TIMER_FIRED {"op":"await#2"}`, "await#2 has no deadline"},
		{"a timer that fires after a cancel", cancelled, `14 1170 TIMER_FIRED {"op":"timer#1"}`, "timer#1 is not open for it"},

		{"an answer to what was not received", base, `13 1170 REQUEST_ANSWERED {"request":"m-9","result":1}`, "was not received"},
		{"an answer twice", base + "\n" + `13 1170 REQUEST_ANSWERED {"request":"m-1","result":1}`, `14 1170 REQUEST_ANSWERED {"request":"m-1","result":1}`, "answered already"},
		{"a message twice", base, message("await#1", "await", "m-1"), `message "m-1" is in the log already`},
		{"a message that was a cancel", cancelled, message("await#1", "await", "m-2"), `message "m-2" is in the log already`},
		{"a message for a settled await", base, message("await#3", "await", "m-9"), "await#3 is not open for it"},
		{"a message nobody waits for", base, message("await#4", "await", "m-9"), "await#4 is not open for it"},
		{"a message for a timer", base, message("timer#1", "await", "m-9"), "timer#1 does not wait for a message await"},
		{"a message of another name", base, message("await#1", "other", "m-9"), "await#1 does not wait for a message other"},
		{"a message after a cancel", cancelled, message("await#1", "await", "m-9"), "await#1 is not open for it"},
		{"a cancel twice", cancelled, `14 1170 CANCEL_REQUESTED {"cause":"asked","message":"m-2"}`, `message "m-2" is in the log already`},
		{"a cancel that was a message", base, `13 1170 CANCEL_REQUESTED {"cause":"asked","message":"m-1"}`, `message "m-1" is in the log already`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, err := Log(parse(t, tc.log))
			if err != nil {
				t.Fatal(err)
			}
			s, _ := Log(parse(t, tc.log))
			e := parse(t, tc.next)[0]
			err = s.Add(e)
			var bad *LogError
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, tc.reason) {
				t.Fatalf("got %v, want a LogError with %q", err, tc.reason)
			}
			if bad.Execution != "order-42" || bad.Sequence != e.Sequence || bad.LoomCode() != "impossible_log" ||
				!strings.Contains(bad.Error(), e.ID()) {
				t.Errorf("the error is %+v", bad)
			}
			if !reflect.DeepEqual(s, before) {
				t.Errorf("the refusal changed the state from\n%+v to\n%+v", before, s)
			}
		})
	}
}

func attempt(op string, n int) string {
	return fmt.Sprintf(`13 1170 EFFECT_ATTEMPT_FAILED {"op":%q,"attempt":%d,"error":{"code":"c","message":""},"notBefore":9}`, op, n)
}

func message(op, name, id string) string {
	seq := 13
	if id == "m-2" || op == "await#1" && id == "m-9" && name == "await" {
		seq = 14 // after the cancel
	}
	return fmt.Sprintf(`%d 1170 MESSAGE_RECEIVED {"op":%q,"name":%q,"message":%q,"body":1}`, seq, op, name, id)
}

// TestAnotherExecutionsEventIsRefused whatever its sequence.
func TestAnotherExecutionsEventIsRefused(t *testing.T) {
	s, err := Log(parse(t, base))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := Log(parse(t, base))
	e := parse(t, `13 1170 TIMER_FIRED {"op":"timer#1"}`)[0]
	e.Execution = "order-43"
	var bad *LogError
	if err := s.Add(e); !errors.As(err, &bad) || !strings.Contains(bad.Reason, "that of order-42") {
		t.Fatalf("got %v", err)
	}
	if !reflect.DeepEqual(s, before) {
		t.Errorf("the state is now %+v", s)
	}
}

// TestWhatDoesNotDecodeIsRefused with the event's name, and changes nothing.
func TestWhatDoesNotDecodeIsRefused(t *testing.T) {
	log := parse(t, base)
	s, _ := Log(log)
	before, _ := Log(log)
	bad := parse(t, `13 1170 TIMER_FIRED {"op":1}`)[0]
	var d *event.DecodeError
	if err := s.Add(bad); !errors.As(err, &d) || d.Sequence != 13 {
		t.Fatalf("got %v", err)
	}
	if !reflect.DeepEqual(s, before) {
		t.Errorf("the state is now %+v", s)
	}
	if s, err := Log(append(log, bad)); s != nil || !errors.As(err, &d) {
		t.Errorf("Log: %v, %v", s, err)
	}
}

// TestReadReturnsTheErrorOfTheIteration as it is, and stops there.
func TestReadReturnsTheErrorOfTheIteration(t *testing.T) {
	log, cut := parse(t, base), errors.New("cut")
	var seq iter.Seq2[event.Envelope, error] = func(yield func(event.Envelope, error) bool) {
		for _, e := range log[:5] {
			if !yield(e, nil) {
				return
			}
		}
		if yield(event.Envelope{}, cut) {
			t.Error("read on after the error")
		}
	}
	if s, err := Read(seq); s != nil || err != cut {
		t.Errorf("got %v, %v", s, err)
	}
	whole := func(yield func(event.Envelope, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
	s, err := Read(whole)
	want, _ := Log(log)
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("Read: %+v, %v; Log: %+v", s, err, want)
	}
	if s, err := Read(func(yield func(event.Envelope, error) bool) { yield(log[1], nil) }); s != nil || err == nil {
		t.Errorf("a log without its beginning: %v, %v", s, err)
	}
}

// TestTheEmptyLog has a head before the first and no status.
func TestTheEmptyLog(t *testing.T) {
	s, err := Log(nil)
	if err != nil || s.Head != event.None || s.Status != "" || s.Status.Terminal() || s.Op("a#1") != nil || s.Consumed("m") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestEveryKindIsFolded feeds each known kind to a state that takes it: one that
// the switch forgot would change nothing but the head.
func TestEveryKindIsFolded(t *testing.T) {
	next := map[event.Kind]string{
		event.KindEffectScheduled:     `13 1170 EFFECT_SCHEDULED {"op":"x#1"}`,
		event.KindEffectAttemptFailed: attempt("open#1", 1),
		event.KindEffectCompleted:     `13 1170 EFFECT_COMPLETED {"op":"open#1","result":1}`,
		event.KindEffectFailed:        `13 1170 EFFECT_FAILED {"op":"open#1","error":{"code":"c"}}`,
		event.KindTimerScheduled:      `13 1170 TIMER_SCHEDULED {"op":"x#1","deadline":9}`,
		event.KindTimerFired:          `13 1170 TIMER_FIRED {"op":"timer#1"}`,
		event.KindMessageAwaited:      `13 1170 MESSAGE_AWAITED {"op":"x#1","name":"x"}`,
		event.KindMessageReceived:     `13 1170 MESSAGE_RECEIVED {"op":"await#2","name":"await","message":"m-9","body":1}`,
		event.KindCancelRequested:     `13 1170 CANCEL_REQUESTED {"cause":"asked"}`,
		event.KindExecutionContinued:  `13 1170 EXECUTION_CONTINUED {"generation":2,"input":3}`,
		event.KindChildScheduled:      `13 1170 CHILD_SCHEDULED {"op":"x#1","execution":"o/1","flow":"f"}`,
		event.KindChildStarted:        `13 1170 CHILD_STARTED {"op":"child#1"}`,
		event.KindChildSettled:        `13 1170 CHILD_SETTLED {"op":"child#1","status":"completed","result":1}`,
		event.KindEffectProgressed:    `13 1170 EFFECT_PROGRESSED {"op":"open#1","value":1}`,
		event.KindVersionMarked:       `13 1170 VERSION_MARKED {"change":"tax","version":2}`,
		event.KindRequestAnswered:     `13 1170 REQUEST_ANSWERED {"request":"m-1","result":1}`,
		event.KindStateSet:            `13 1170 STATE_SET {"key":"stage","value":"paid"}`,
		event.KindExecutionTerminated: `13 1170 EXECUTION_TERMINATED {"message":"m-9"}`,
		event.KindExecutionPaused:     `13 1170 EXECUTION_PAUSED {"by":"n","message":"m-9"}`,
		event.KindExecutionResumed:    `14 1170 EXECUTION_RESUMED {"by":"n"}`,
		event.KindOperatorRecovered:   `13 1170 OPERATOR_RECOVERED {"by":"ann","strikes":8}`,
		event.KindExecutionCompleted:  `13 1170 EXECUTION_COMPLETED {"result":1}`,
		event.KindExecutionFailed:     `13 1170 EXECUTION_FAILED {"error":{"code":"c"}}`,
		event.KindExecutionCancelled:  `13 1170 EXECUTION_CANCELLED {"error":{"code":"c"}}`,
	}
	for _, k := range event.Kinds() {
		if k == event.KindExecutionStarted {
			continue // every log here begins with it
		}
		log := base
		if k == event.KindChildStarted || k == event.KindChildSettled {
			log = child
			next[k] = strings.Replace(next[k], "13", "14", 1)
		}
		if k == event.KindExecutionResumed {
			log += "\n13 1170 EXECUTION_PAUSED {\"by\":\"n\"}"
		}
		s, _ := Log(parse(t, log))
		unmoved, _ := Log(parse(t, log))
		if next[k] == "" {
			t.Errorf("no sample of %s", k)
			continue
		}
		e := parse(t, next[k])[0]
		if e.Kind != k {
			t.Fatalf("the sample of %s is a %s", k, e.Kind)
		}
		if err := s.Add(e); err != nil {
			t.Errorf("%s: %v", k, err)
			continue
		}
		unmoved.Head, unmoved.Updated = s.Head, s.Updated
		if note := k == event.KindOperatorRecovered; reflect.DeepEqual(s, unmoved) != note {
			t.Errorf("%s: that it changed nothing but the head is %v, want %v", k, !note, note)
		}
	}
}
