package sim

import (
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// checkLogs is oracle O1, what was committed is in every later read, and oracle
// O2, sequences are gapless from 0 and no byte behind the head ever changes. The
// store's own answers are the reference, so it holds for faults above it.
func checkLogs(h *History, vs *violations) {
	logs := map[event.ExecutionID][]event.Envelope{}
	for i := range h.Records {
		r := &h.Records[i]
		log := logs[r.Execution]
		switch {
		case r.Did == DidDelete:
			delete(logs, r.Execution)
		case r.Did == DidCommit && r.Result.Outcome == store.Committed:
			if r.Result.Again {
				checkAgain(r, log, vs)
				continue
			}
			if !r.Request.Expect.Exists() && len(log) > 0 {
				vs.add("O2", r.Execution, "created over a log of %d events", len(log))
				log = nil
			}
			for _, e := range r.Request.Events {
				if want := event.Seq(len(log)); e.Sequence != want {
					vs.add("O2", r.Execution, "event %d committed where %d was due", e.Sequence, want)
				}
				log = append(log, e)
			}
			logs[r.Execution] = log
			if want := event.Seq(len(log) - 1); r.Result.Tip.Head != want {
				vs.add("O2", r.Execution, "head %d after a commit, the log ends at %d", r.Result.Tip.Head, want)
			}
		case r.Did == DidTip && r.Err == nil:
			if want := event.Seq(len(log) - 1); r.Tip.Head != want {
				vs.add("O1", r.Execution, "head %d read, the log ends at %d", r.Tip.Head, want)
			}
		case r.Did == DidRead:
			checkRead(r, log, vs)
		}
	}
}

// checkAgain asks of a resent request that its events are in the log.
func checkAgain(r *Record, log []event.Envelope, vs *violations) {
	for _, e := range r.Request.Events {
		if int(e.Sequence) >= len(log) || !log[e.Sequence].Equal(e) {
			vs.add("O1", r.Execution, "event %d is said to be committed already, and is not in the log", e.Sequence)
		}
	}
}

func checkRead(r *Record, log []event.Envelope, vs *violations) {
	want := log[min(max(int(r.From), 0), len(log)):]
	for i, e := range r.Events {
		switch {
		case i >= len(want):
			vs.add("O2", r.Execution, "event %d was read and never committed", e.Sequence)
			return
		case !e.Equal(want[i]):
			vs.add("O2", r.Execution, "event %d was read as %s %s, committed as %s %s", want[i].Sequence, e.Kind, e.Payload, want[i].Kind, want[i].Payload)
			return
		}
	}
	if r.Whole && r.Err == nil && len(r.Events) < len(want) {
		vs.add("O1", r.Execution, "a read from %d shows %d events of %d that were committed", r.From, len(r.Events), len(want))
	}
}
