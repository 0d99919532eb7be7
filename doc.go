// Package loom is a durable-execution kernel. A flow is a plain Go function; what it
// does to the outside world goes through steps, and Loom records each in an
// append-only log, one log an execution, before anything depends on it. Kill the
// process anywhere, start it again, and the flow goes on from its log; a step whose
// result is recorded is not called again.
//
//	var Checkout = loom.NewFlow("checkout", func(ctx loom.Context, in Order) (Receipt, error) {
//		pay, err := loom.Do(ctx, "charge", func(ctx context.Context) (Payment, error) {
//			return gateway.Charge(ctx, in.Card, in.Total, loom.IdempotencyKey(ctx))
//		}, loom.Retry{Attempts: 5, Initial: time.Second})
//		if err != nil {
//			return Receipt{}, err
//		}
//		if err := loom.Sleep(ctx, "cool-off", 24*time.Hour); err != nil {
//			return Receipt{}, err
//		}
//		return Receipt{Payment: pay.ID}, nil
//	})
//
//	func main() {
//		ctx := context.Background()
//		rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Checkout))
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer rt.Close()
//		run, err := Checkout.Start(ctx, rt, order, loom.ID("order-42"))
//		...
//		receipt, err := run.Result(ctx)
//	}
//
// # The nouns
//
// A [Flow] is a named function. An execution is one run of it, known by its id; a
// [Run] is a handle to one. A step is one [Do]: a named effect on the outside world. The
// log is the execution's events, in order and without gaps; its state is a pure function
// of it (package fold). A [Runtime] is a node: one process that drives executions over a
// store, together with every other node on that store.
//
// # What holds
//
// One id, one run: a second [Flow.Start] with the same [ID] runs nothing. No effect is
// called before its intent is durable, and none again once its result is; between the
// two, an effect is called once more for each time that the execution changed owners, unless
// the step promises something else ([AtMostOnce], [Verify], [ReadOnly]). A
// node that lost an execution writes no event of it and gets no new intent. What is
// recorded is bytes: the log of an older release replays in a newer one.
//
// # What a body must keep to
//
// A body is called again from the beginning when its execution is resumed, and its verbs
// answer from the log. So it must ask for the same verbs in the same order, given the same
// answers: no clock but [Now], no chance but [Rand] and [NewID], no goroutine but [Go], no
// I/O outside [Do]. One that does not is stopped with a [*DivergedError] before it can do
// harm.
package loom

// KernelABI is the version of the verbs and their semantics.
const KernelABI = "1.1.0"
