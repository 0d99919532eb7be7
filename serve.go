package loom

import (
	"encoding/json"
	"slices"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/kernel"
)

// requests is the beginning of the names of messages that are requests.
const requests = reserved + "ask."

// requestName returns the name of the messages by which a request is made.
func requestName(name string) (string, error) {
	if err := checkName("request", name); err != nil {
		return "", err
	}
	if !kernel.ValidName(requests + name) {
		return "", &NameError{What: "request", Name: name}
	}
	return requests + name, nil
}

// Serve answers requests of a name, which [Ask] makes from outside: it calls handler for
// each, in the order in which they come, in a branch of its own, and records what it
// returns as the answer. handler may use every verb; a request that comes while another's
// handler waits is taken at once. A request that came before Serve was called was kept.
//
// Serve goes on until its branch, or the execution, is asked to give way, or the body has
// returned; it then waits for the handlers that are open, which are asked to give way too,
// and returns [ErrCancelled]. So it mostly runs beside the rest of the body:
//
//	desk := loom.Go(ctx, "desk", func(ctx loom.Context) (bool, error) {
//		return true, loom.Serve(ctx, "price", priceOf)
//	})
//
// A handler's error, or panic, is the answer, and goes no further. A request is handled
// once for all, however often it is made with its [MessageID] and whatever node takes the
// execution over. What handler returns is compared in a replay like the result of a body.
//
// name is [A-Za-z0-9_.:-], 55 characters at the most. Other errors: [*NameError],
// [ErrUnloading], [*WrongBranchError], [*ForeignGoroutineError].
func Serve[Req, Res any](ctx Context, name string, handler func(ctx Context, req Req) (Res, error)) error {
	b := ctx.branch()
	message, err := requestName(name)
	if err != nil {
		return err
	}
	limit := b.run.rt.tune.MaxPayload
	handle := func(ctx Context, body json.RawMessage) (json.RawMessage, error) {
		req, err := decode[Req]("request "+name, body)
		if err != nil {
			return nil, err
		}
		res, err := handler(ctx, req)
		if err != nil {
			return nil, err
		}
		return encode("answer to request "+name, res, limit)
	}
	var open []*kernel.Branch
	for {
		op, denied := b.k.Await(message, -1)
		if denied == kernel.NoCancelled {
			break
		}
		if denied != kernel.Allowed {
			return b.denied(denied)
		}
		b.k.Wait(op)
		if op.Ending != kernel.Received {
			break
		}
		one, denied := b.k.Go(name, func(k *kernel.Branch) {
			(&branch{Context: b.Context, k: k, run: b.run}).answer(op, handle)
		})
		if denied != kernel.Allowed {
			return b.denied(denied)
		}
		open = append(slices.DeleteFunc(open, (*kernel.Branch).Done), one)
	}
	for _, k := range open {
		if _, denied := b.k.WaitAny(k); denied != kernel.Allowed {
			return b.denied(denied)
		}
	}
	return ErrCancelled
}

// answer calls a handler and records what it returns, or that it panicked.
func (b *branch) answer(op *kernel.Op, handle func(Context, json.RawMessage) (json.RawMessage, error)) {
	var res json.RawMessage
	failed := &event.Failure{Code: event.CodeExited, Message: "the handler ended its goroutine"}
	defer func() {
		if p := recover(); p != nil { // nil also if the goroutine ends, above all because the body is unloaded
			failed = failureOf(panicError(kernel.NewPanic(p)))
		}
		if failed != nil {
			res = nil
		}
		_ = b.k.Answer(op.Message, res, failed) // denied while the body is unloaded, and nothing is answered then
	}()
	var err error
	if res, err = handle(b, op.Result); err != nil {
		failed = failureOf(err)
		return
	}
	failed = nil
}
