package event

// Codes of failures that Loom itself records. A body that returns an error with
// one of them records an ordinary failure: nothing is decided by a code that
// came out of a body.
const (
	CodeError          = "error"             // an error without a code
	CodeCancelled      = "cancelled"         // gave way to a cancel
	CodeDeadline       = "deadline_exceeded" // the execution's deadline passed
	CodeTimeout        = "timeout"           // an attempt took longer than it may
	CodeOutcomeUnknown = "outcome_unknown"   // called, and nobody knows what came of it
	CodePanic          = "panic"             // a body or an effect panicked
	CodeExited         = "exited"            // a body or an effect ended its goroutine
	CodeTooLarge       = "too_large"         // a result over the limit
	CodeInvalidResult  = "invalid_result"    // a result that cannot be written down
	CodeTerminated     = "terminated"        // ended from outside
	CodeCleanup        = "cleanup_failed"    // what a body left to do at its end did not succeed
)
