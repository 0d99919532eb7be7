package demo

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// Job is what a worker process is told.
type Job struct {
	DB   Name   // path of the database
	ID   string // of the execution
	Root Name   // absolute, symbolic links resolved
	Life string // its name in the ledger
	// KillsLeft is how often the work is still to be killed, this life included. As
	// long as it is above 0 a worker that would be done too soon slows down.
	KillsLeft int
	// Files is how many files the listing holds, 0 if that is not known yet.
	Files int
}

// Work starts the audit, or goes on with it, and returns when it has ended. A worker
// whose conductor is gone, which the end of held says, lets the execution go.
func Work(ctx context.Context, job Job, held io.Reader) error {
	own, err := filesOf(string(job.DB), job.ID)
	if err != nil {
		return err
	}
	l, err := openLedger(own.ledger(), job.Life)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.append(note{What: "life"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		_, _ = io.Copy(io.Discard, held) // whatever ends it
		cancel(errConductorGone)
	}()
	w := &worker{ledger: l, kills: job.KillsLeft}
	w.files.Store(int64(job.Files))
	flow := newFlow(own, w)
	rt, err := loom.Open(ctx, sqlite.Open(own.db()), loom.Flows(flow), loom.Tuning{CloseGrace: time.Second})
	if err != nil {
		return err
	}
	run, err := flow.Start(ctx, rt, inputOf(own, job.Root), loom.ID(job.ID), loom.Labels(labels))
	var exists *loom.ExecutionAlreadyExistsError
	if errors.As(err, &exists) {
		run, err = loom.Attach[Summary](rt, job.ID)
	}
	if err == nil {
		_, err = run.Result(ctx)
	}
	var failed *loom.ExecutionError
	if err == nil || errors.As(err, &failed) {
		err = l.append(note{What: "finished"})
	}
	return errors.Join(err, rt.Close())
}

var errConductorGone = errors.New("the process that started this worker is gone")

var labels = map[string]string{"demo": "audit"}

func inputOf(own *files, root Name) Input {
	return Input{Root: root, Report: Name(own.report()), Ledger: Name(own.ledger())}
}

// worker does the effects of one life.
type worker struct {
	ledger *ledger
	kills  int
	files  atomic.Int64 // in the listing so far; written by the list effect alone
}

func (w *worker) body() {}

func (w *worker) call(ctx context.Context, what string, fn func(context.Context) (*int, error)) error {
	_, op, _ := loom.StepOf(ctx)
	if err := w.ledger.append(note{What: "called", Op: op, Key: loom.IdempotencyKey(ctx)}); err != nil {
		return err
	}
	if err := w.pace(ctx, what); err != nil {
		return err
	}
	files, err := fn(ctx)
	if err != nil {
		return err
	}
	if files != nil {
		w.files.Add(int64(*files))
	}
	return w.ledger.append(note{What: "done", Op: op, Files: files})
}

// How long a life lasts at least while kills are still to come.
const (
	paceLife    = 350 * time.Millisecond
	paceList    = 60 * time.Millisecond
	paceSummary = 5 * time.Second // the conductor kills long before
)

// pace makes an effect last, as long as the work is still to be killed: a small tree
// would be done before it could be.
func (w *worker) pace(ctx context.Context, what string) error {
	if w.kills == 0 {
		return nil
	}
	wait := paceList
	switch what {
	case stepSummary:
		wait = paceSummary
	case stepFile:
		rounds := (w.files.Load() + InFlight - 1) / InFlight
		if wait = time.Duration(w.kills+1) * paceLife / time.Duration(max(rounds, 1)); wait < time.Millisecond {
			return nil
		}
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
