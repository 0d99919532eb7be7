package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os/exec"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
)

// process is the worker of one life.
type process struct {
	name   string // in the ledger
	cmd    *exec.Cmd
	hold   io.WriteCloser // closing it tells the worker to let go
	stderr *tail
	exited chan error // once
}

// start begins the next life.
func (c *conductor) start() (*process, error) {
	p := &process{name: newLife(), stderr: &tail{}, exited: make(chan error, 1)}
	p.cmd = c.o.Worker(Job{DB: Name(c.own.db()), ID: c.o.ID, Root: Name(c.root), Life: p.name, KillsLeft: c.asked, Files: c.tally.listed()})
	p.cmd.Stderr = p.stderr
	var err error
	if p.hold, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.exited <- p.cmd.Wait() }()
	return p, nil
}

func newLife() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// kill ends the process with SIGKILL and reports whether that is what ended it.
func (p *process) kill() bool {
	_ = p.cmd.Process.Kill() // an error says that it has ended already
	return <-p.exited != nil
}

// stop asks the process to let its execution go, and insists after a while.
func (p *process) stop() {
	_ = p.hold.Close()
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
		p.kill()
	}
}

// watch sees one life to its end: the work is done, or it is time to kill.
func (c *conductor) watch(ctx context.Context, p *process) error {
	every := 2 * time.Millisecond
	if c.asked == 0 {
		every = 20 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	death := newAppointment(c.asked)
	for {
		select {
		case err := <-p.exited:
			return c.exited(ctx, p, err)
		case <-ctx.Done():
			p.stop()
			return c.interrupted(ctx)
		case <-tick.C:
		}
		if err := c.tally.read(c.log.called); err != nil {
			p.stop()
			return err
		}
		c.progress()
		if c.asked > 0 && death.due(c.tally, p.name) {
			if p.kill() {
				c.asked--
			}
			return nil
		}
	}
}

// exited judges a worker that ended by itself.
func (c *conductor) exited(ctx context.Context, p *process, err error) error {
	if err == nil {
		return nil
	}
	if _, ended, err := c.log.look(ctx); err == nil && ended {
		return nil
	}
	return fault.New(fault.Unexpected, "worker_failed",
		fmt.Sprintf("the worker process failed: %v: %s", err, p.stderr.text()),
		fmt.Sprintf("loom doctor --store sqlite:%s", Name(c.own.db()).Text()))
}

// appointment is the random moment at which a life ends: while an effect is under
// way, somewhere in the first of as many parts of the remaining work as there are
// kills to come.
type appointment struct {
	kills int
	at    time.Time // zero: not known yet

	inList  bool // whether it is during the listing; decided is set
	decided bool
	target  int // else after so many audited files; -1 for not chosen
}

func newAppointment(kills int) *appointment { return &appointment{kills: kills, target: -1} }

// due reports whether it is time.
func (a *appointment) due(t *tally, name string) bool {
	l := t.lives[name]
	if l == nil || l.called == 0 {
		return false
	}
	if a.at.IsZero() {
		a.choose(t, l)
	}
	return !a.at.IsZero() && !time.Now().Before(a.at) && len(l.open) > 0
}

// choose sets a.at once it is near.
func (a *appointment) choose(t *tally, l *life) {
	soon := func(most time.Duration) { a.at = time.Now().Add(mathrand.N(most)) }
	if l.summing { // the last effect; it waits for the kill
		soon(80 * time.Millisecond)
		return
	}
	if len(t.pages) == 0 {
		if !a.decided {
			a.decided, a.inList = true, mathrand.IntN(4) == 0
		}
		if a.inList {
			soon(paceList)
		}
		return
	}
	if a.target < 0 {
		done := t.audited()
		left := t.listed() - done
		share := (0.05 + 0.9*mathrand.Float64()) / float64(a.kills)
		// One file at least, while there are enough: a node that takes over from one
		// that got nowhere is made to wait.
		a.target = done + max(int(share*float64(left)), min(left/(a.kills+1), 1))
	}
	if t.audited() >= a.target {
		soon(4 * time.Millisecond)
	}
}

// tail keeps the end of what was written to it.
type tail struct{ buf []byte }

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tail) text() string { return string(bytes.TrimSpace(t.buf)) }
