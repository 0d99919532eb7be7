package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/loomwork/loom/event"
)

// LogError reports a log that no writer of Loom can have written.
type LogError struct {
	Execution event.ExecutionID
	Sequence  event.Seq
	Reason    string
}

func (e *LogError) Error() string {
	return fmt.Sprintf("loom: event %s cannot stand there: %s", event.EnvelopeID(e.Execution, e.Sequence), e.Reason)
}

// LoomCode returns the error's stable code.
func (e *LogError) LoomCode() string { return "impossible_log" }

// Log folds a whole log. The error is a [*LogError] or an [*event.DecodeError],
// and nothing else.
func Log(log []event.Envelope) (*State, error) {
	s := New()
	for _, e := range log {
		if err := s.Add(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Read folds what a store yields; an error of the iteration is returned as it is.
func Read(log iter.Seq2[event.Envelope, error]) (*State, error) {
	s := New()
	for e, err := range log {
		if err != nil {
			return nil, err
		}
		if err := s.Add(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// New returns the state of an empty log.
func New() *State { return &State{Head: event.None} }

// Add decodes e and applies it.
func (s *State) Add(e event.Envelope) error {
	p, err := e.Decode()
	if err != nil {
		return err
	}
	return s.Apply(e, p)
}

// Apply adds the next event, whose payload p is. The error is a [*LogError], and
// then s is as it was.
func (s *State) Apply(e event.Envelope, p event.Payload) error {
	bad := func(format string, args ...any) error {
		return &LogError{Execution: e.Execution, Sequence: e.Sequence, Reason: fmt.Sprintf(format, args...)}
	}
	if e.Sequence != s.Head+1 {
		return bad("the log's head is %d", s.Head)
	}
	if s.Head != event.None && e.Execution != s.Execution {
		return bad("the log is that of %s", s.Execution)
	}
	if e.Time < s.Updated {
		return bad("its time is before that of the event before")
	}
	_, starts := p.(event.ExecutionStarted)
	if starts != (e.Sequence == 0) {
		return bad("a log begins with %s, and only begins with it", event.KindExecutionStarted)
	}
	if _, unknown := p.(event.Unknown); !unknown && s.Status.Terminal() {
		return bad("the execution has ended")
	}
	if why := s.payload(e, p); why != "" {
		return bad("%s", why)
	}
	s.Head, s.Updated = e.Sequence, e.Time
	return nil
}

// payload applies what is in p, or says why it cannot and changes nothing.
func (s *State) payload(e event.Envelope, p event.Payload) string {
	switch p := p.(type) {
	case event.ExecutionStarted:
		s.Execution, s.Flow, s.Version = e.Execution, p.Flow, p.Version
		s.Input, s.Seed, s.Labels, s.Deadline = p.Input, p.Seed, p.Labels, p.Deadline
		s.Status, s.Started, s.Generation = Running, e.Time, 1
		s.Grow(4)
	case event.ExecutionContinued:
		if p.Generation != s.Generation+1 {
			return fmt.Sprintf("generation %d follows generation %d", p.Generation, s.Generation)
		}
		s.Generation, s.Input = p.Generation, p.Input
		s.Ops, s.index, s.consumed, s.answered, s.Versions = nil, nil, nil, nil, nil
		s.Grow(4)
	case event.EffectScheduled:
		return s.begin(e, Op{Path: p.Op, Kind: Effect})
	case event.TimerScheduled:
		return s.begin(e, Op{Path: p.Op, Kind: Timer, Due: p.Deadline})
	case event.MessageAwaited:
		return s.begin(e, Op{Path: p.Op, Kind: Await, Name: p.Name, Due: p.Deadline})
	case event.EffectAttemptFailed:
		return s.attempt(e, p)
	case event.EffectProgressed:
		o := s.Op(p.Op)
		if o == nil || o.Kind != Effect || !o.Open() {
			return fmt.Sprintf("operation %s is no open effect", p.Op)
		}
		o.Progress, o.Last = p.Value, e.Sequence
	case event.ChildScheduled:
		return s.begin(e, Op{Path: p.Op, Kind: Child, Child: p.Execution, Name: p.Flow, OnCancel: p.OnCancel})
	case event.ChildStarted:
		o := s.Op(p.Op)
		if o == nil || o.Kind != Child || !o.Open() || o.Started {
			return fmt.Sprintf("operation %s is no child that starts", p.Op)
		}
		o.Started, o.Last = true, e.Sequence
		if s.Cancel != nil && o.OnCancel == event.OnCancelAbandon && !event.Final(o.Path) {
			o.Status, o.Settled = OpCancelled, e.Time // its start was under way when the cancel came
		}
	case event.ChildSettled:
		if s.consumed[p.Message] {
			return fmt.Sprintf("message %q is in the log already", p.Message)
		}
		to := OpCompleted
		if p.Error != nil {
			to = OpFailed
		}
		if why := s.settle(e, p.Op, to, Child, ""); why != "" {
			return why
		}
		if p.Error != nil {
			s.Op(p.Op).Error = p.Error.Code
		}
		if p.Message != "" {
			s.consume(p.Message)
		}
	case event.VersionMarked:
		if _, ok := s.Versions[p.Change]; ok {
			return fmt.Sprintf("a version of %s is marked already", p.Change)
		}
		if s.Versions == nil {
			s.Versions = map[string]int{}
		}
		s.Versions[p.Change] = p.Version
	case event.StateSet:
		s.publish(p)
	case event.EffectCompleted:
		return s.settleEffect(e, p.Op, OpCompleted, nil)
	case event.EffectFailed:
		return s.settleEffect(e, p.Op, OpFailed, p.Error)
	case event.TimerFired:
		if o := s.Op(p.Op); o != nil && o.Open() && o.Due == 0 {
			return fmt.Sprintf("operation %s has no deadline to pass", p.Op)
		}
		return s.settle(e, p.Op, OpFired, Timer, Await)
	case event.MessageReceived:
		if s.consumed[p.Message] {
			return fmt.Sprintf("message %q is in the log already", p.Message)
		}
		if o := s.Op(p.Op); o != nil && o.Name != p.Name {
			return fmt.Sprintf("operation %s does not wait for a message %s", p.Op, p.Name)
		}
		if why := s.settle(e, p.Op, OpReceived, Await, ""); why != "" {
			return why
		}
		s.consume(p.Message)
	case event.RequestAnswered:
		switch {
		case !s.consumed[p.Request]:
			return fmt.Sprintf("request %q was not received", p.Request)
		case s.answered[p.Request]:
			return fmt.Sprintf("request %q is answered already", p.Request)
		case s.answered == nil:
			s.answered = map[string]bool{}
		}
		s.answered[p.Request] = true
	case event.CancelRequested:
		if s.consumed[p.Message] {
			return fmt.Sprintf("message %q is in the log already", p.Message)
		}
		if s.Cancel == nil {
			s.Cancel = &p
			s.giveWay(e)
		}
		if p.Message != "" {
			s.consume(p.Message)
		}
	case event.ExecutionCompleted:
		s.Status, s.Result = Completed, p.Result
	case event.ExecutionFailed:
		s.Status, s.Failure = Failed, p.Error
	case event.ExecutionCancelled:
		s.Status, s.Failure = Cancelled, p.Error
	case event.ExecutionTerminated:
		if s.consumed[p.Message] {
			return fmt.Sprintf("message %q is in the log already", p.Message)
		}
		s.Status, s.Failure = Terminated, TerminatedFailure(p)
	case event.ExecutionPaused:
		switch {
		case s.Status == Paused:
			return "the execution is paused already"
		case s.consumed[p.Message]:
			return fmt.Sprintf("message %q is in the log already", p.Message)
		}
		s.Status, s.Paused = Paused, &p
		if p.Message != "" {
			s.consume(p.Message)
		}
	case event.ExecutionResumed:
		if s.Status != Paused {
			return "the execution is not paused"
		}
		s.Status, s.Paused = Running, nil
	case event.OperatorRecovered, event.Unknown:
		// an operator's note, a newer build's fact: they move the head
	}
	return ""
}

// publish takes in a pair. Whoever takes the last one back has none, as if there never
// had been one.
func (s *State) publish(p event.StateSet) {
	switch {
	case !p.Gone() && s.Published == nil:
		s.Published = map[string]json.RawMessage{p.Key: p.Value}
	case !p.Gone():
		s.Published[p.Key] = p.Value
	default:
		if delete(s.Published, p.Key); len(s.Published) == 0 {
			s.Published = nil
		}
	}
}

// TerminatedFailure is the failure of an execution that was ended so.
func TerminatedFailure(p event.ExecutionTerminated) *event.Failure {
	return &event.Failure{Code: event.CodeTerminated, Message: cmp.Or(p.Reason, event.CodeTerminated)}
}

// giveWay ends what does not outlive a cancel: open timers and awaits, but not those
// of the final branch. An open effect goes on until it settles, and so does a child that
// is not to be abandoned, because the body must know the truth.
func (s *State) giveWay(e event.Envelope) {
	for i := range s.Ops {
		o := &s.Ops[i]
		stays := o.Kind == Effect || o.Kind == Child && (o.OnCancel != event.OnCancelAbandon || !o.Started)
		if o.Open() && !stays && !event.Final(o.Path) {
			o.Status, o.Last, o.Settled, o.Due = OpCancelled, e.Sequence, e.Time, 0
		}
	}
}

func (s *State) consume(message string) {
	if s.consumed == nil {
		s.consumed = map[string]bool{}
	}
	s.consumed[message] = true
}

func (s *State) begin(e event.Envelope, o Op) string {
	if _, ok := s.index[o.Path]; ok {
		return fmt.Sprintf("operation %s began already", o.Path)
	}
	o.Status, o.First, o.Last, o.Began = OpOpen, e.Sequence, e.Sequence, e.Time
	s.index[o.Path] = len(s.Ops)
	s.Ops = append(s.Ops, o)
	return ""
}

func (s *State) attempt(e event.Envelope, p event.EffectAttemptFailed) string {
	o, made := s.Op(p.Op), 0
	if o != nil {
		made = o.Attempts
	}
	switch {
	case o != nil && (o.Kind != Effect || !o.Open()):
		return fmt.Sprintf("operation %s is no open effect", p.Op)
	case p.Attempt != made+1:
		return fmt.Sprintf("attempt %d of %s follows attempt %d", p.Attempt, p.Op, made)
	case o == nil:
		// a read-only effect has no intent; its first failed attempt names it
		if why := s.begin(e, Op{Path: p.Op, Kind: Effect, ReadOnly: true}); why != "" {
			return why
		}
		o = s.Op(p.Op)
	}
	o.Status, o.Attempts, o.Due, o.Last, o.Error = OpRetrying, p.Attempt, p.NotBefore, e.Sequence, p.Error.Code
	return ""
}

func (s *State) settleEffect(e event.Envelope, path string, to OpStatus, f *event.Failure) string {
	if s.Op(path) == nil {
		if why := s.begin(e, Op{Path: path, Kind: Effect, ReadOnly: true}); why != "" {
			return why
		}
	}
	if why := s.settle(e, path, to, Effect, ""); why != "" {
		return why
	}
	if f != nil {
		s.Op(path).Error = f.Code
	}
	return ""
}

func (s *State) settle(e event.Envelope, path string, to OpStatus, kind, orKind OpKind) string {
	o := s.Op(path)
	if o == nil || o.Kind != kind && o.Kind != orKind || !o.Open() {
		return fmt.Sprintf("operation %s is not open for it", path)
	}
	o.Status, o.Last, o.Settled, o.Due = to, e.Sequence, e.Time, 0
	return ""
}
