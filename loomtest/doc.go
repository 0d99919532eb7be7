// Package loomtest tests flows: in virtual time, with nodes that crash, with effects that
// answer from a script, and against the logs of executions that are running somewhere.
//
// Nouns: an [Env] is one simulated world with a store in memory; a node is a loom.Runtime
// that [Env.Open] opened over it; a [Step] is a script for the effects of one step.
//
//	func TestCheckout(t *testing.T) {
//		loomtest.Run(t, func(e *loomtest.Env) {
//			e.Step("charge").Fails(errBusy).Returns(Payment{ID: "p-1"})
//			a := e.Open(loom.Flows(Checkout))
//			_, err := Checkout.Start(e.Context(), a, order, loom.ID("order-42"))
//			if err != nil {
//				t.Fatal(err)
//			}
//			e.Sleep(time.Hour)
//			e.Crash(a)
//			b := e.Open(loom.Flows(Checkout))
//			run, _ := loom.Attach[Receipt](b, "order-42")
//			receipt, err := run.Result(e.Context()) // a month of cooling off takes no time
//			if err != nil || receipt.Payment != "p-1" {
//				t.Error(receipt, err)
//			}
//		})
//	}
//
// [Run] runs one test, [Seeds] runs it in many orders, [CrashEverywhere] kills a node at
// each commit of a scenario and compares the ends, [ReplayFile] drives today's code over
// a log that [Save] or the command "loom log ID --export FILE" wrote.
//
// # Time
//
// Time in an Env is virtual. It stands still while anything runs, and jumps to the next
// thing that is due when everything waits: in a flow's loom.Sleep, in [Env.Sleep], in
// Result. It begins on 2026-01-01. As everywhere, what is due is never early; after a long
// sleep it may come some seconds late. A limit of the standard library, context.WithTimeout
// above all, and time.Now and time.Sleep go by real time: use [Env.Within], [Env.Now] and
// [Env.Sleep], in effects too.
//
// # Order
//
// The test's function, the functions of [Env.Go], bodies and effects take turns: one runs
// at a time, until it waits for something of Loom's or of the Env's. Who is next is drawn
// from the seed, so that one seed is one run. Code that draws from a source of its own, as
// math/rand's functions and ranges over maps do, is not.
//
// # Effects
//
// Effects run as they are. One that does real I/O, to an httptest.Server say, holds the
// world while it does, and takes no virtual time. It may begin goroutines if it waits for
// them. It may not wait for what only another turn can bring: a channel that the test
// sends on, the Done of its context, a mutex that somebody holds who waits. Then nobody
// else gets a turn; [Patience] later the test fails, with the stack of who holds the
// world. An effect that is to wait is scripted with [Step.Takes] or [Step.Held], or waits
// with [Env.Sleep].
//
// # Goroutines
//
// What belongs to the world is called by whoever has the turn. A goroutine that a go
// statement began may compute and do I/O; it may not call the Env, a runtime or a run. One
// that does is ended, and the test fails with its stack; [Env.Go] is the way. A goroutine
// that is left over when the test's function has returned fails the test too.
//
// # Failing
//
// t.Fatal may be called in the test's function, in those of Env.Go and in effects: it ends
// the test. A panic fails it with its stack, in the test's functions; one of a flow is
// recorded by Loom as it always is. When nothing can run any more, or nothing comes of
// [Horizon] of waiting, the test fails and says what is open and what it waits for.
package loomtest
