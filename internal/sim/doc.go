// Package sim runs Loom in a simulated world: nodes with clocks that drift and
// jump, crashes, pauses, a store that loses replies, and one order of everything
// that happens, drawn from a seed.
//
// A [World] has fibers, of which exactly one runs at any instant. A fiber is a
// goroutine that holds the world's token; it gives the token away where it
// waits and around each store call, and nowhere else. Which fiber is next, which
// fault is made and what a workload does are all answers of [World.Decide], so
// that the same seed gives the same run, byte for byte. Virtual time moves only
// when no fiber can run.
//
//	w := sim.New(7, nil)
//	err := w.Run(func() {
//		a := w.Node("a")
//		done := w.Outside().NewLatch()
//		a.Go("work", func() { a.Sleep(time.Second); done.Open() })
//		done.Wait(context.Background())
//	})
//
// A [Node] implements rt.Runtime. [Node.Connect] gives it a way to a store that
// the nodes share: each call is recorded in a [History] and goes through a fault
// decorator. The oracles in the check files judge a history and the [Ledger] of
// what workflow code did; they are functions over plain data.
//
// Above that stands the real runtime. A [Cluster] is nodes that run package loom over
// one store, the clients' triggers, and chaos; its bodies play a [Program] that the
// seed wrote. After chaos comes quiet, in which everything must end. A [Story] says
// what is run for a seed, runs it twice, and judges it; a [Race] is a story in which
// faults put the acts of one interleaving into their order; a [Golden] is a flow
// that is run once for each place at which it can be broken; a [Tale] is one of which
// an [Explorer] plays every order.
//
//	s := &sim.Story{Open: open}
//	_, err := s.Seed(7)
//
// A run that broke a rule is shrunk: [Story.Shrink] looks for fewer acts, nodes and
// decisions that break the same one, and [Saved] is the file that the corpus under
// testdata keeps of it. [Counts] says what a campaign did, and which of the rare states
// it came to.
//
// What is outside the envelope: goroutines that user code starts itself, real
// timers, and select.
package sim
