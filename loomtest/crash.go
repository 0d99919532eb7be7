package loomtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/internal/rt"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/fault"
)

// CrashEverywhere runs a scenario once undisturbed, and then twice for each commit that
// its node makes: the node is killed right before it sends the commit, and right after it
// has become durable. Each time a second node takes over, and must bring everything to the
// same end: the same executions, with the same results and errors, and the same left
// outside. No effect may be called again once its result is recorded, or more than once
// more for the crash.
//
// scenario returns a new scenario, with services and scripts that nobody has used; scripts
// are made with the Env that it gets. The test stops at the first crash that leads
// elsewhere, and says at which commit it was, what differs, and what the log is.
//
// A step with loom.AtMostOnce that a crash hits fails with loom.ErrOutcomeUnknown, as it
// must: a flow that does not deal with it ends elsewhere.
func CrashEverywhere(t testing.TB, scenario func(e *Env) *Scenario) {
	t.Helper()
	seed, set := fixedSeed(t)
	if !set {
		seed = 1
	}
	calm := play(t, seed, scenario, cut{})
	for k := 1; k <= calm.commits; k++ {
		for _, after := range []bool{false, true} {
			p := play(t, seed, scenario, cut{k, after})
			err := p.twice
			if err == nil {
				err = p.end.differs(calm.end)
			}
			if err != nil {
				t.Fatalf("loomtest: a crash %s leads elsewhere: %v\n%s%s", p.where, err, p.logs, repeat(t, seed))
			}
		}
	}
	t.Logf("loomtest: a crash before and after each of %d commits leads to the same end", calm.commits)
}

// cut is where the node is killed: before its k-th commit is sent, or after it is durable.
// The zero cut is nowhere.
type cut struct {
	k     int
	after bool
}

// played is one run of a scenario.
type played struct {
	cut cut

	e       *Env
	sc      *Scenario
	first   *node
	changed rt.Signal // wakes who watches the run
	crashed bool
	taken   bool // a second node has been opened since
	started bool
	ended   bool
	err     error

	commits int    // that the first node began
	durable int    // that it heard of
	where   string // it was killed
	end     end
	twice   error // an effect was called too often
	logs    string
}

// play runs the scenario once. It fails the test if the run does not come to its end.
func play(t testing.TB, seed uint64, scenario func(e *Env) *Scenario, c cut) *played {
	t.Helper()
	p := &played{cut: c, where: "nowhere"}
	err := run(t, seed, func(e *Env) {
		p.e, p.sc = e, scenario(e)
		err := p.run()
		p.logs = e.allLogs()
		if err != nil {
			e.w.Fail("%v", err)
		}
	}, &limits{quiet: true})
	switch {
	case err == nil && !t.Failed():
		return p
	case p.logs == "" && p.e != nil:
		p.logs = p.e.allLogs()
	}
	if err == nil {
		err = errors.New("the run failed")
	}
	t.Fatalf("loomtest: with a crash %s: %v\n%s%s", p.where, err, p.logs, repeat(t, seed))
	return nil
}

// run is the run, on a fiber of the outside.
func (p *played) run() error {
	e := p.e
	p.changed = e.w.Outside().NewSignal()
	client, err := e.join([]loom.Option{loom.Tuning{ClientOnly: true}})
	if err != nil {
		return err
	}
	if p.first, err = e.join(p.options()); err != nil {
		return err
	}
	p.first.faults.Plan(p.before)
	p.first.onCommit = p.after
	p.begin(p.first)
	if err := p.watch(&p.started); err != nil {
		return err
	}
	e.Go("Scenario.Then", func() {
		defer p.note(&p.ended)
		if p.sc.Then != nil {
			if err := p.sc.Then(e.ctx, client.rt); err != nil {
				p.err = fmt.Errorf("Scenario.Then: %w", err)
				return
			}
		}
		p.err = e.untilEnded(client.rt)
	})
	if err := p.watch(&p.ended); err != nil {
		return err
	}
	if p.cut.k > 0 && !p.crashed {
		return errors.New("the run made fewer commits than the undisturbed one before its crash: it is not the same run again")
	}
	crashes := 0
	if p.crashed {
		crashes = 1
	}
	p.twice = e.calledTooOften(crashes)
	p.end, err = e.ending(p.sc)
	return err
}

func (p *played) options() []loom.Option {
	return append([]loom.Option{loom.Flows(p.sc.Flows...)}, p.sc.Options...)
}

// begin calls Start on the node, so that it dies with it.
func (p *played) begin(n *node) {
	n.sim.Go("Scenario.Start", func() {
		if err := p.sc.start(p.e.ctx, n.rt); err != nil {
			p.err = fmt.Errorf("Scenario.Start: %w", err)
		}
		p.note(&p.started)
	})
}

func (p *played) note(what *bool) {
	*what = true
	p.changed.Wake()
}

// watch waits until what is true, and opens the second node when the first has died.
func (p *played) watch(what *bool) error {
	for !*what && p.err == nil {
		if p.crashed && !p.taken {
			p.taken = true
			n, err := p.e.join(p.options())
			if err != nil {
				return err
			}
			if !p.started {
				p.begin(n)
			}
			continue
		}
		if err := p.changed.Wait(p.e.ctx); err != nil {
			return err
		}
	}
	return p.err
}

// before is asked about each request of the first node, right before it is sent.
func (p *played) before(c *fault.Call) fault.Fault {
	if c.Op == fault.Commit {
		if p.commits++; p.commits == p.cut.k && !p.cut.after {
			p.crash("before", c.Request)
		}
	}
	return fault.Fault{Act: fault.Pass}
}

// after is called when the first node's commit has become durable.
func (p *played) after() {
	if p.durable++; p.durable == p.cut.k && p.cut.after {
		var last *store.Request
		for _, r := range p.e.history.Records {
			if r.Node == p.first.sim.Name() && r.Request != nil {
				last = r.Request
			}
		}
		p.crash("after", last)
	}
}

// crash kills the first node. It does not return.
func (p *played) crash(side string, req *store.Request) {
	what := ""
	for i, env := range req.Events {
		if i > 0 {
			what += ", "
		}
		what += string(env.Kind)
	}
	if what == "" {
		what = "no event"
	}
	p.where = fmt.Sprintf("%s commit %d (%s of %s)", side, p.cut.k, what, req.Execution)
	p.crashed = true
	p.changed.Wake()
	p.first.crash()
}

// allLogs are the logs of all executions, for people.
func (e *Env) allLogs() string {
	out := ""
	for _, id := range e.ids() {
		out += "log of " + string(id) + ":\n" + logText(e.Log(string(id)))
	}
	return out
}
