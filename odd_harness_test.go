package loom_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// line is one runtime's way to any store: it notes what is asked about logs, and
// can hold each question back.
type line struct {
	mu     sync.Mutex
	asked  []call
	before func(call) // may block
}

// lined opens a runtime over a line to s.
func lined(t *testing.T, s store.Store, opts ...loom.Option) (*loom.Runtime, *line) {
	t.Helper()
	l := &line{}
	s.Log = lineLog{s.Log, l}
	s.Hints = nil
	return open(t, store.Opened(s), opts...), l
}

func (l *line) note(c call) {
	l.mu.Lock()
	l.asked = append(l.asked, c)
	before := l.before
	l.mu.Unlock()
	if before != nil {
		before(c)
	}
}

// on sets what is called before each question; nil for nothing.
func (l *line) on(before func(call)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = before
}

// of returns what was asked about an execution, in order.
func (l *line) of(id string) (out []call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.asked {
		if string(c.id) == id {
			out = append(out, c)
		}
	}
	return out
}

// forget forgets what was asked so far.
func (l *line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = nil
}

// words returns what was asked about an execution in words: "commit", "alone" for a
// commit that asks to travel alone, "read 0..0" for the first event alone, by a
// strong read.
func (l *line) words(id string) (out []string) {
	for _, c := range l.of(id) {
		word := c.op
		switch {
		case c.op == "read" && c.rng == store.Range{Limit: 1, Strong: true}:
			word = "read 0..0"
		case c.op == "read":
			word = fmt.Sprintf("read %+v", c.rng)
		case c.req != nil && c.req.Alone:
			word = "alone"
		}
		out = append(out, word)
	}
	return out
}

// asks checks what was asked about an execution, exactly.
func (l *line) asks(t *testing.T, id string, want ...string) {
	t.Helper()
	if got := l.words(id); !slices.Equal(got, want) {
		t.Fatalf("asked about %s: %q, want %q", id, got, want)
	}
}

// began checks what was first asked about an execution.
func (l *line) began(t *testing.T, id string, want ...string) {
	t.Helper()
	if got := l.words(id); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Fatalf("asked about %s: %q, want %q first", id, got, want)
	}
}

type lineLog struct {
	store.Log
	l *line
}

func (l lineLog) Commit(ctx context.Context, reqs ...store.Request) ([]store.Result, error) {
	for i := range reqs {
		req := reqs[i]
		l.l.note(call{op: "commit", id: req.Execution, req: &req})
	}
	return l.Log.Commit(ctx, reqs...)
}

func (l lineLog) Read(ctx context.Context, id event.ExecutionID, r store.Range) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		l.l.note(call{op: "read", id: id, rng: r})
		l.Log.Read(ctx, id, r)(yield)
	}
}

// started is what a start in the background came to.
type started struct {
	err  error
	done bool
	mu   sync.Mutex
}

// beginning starts an execution in the background, on its own goroutine of the bubble.
func beginning[In, Out any](t *testing.T, f *loom.Flow[In, Out], rt *loom.Runtime, in In, id string) *started {
	t.Helper()
	s := &started{}
	go func() {
		run, err := f.Start(t.Context(), rt, in, loom.ID(id))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done = true
		if s.err = err; err != nil && run != nil {
			s.err = fmt.Errorf("a handle came with the error %w", err)
		}
	}()
	synctest.Wait()
	return s
}

// answer waits for the end of a start and returns its error.
func (s *started) answer(t *testing.T) error {
	t.Helper()
	until(t, "a start's answer", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.done })
	return s.err
}
