// Package fault is a decorator that breaks a store on purpose: replies are lost,
// requests are lost, writes are late or fail, the store goes down for a while,
// a lease is not renewed.
//
// An [Injector] belongs to one way to a store, as one process sees it. What it
// breaks is decided by a [Chooser] and its [Rates], or call by call by a plan:
//
//	inj := fault.New(&fault.Options{Plan: func(c *fault.Call) fault.Fault {
//		if c.Op == fault.Commit && first() {
//			return fault.Fault{Act: fault.LoseReply}
//		}
//		return fault.Fault{}
//	}})
//	s, err := store.Stack(store.Of(backend), inj.Decorator())
//
// The decorator is an observer: a part that it does not know passes through. It
// never invents a refusal and never changes an answer that it passes on. It
// starts no goroutine unless a write is late, and reads no clock unless
// something is delayed; a simulator puts its own in the place of both.
package fault
