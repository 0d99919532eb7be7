package loomtest

import (
	"context"
	"fmt"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/internal/rt"
)

// Step is a script for the effects of one step: what they answer, in the order of the
// calls, in place of the flow's functions. Its methods that add answers return the Step.
//
// An answer belongs to an attempt. A call that a crash cut off is made again, and is
// answered as the first time. At the end of the test every answer must have been used; a
// call without one fails the test. What a step has beside its effect, the function of
// loom.Verify, is called as it is.
type Step struct {
	e       *Env
	name    string
	answers []*answer
	used    int
	given   map[callKey]*answer
	last    *answer // for all further calls, nil for none
	count   int

	next     answer // what is said of the next answer
	released int
	waiting  []*heldCall
	watchers []watcher
}

// answer is what one attempt is answered.
type answer struct {
	value any
	err   error
	fn    func(ctx context.Context) (any, error)
	real  bool
	takes time.Duration
	hold  bool
}

// callKey names an attempt.
type callKey struct {
	execution, path string
	attempt         int
}

// Step returns the script for a step, made at the first call: name is what loom.Do was
// given, or the path of one step, as "charge#2" and "left#1/charge#1".
func (e *Env) Step(name string) *Step {
	e.w.Here() // only who has the turn may
	s := e.steps[name]
	if s == nil {
		s = &Step{e: e, name: name, given: map[callKey]*answer{}}
		e.steps[name] = s
		e.order = append(e.order, s)
	}
	return s
}

func (s *Step) add(a answer) *Step {
	a.takes, a.hold = s.next.takes, s.next.hold
	s.next = answer{}
	s.answers = append(s.answers, &a)
	return s
}

// Returns adds answers: each value is what one call returns.
func (s *Step) Returns(values ...any) *Step {
	for _, v := range values {
		s.add(answer{value: v})
	}
	return s
}

// Fails adds answers: each error is what one call fails with.
func (s *Step) Fails(errs ...error) *Step {
	for _, err := range errs {
		s.add(answer{err: err})
	}
	return s
}

// Calls adds an answer: what fn returns.
func (s *Step) Calls(fn func(ctx context.Context) (any, error)) *Step { return s.add(answer{fn: fn}) }

// Real adds an answer: that of the flow's own function.
func (s *Step) Real() *Step { return s.add(answer{real: true}) }

// Always answers every further call with a value. It need not be used.
func (s *Step) Always(value any) *Step {
	s.last = &answer{value: value, takes: s.next.takes, hold: s.next.hold}
	s.next = answer{}
	return s
}

// Takes makes the answer that is added next come after d of virtual time, or with an error
// when the effect's context ends before.
func (s *Step) Takes(d time.Duration) *Step { s.next.takes = d; return s }

// Held makes the answer that is added next wait for [Step.Release], or for the end of the
// effect's context.
func (s *Step) Held() *Step { s.next.hold = true; return s }

// Release lets the call go that has been held longest, or, if none is held, the next one
// that is to be.
func (s *Step) Release() {
	s.e.w.Here() // only who has the turn may
	s.released++
	for _, h := range s.waiting {
		if !h.n.sim.Dead() {
			h.wake.Wake()
		}
	}
}

// Count returns how many calls have begun, those included that a crash cut off.
func (s *Step) Count() int { return s.count }

// Await waits until n calls have begun.
func (s *Step) Await(n int) {
	here := s.e.w.Here()
	for s.count < n {
		wake := here.NewSignal()
		s.watchers = append(s.watchers, watcher{here.Dead, wake})
		if err := wake.Wait(s.e.ctx); err != nil {
			return
		}
	}
}

// watcher waits for a call.
type watcher struct {
	dead func() bool
	wake rt.Signal
}

// heldCall is a call that waits to be released.
type heldCall struct {
	n    *node
	wake rt.Signal
}

// choose returns the answer for an attempt, nil if there is none.
func (s *Step) choose(k callKey) *answer {
	a := s.given[k]
	switch {
	case a != nil:
	case s.used < len(s.answers):
		a = s.answers[s.used]
		s.used++
	default:
		a = s.last
	}
	s.given[k] = a
	return a
}

// answer answers a call.
func (s *Step) answer(ctx context.Context, n *node, c rt.EffectCall, k callKey) (any, error) {
	s.count++
	woken := s.watchers
	s.watchers = nil
	for _, w := range woken {
		if !w.dead() {
			w.wake.Wake()
		}
	}
	a := s.choose(k)
	if a == nil {
		err := fmt.Errorf("loomtest: step %s was called %d times, and its script has %d answers", s.name, s.count, len(s.answers))
		s.e.t.Error(err)
		return nil, loom.Permanent(err)
	}
	if a.takes > 0 {
		if err := n.sim.SleepContext(ctx, a.takes); err != nil {
			return nil, err
		}
	}
	if a.hold {
		if err := s.wait(ctx, n); err != nil {
			return nil, err
		}
	}
	switch {
	case a.real:
		return c.Do(ctx)
	case a.fn != nil:
		return a.fn(ctx)
	}
	return a.value, a.err
}

// wait holds a call until it is the oldest and something is released.
func (s *Step) wait(ctx context.Context, n *node) error {
	h := &heldCall{n, n.sim.NewSignal()}
	s.waiting = append(s.waiting, h)
	defer s.forget(h)
	for {
		if s.released > 0 && s.oldest() == h {
			s.released--
			return nil
		}
		if err := h.wake.Wait(ctx); err != nil {
			return err
		}
	}
}

// oldest is the first call that is held on a node that lives.
func (s *Step) oldest() *heldCall {
	for _, h := range s.waiting {
		if !h.n.sim.Dead() {
			return h
		}
	}
	return nil
}

func (s *Step) forget(h *heldCall) {
	for i, other := range s.waiting {
		if other == h {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
		}
	}
	if s.released > 0 {
		for _, other := range s.waiting { // its turn has come
			if !other.n.sim.Dead() {
				other.wake.Wake()
			}
		}
	}
}

// check fails the test if answers are left.
func (s *Step) check() {
	if left := len(s.answers) - s.used; left > 0 {
		s.e.t.Errorf("loomtest: the script of step %s has %d answers that no call asked for", s.name, left)
	}
}

// effect takes a call of an effect: from a script, if there is one for it.
func (n *node) effect(ctx context.Context, c rt.EffectCall) (any, error) {
	e := n.e
	k := callKey{c.Execution, c.Path, c.Attempt}
	if e.calls[k]++; e.calls[k] > 1 && !c.ReadOnly {
		e.recorded(k)
	}
	returned := false
	defer func() {
		if !returned && exiting() && !n.sim.Dead() && !e.w.Failed() && e.t.Failed() {
			e.abort() // t.Fatal in an effect
		}
	}()
	v, err := e.called(ctx, n, c, k)
	returned = true
	return v, err
}

func (e *Env) called(ctx context.Context, n *node, c rt.EffectCall, k callKey) (any, error) {
	for _, name := range []string{c.Path, c.Name} {
		if s := e.steps[name]; s != nil {
			return s.answer(ctx, n, c, k)
		}
	}
	return c.Do(ctx)
}
