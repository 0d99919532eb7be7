package sim

import (
	"errors"
	"strconv"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/store"
)

// checkAnswers holds what clients were told against the logs: oracle O1 for each
// acknowledgement, and oracle O14, a start that was refused has left nothing.
func checkAnswers(b *Book, h *History, lives []*life, vs *violations) {
	for _, s := range b.Starts {
		checkStart(s, lives, vs)
	}
	posted := map[event.ExecutionID]map[string]int{}
	for pos := range h.Records {
		if r := &h.Records[pos]; r.Did == DidPost && r.Receipt.Delivery == store.Posted {
			if posted[r.Execution] == nil {
				posted[r.Execution] = map[string]int{}
			}
			if _, ok := posted[r.Execution][r.Message.ID]; !ok {
				posted[r.Execution][r.Message.ID] = pos
			}
		}
	}
	for _, s := range b.Signals {
		checkSignal(s, posted[s.Execution], lives, vs)
	}
	for _, r := range b.Results {
		checkResult(r, lives, vs)
	}
}

// startedBy is the number of the start that began a life.
func startedBy(l *life) int {
	p, _ := l.log[0].Decode()
	first, _ := p.(event.ExecutionStarted)
	n, _ := strconv.Atoi(first.Labels[startLabel])
	return n
}

func checkStart(s *Start, lives []*life, vs *violations) {
	if !s.Answered {
		return
	}
	var mine *life // the life that this start began
	exists, deleted := false, false
	for _, l := range lives {
		if l.id == s.Execution && len(l.log) > 0 {
			exists = exists || l.from < s.Pos
			deleted = deleted || l.until >= 0
			if startedBy(l) == s.Number {
				mine = l
			}
		}
	}
	var there *loom.ExecutionAlreadyExistsError
	var write *loom.StorageWriteError
	switch {
	case s.Err == nil && s.Chosen && (mine == nil || mine.from >= s.Pos):
		vs.add("O1", s.Execution, "start %d was told that it is durable, and it is not", s.Number)
	case s.Err == nil && s.Durable >= 0 && (mine == nil || mine.from >= s.Durable):
		vs.add("O1", s.Execution, "Durable told start %d so, and it is not", s.Number)
	case errors.As(s.Err, &there) && mine != nil:
		vs.add("O14", s.Execution, "start %d was refused, and the log begins with it", s.Number)
	case errors.As(s.Err, &there) && !exists:
		vs.add("O14", s.Execution, "start %d was told of an execution that does not exist", s.Number)
	case errors.As(s.Err, &write) && write.Definite && mine != nil:
		vs.add("O14", s.Execution, "start %d was told that nothing was written, and the log begins with it: %v", s.Number, s.Err)
	case s.Err == nil, there != nil, write != nil, errors.Is(s.Err, loom.ErrClosed), errors.Is(s.Err, errGivenUp),
		errors.Is(s.Err, loom.ErrDeleting) && deleted && mine == nil:
	default:
		vs.add("O14", s.Execution, "start %d was answered %v", s.Number, s.Err)
	}
}

func checkSignal(s *Signal, posted map[string]int, lives []*life, vs *violations) {
	if !s.Answered {
		return
	}
	exists := false
	for _, l := range lives {
		exists = exists || l.id == s.Execution && l.from < s.Pos
	}
	var write *loom.StorageWriteError
	switch {
	case s.Err == nil && !exists:
		vs.add("O1", s.Execution, "signal %s was taken, and the execution does not exist", s.ID)
	case s.Err == nil && s.ID != "":
		if pos, ok := posted[s.ID]; !ok || pos >= s.Pos {
			vs.add("O1", s.Execution, "signal %s was taken, and it is not in the store", s.ID)
		}
	case s.Err == nil, errors.Is(s.Err, loom.ErrNotFound), errors.Is(s.Err, loom.ErrEnded), errors.As(s.Err, &write),
		errors.Is(s.Err, loom.ErrClosed), errors.Is(s.Err, errGivenUp):
	default:
		vs.add("O1", s.Execution, "signal %s was answered %v", s.ID, s.Err)
	}
}

// checkResult holds a result that was handed out against the end in the log, which
// must have been durable by then.
func checkResult(r *Result, lives []*life, vs *violations) {
	var end event.Payload
	for _, l := range lives {
		if l.id != r.Execution {
			continue
		}
		for _, e := range l.log {
			if p, err := e.Decode(); err == nil && e.pos < r.Pos {
				switch p.(type) {
				case event.ExecutionCompleted, event.ExecutionFailed, event.ExecutionCancelled, event.ExecutionTerminated:
					end = p
				}
			}
		}
	}
	var failed *loom.ExecutionError
	ok := false
	switch p := end.(type) {
	case event.ExecutionCompleted:
		ok = r.Err == nil && string(quote(r.Value)) == string(p.Result)
	case event.ExecutionFailed:
		ok = errors.As(r.Err, &failed) && failed.Status == fold.Failed && failed.Message == p.Error.Message
	case event.ExecutionTerminated:
		ok = errors.As(r.Err, &failed) && failed.Status == fold.Terminated && errors.Is(r.Err, loom.ErrTerminated)
	case event.ExecutionCancelled:
		ok = errors.As(r.Err, &failed) && failed.Status == fold.Cancelled
	}
	if !ok {
		vs.add("O1", r.Execution, "its result was told on %s as %q, %v; the log had %+v", r.Node, r.Value, r.Err, end)
	}
}
