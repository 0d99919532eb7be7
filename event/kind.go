package event

// Kind is the recorded name of a kind of event.
type Kind string

// Role says what part a kind plays in a turn of the execution machine.
type Role uint8

const (
	// Passive events make no turn: they inform, and the body sees none of them.
	Passive Role = iota
	// Inbound events each begin a turn.
	Inbound
	// Command events are what the body asked for in the turn before them.
	Command
)

// kinds is the table of every kind this build knows, in the order of the docs.
var kinds = []struct {
	kind   Kind
	role   Role
	decode func([]byte) (Payload, error)
}{
	{KindExecutionStarted, Inbound, decodeAs[ExecutionStarted]},
	{KindExecutionContinued, Inbound, decodeAs[ExecutionContinued]},
	{KindEffectScheduled, Command, decodeAs[EffectScheduled]},
	{KindEffectAttemptFailed, Passive, decodeAs[EffectAttemptFailed]},
	{KindEffectProgressed, Passive, decodeAs[EffectProgressed]},
	{KindEffectCompleted, Inbound, decodeAs[EffectCompleted]},
	{KindEffectFailed, Inbound, decodeAs[EffectFailed]},
	{KindTimerScheduled, Command, decodeAs[TimerScheduled]},
	{KindTimerFired, Inbound, decodeAs[TimerFired]},
	{KindMessageAwaited, Command, decodeAs[MessageAwaited]},
	{KindMessageReceived, Inbound, decodeAs[MessageReceived]},
	{KindChildScheduled, Command, decodeAs[ChildScheduled]},
	{KindChildStarted, Inbound, decodeAs[ChildStarted]},
	{KindChildSettled, Inbound, decodeAs[ChildSettled]},
	{KindRequestAnswered, Command, decodeAs[RequestAnswered]},
	{KindCancelRequested, Inbound, decodeAs[CancelRequested]},
	{KindVersionMarked, Command, decodeAs[VersionMarked]},
	{KindStateSet, Command, decodeAs[StateSet]},
	{KindOperatorRecovered, Passive, decodeAs[OperatorRecovered]},
	{KindExecutionPaused, Passive, decodeAs[ExecutionPaused]},
	{KindExecutionResumed, Passive, decodeAs[ExecutionResumed]},
	{KindExecutionCompleted, Command, decodeAs[ExecutionCompleted]},
	{KindExecutionFailed, Command, decodeAs[ExecutionFailed]},
	{KindExecutionCancelled, Command, decodeAs[ExecutionCancelled]},
	{KindExecutionTerminated, Passive, decodeAs[ExecutionTerminated]},
}

// Kinds returns every kind this build knows. The caller owns the slice.
func Kinds() []Kind {
	out := make([]Kind, len(kinds))
	for i, k := range kinds {
		out[i] = k.kind
	}
	return out
}

// Role returns the part k plays in a turn; an unknown kind is [Passive].
func (k Kind) Role() Role {
	for i := range kinds {
		if kinds[i].kind == k {
			return kinds[i].role
		}
	}
	return Passive
}

// Known reports whether this build can decode k.
func (k Kind) Known() bool {
	for i := range kinds {
		if kinds[i].kind == k {
			return true
		}
	}
	return false
}
