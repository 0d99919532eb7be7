package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

// Options say what to audit and how roughly.
type Options struct {
	Dir   string // the tree
	DB    string // path of the database; created if it does not exist
	ID    string // of the execution
	Kills int    // how often the worker is killed

	// Worker returns the command that does a job: this program again. Its standard
	// input is the conductor's to set.
	Worker func(Job) *exec.Cmd
	// Progress hears how far the work is, from one goroutine.
	Progress func(done, total, kills int)
	// Note hears one sentence for people now and then.
	Note func(string)
}

// conductor starts workers, watches the ledger and kills.
type conductor struct {
	o     Options
	own   *files
	root  string
	st    store.Store
	rt    *loom.Runtime // a client: the conductor drives nothing
	tally *tally
	log   *durables
	began time.Time
	asked int // kills still to come
}

// Run audits the tree, or goes on with an audit that was begun under the id, or
// finds it finished, and returns what the witnesses say. Errors are of type
// [*fault.Error] or the store's.
func Run(ctx context.Context, o Options) (*Figures, error) {
	c := &conductor{o: o, began: time.Now(), asked: o.Kills}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	src := sqlite.Open(c.own.db())
	st, shut, err := src.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = shut() }() // everything is durable by its answer, not by this
	c.st = st
	if c.rt, err = loom.Open(ctx, store.Opened(st), loom.Tuning{ClientOnly: true}); err != nil {
		return nil, err
	}
	defer c.rt.Close()
	c.log = newDurables(c.rt, o.ID)
	if err := c.sameRequest(ctx); err != nil {
		return nil, err
	}
	free, err := c.conduct(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	if err := c.work(ctx); err != nil {
		return nil, err
	}
	return c.figures(ctx)
}

// prepare checks what can be checked without the store.
func (c *conductor) prepare() error {
	if err := event.ExecutionID(c.o.ID).ValidateChosen(); err != nil {
		return err
	}
	if c.o.Kills < 0 {
		return fault.New(fault.Usage, "invalid_flag", "the number of kills cannot be negative", "loom demo --help")
	}
	full, err := filepath.Abs(c.o.Dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return fault.Of(err, "loom demo --dir DIRECTORY")
	}
	info, err := os.Stat(full)
	if err != nil {
		return fault.Of(err, "loom demo --dir DIRECTORY")
	}
	if !info.IsDir() {
		return fault.New(fault.Usage, "not_a_directory", fmt.Sprintf("%s is no directory", Name(full).Text()), "loom demo --dir DIRECTORY")
	}
	c.root = full
	if c.own, err = filesOf(c.o.DB, c.o.ID); err != nil {
		return fault.Of(err, "loom demo --db FILE")
	}
	c.tally = newTally(c.own.ledger())
	return nil
}

// sameRequest refuses an id under which something else runs or has run.
func (c *conductor) sameRequest(ctx context.Context) error {
	for e, err := range c.rt.Log(ctx, c.o.ID, 0) {
		if errors.Is(err, loom.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := e.Decode()
		if err != nil {
			return err
		}
		started, ok := p.(event.ExecutionStarted)
		var in Input
		if ok && started.Flow == flowName(c.o.ID) && json.Unmarshal(started.Input, &in) == nil && in == inputOf(c.own, Name(c.root)) {
			return nil
		}
		return fault.New(fault.Conflict, "already_exists",
			fmt.Sprintf("execution %s exists and is another job (flow %s, tree %s)", c.o.ID, started.Flow, in.Root.Text()),
			"loom demo --id ANOTHER-ID")
	}
	return nil
}

// conduct waits until this process is the only conductor of the id; meanwhile it
// follows the one that is.
func (c *conductor) conduct(ctx context.Context) (free func(), err error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for said := false; ; said = true {
		free, ok, err := lockFile(c.own.ledger())
		if ok || err != nil {
			return free, err
		}
		if !said {
			c.note(fmt.Sprintf("another demo conducts %s; this one follows it", c.o.ID))
		}
		if err := c.tally.read(nil); err != nil {
			return nil, err
		}
		c.progress()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, c.interrupted(ctx)
		}
	}
}

// work lets workers live and die until the execution has ended.
func (c *conductor) work(ctx context.Context) error {
	for {
		head, ended, err := c.log.look(ctx)
		if err != nil {
			return err
		}
		// What the last life called, before this snapshot is taken to be durable.
		if err := c.tally.read(c.log.called); err != nil {
			return err
		}
		if ended {
			return nil
		}
		l, err := c.start()
		if err != nil {
			return err
		}
		// No worker was alive when the head was looked at: what the log holds up to
		// there must not be called again.
		if err := c.log.catchUp(ctx, head); err != nil {
			l.stop()
			return err
		}
		if err := c.watch(ctx, l); err != nil {
			return err
		}
	}
}

func (c *conductor) progress() {
	if c.o.Progress != nil {
		c.o.Progress(c.tally.audited(), c.tally.listed(), c.o.Kills-c.asked)
	}
}

func (c *conductor) note(text string) {
	if c.o.Note != nil {
		c.o.Note(text)
	}
}

func (c *conductor) interrupted(ctx context.Context) error {
	e := fault.Of(context.Cause(ctx), "")
	e.Try = fmt.Sprintf("loom demo --dir %s --db %s --id %s", Name(c.root).Text(), Name(c.own.db()).Text(), c.o.ID)
	return e
}
