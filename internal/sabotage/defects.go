package sabotage

// Defect is a planted defect: what it breaks, and where.
type Defect struct {
	Name  string
	Where string // file that asks
	What  string // what the code does when it is on
}

// defects is the list. It only grows: each real defect that a test found later
// adds the line that brings it back.
var defects = []Defect{
	{"mark-ignored", "store/judge.go", "a request that is sent again is judged as a new one"},
	{"birth-ignored", "store/judge.go", "a start that was claimed since does not know its own execution"},
	{"mark-unchecked", "store/judge.go", "a tip is compared without its mark"},
	{"anchor-dropped", "store/judge.go", "another incarnation of the id takes the commit"},
	{"fence-at-least", "store/judge.go", "a token above the current one is good enough"},
	{"fence-dropped", "store/judge.go", "tokens are not compared"},
	{"owner-dropped", "store/judge.go", "As is not compared with the owner"},
	{"claim-of-the-living", "store/judge.go", "a Lapsed claim does not ask for the owner's lease"},
	{"claim-without-lease", "store/judge.go", "a node without a lease may claim"},
	{"claim-keeps-token", "store/judge.go", "a claim does not move the token"},
	{"park-ignores-mail", "store/judge.go", "a release over unseen mail sleeps"},
	{"end-ignores-mail", "store/judge.go", "an end is not refused over unseen mail"},
	{"post-wakes-nobody", "store/judge.go", "a message leaves the wake-up of a parked execution as it is"},
	{"published-anyway", "store/judge.go", "what a refused request publishes is shown"},
	{"mark-and-reconcile", "store/judge.go", "a request that is sent again is judged as a new one, and nobody reconciles"},

	{"call-before-intent", "call.go", "an effect is called before its intent is durable"},
	{"lease-unchecked", "call.go", "nobody looks at the lease right before an effect"},
	{"lapse-forgotten", "commit.go", "ownership is not asked for again after the lease had lapsed"},
	{"resent-unpublished", "commit.go", "a commit that is sent again publishes nothing"},
	{"fresh-nonce", "commit.go", "a commit without an answer is sent again under another nonce"},
	{"end-told-early", "finish.go", "an end is told although it was not written"},
	{"end-looks-away", "finish.go", "an end says that all mail was looked at"},
	{"no-reconcile", "reconcile.go", "what a living node owns and does not drive stays so"},
	{"wall-timers", "node.go", "deadlines go by the node's wall clock"},
	{"busy-forgotten", "scan.go", "what has a request in flight is taken for forgotten"},
	{"second-start-runs", "bootstrap.go", "a start that was refused enters the body"},
	{"precheck-only", "start.go", "an occurrence that a look did not see is begun at once, and nothing waits for its first write"},
	{"cancelled-again", "drive.go", "a cancelled step is called again after a takeover"},
	{"consumed-forgotten", "mail.go", "a message that was recorded is delivered again"},
	{"park-forgets-deadline", "park.go", "a park sleeps for ever"},
	{"published-first", "internal/kernel/publish.go", "of several pairs in one commit the first alone is shown"},
	{"attempt-not-durable", "internal/kernel/turn.go", "the next attempt does not wait for the failed one to be durable"},
	{"deadline-anew", "internal/kernel/replay.go", "a replay computes the deadlines of its timers again"},
	{"birth-is-mine", "internal/kernel/journal.go", "a start that is known by its birth alone drives"},

	{"durable-early", "commit.go", "subscribers hear that events are durable before the store has answered"},
	{"durable-gap", "commit.go", "of the events of one commit subscribers hear of the first alone that it is durable"},
	{"aborted-untold", "commit.go", "subscribers do not hear what is lost"},
	{"told-after-abort", "commit.go", "subscribers hear of an event of a run behind its end"},

	// Found by a seed, each.
	{"end-is-an-event", "drive.go", "an end is committed without the state of one"},
	{"aborted-twice", "commit.go", "subscribers hear twice of what is lost"},
	{"definite-anyway", "bootstrap.go", "a start of unknown outcome is said not to be written"},
	{"end-keeps-timer", "park.go", "a deadline that passed keeps waking an execution whose end is on its way"},
	{"hooks-overlap", "hook_queue.go", "a run's hooks do not wait for those of the run before"},
	{"answer-ignored", "call.go", "a run goes on although the answer to its commit ended it"},
	{"once-again", "drive.go", "a step that may be called once is called again after a takeover"},
	{"verify-forgotten", "verify.go", "a step that has to be asked about is called again after a takeover"},
	{"child-end-untold", "finish.go", "the end of a child is not posted to its parent"},
	{"generations-share-paths", "internal/kernel/turn.go", "a step of a new generation has the identity of one of an older generation"},
	{"version-unmarked", "internal/kernel/version.go", "the version that a body was given is not recorded"},
	{"progress-forgotten", "internal/kernel/replay.go", "what a step recorded of its progress is not there after a takeover"},
	{"heard-between-generations", "drive.go", "a cancel is recorded behind the end of a generation, before the body of the next"},
	{"undo-anyway", "cleanup.go", "what a body did is taken back although it completed"},
	{"cancel-in-final", "internal/kernel/end.go", "a cancel reaches what a body does at its end"},
	{"wall-set-back", "node.go", "a lease is trusted although the wall clock was set back behind its renewal"},
	{"clock-ahead", "runtime.go", "a client stamps with a clock that may be ahead of the store's"},
}

// Defects returns the list. The caller owns it.
func Defects() []Defect { return append([]Defect(nil), defects...) }
