// Package coalesce is group commit as a decorator: what many callers of one process
// commit at the same time travels to the store in few calls.
//
// A request waits in a line until the flush before it is back; then all that waits is
// one call of the store under it. While one flush is on its way the next one gathers,
// so that a busy store gets large calls and an idle one is asked at once.
//
//	s, err := store.Stack(store.Of(backend), coalesce.New(nil))
//
// What callers get is what they would get without it:
//
//   - Each request has a verdict of its own, the store's. A store that fails a whole
//     call because of one request is asked again in halves, until only the guilty
//     one fails ([Bisect]).
//   - A flush holds one request an execution; a second one waits for the next flush,
//     and they are never in the air together. Requests for several executions are
//     judged in any order, also those of one call.
//   - Request.Alone is sent in a call of its own.
//   - ctx ends the wait, not the write. The flush that carries a request ends early
//     only when all of its callers have left.
//   - An unknown outcome is handed on. Whoever sent the request sends it again under
//     its nonce; nothing is sent again from here that may have been written.
//
// It has no goroutine while nothing waits, and needs no closing.
//
// Whoever commits may use the slices of a request again when Commit has returned,
// although the request may still be on its way. The bytes of events and messages
// are not copied: they must not change once they were handed in.
package coalesce
