package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store"
)

// resumed returns the flow of W3: n steps that call called, and then the live one, which
// calls live and does not return before its context ends.
func resumed(called, live func()) *loom.Flow[int, int] {
	text := string(payload[1 : len(payload)-1])
	return loom.NewFlow("resumed", func(ctx loom.Context, n int) (int, error) {
		for range n {
			if _, err := loom.Do(ctx, "step", func(context.Context) (string, error) { called(); return text, nil }); err != nil {
				return 0, err
			}
		}
		return loom.Do(ctx, "live", func(ctx context.Context) (int, error) {
			live()
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
	})
}

// recordedLogs are the stores whose log W3 resumes, by kind. A resume leaves its log as
// it was, so one recording serves all runs.
type recordedLogs struct {
	files  map[*kind]string
	memory store.Store
}

// w3 resumes an execution with many recorded steps in a process that has just been
// started: the one before it was killed. A store in memory does not outlive its process,
// so there the same process opens a new runtime.
func (l *lab) w3(ctx context.Context) error {
	if l.kind.memory {
		return l.w3Memory(ctx)
	}
	path, ok := l.logs.files[l.kind]
	if !ok {
		path = filepath.Join(l.dir, l.kind.name+"-w3.db")
		if _, err := l.spawn(ctx, childSpec{Does: "record", Path: path, Number: l.size.recorded}); err != nil {
			return err
		}
		if l.logs.files == nil {
			l.logs.files = map[*kind]string{}
		}
		l.logs.files[l.kind] = path
	}
	began := time.Now()
	said, err := l.spawn(ctx, childSpec{Does: "resume", Path: path})
	if err != nil {
		return err
	}
	l.resumed(said.Took)
	l.add("W3", "start of the process to live step", "ms", ms(said.at.Sub(began)))
	if said.Steps != 0 {
		l.sheet.wrongly("W3 on %s: %d recorded steps were called again", l.kind.name, said.Steps)
	}
	return nil
}

func (l *lab) resumed(took time.Duration) {
	l.add("W3", "open to live step", "ms", ms(took))
	l.add("W3", "replayed", "steps/s", float64(l.size.recorded)/took.Seconds())
}

func (l *lab) w3Memory(ctx context.Context) error {
	if l.logs.memory.Log == nil {
		st, _, _, err := l.kind.fresh(ctx, l.dir, "w3")
		if err != nil {
			return err
		}
		l.logs.memory = st
		if _, err := liveStep(ctx, st, l.size.recorded); err != nil {
			return err
		}
	}
	took, err := liveStep(ctx, l.logs.memory, 0)
	if err == nil {
		l.resumed(took)
	}
	return err
}

// liveStep opens a runtime over st and returns how long it takes until the live step is
// called. It starts the execution if n > 0, else the store has it.
func liveStep(ctx context.Context, st store.Store, n int) (took time.Duration, err error) {
	live := make(chan time.Time, 1)
	flow := resumed(func() {}, func() { live <- time.Now() })
	began := time.Now()
	rt, err := loom.Open(ctx, store.Opened(st), loom.Flows(flow))
	if err != nil {
		return 0, err
	}
	if n > 0 {
		if _, err := flow.Start(ctx, rt, n); err != nil {
			return 0, errors.Join(err, rt.Close())
		}
	}
	select {
	case at := <-live:
		took = at.Sub(began)
	case <-time.After(patience):
		err = fmt.Errorf("the live step was not called within %s", patience)
	}
	return took, errors.Join(err, rt.Close())
}

// patience is how long a child may take.
const patience = 2 * time.Minute
