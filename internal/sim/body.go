package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// player plays a program on one node, in one entry of its body.
type player struct {
	m  *Member
	id event.ExecutionID
	// seen is a digest of all that the body saw. It goes into the arguments of the
	// next effects, so that a replay that sees something else diverges.
	seen uint64
	// last is where the body's end is played.
	last *strand
}

// strand is a branch of the body while it is played.
type strand struct {
	p      *player
	ctx    loom.Context
	path   string
	counts map[string]int
}

// body is the flow's function on m.
func (m *Member) body(ctx loom.Context, in Program) (result string, err error) {
	p := &player{m: m, id: event.ExecutionID(loom.ExecutionID(ctx))}
	path := event.GenerationPath(in.Generation + 1)
	p.last = &strand{p: p, path: strings.TrimPrefix(path+"/"+event.FinalPath, "/"), counts: map[string]int{}}
	m.c.Ledger.Enter(m.Node.name, p.id, in.Generation)
	l := &strand{p: p, ctx: ctx, path: path, counts: map[string]int{}}
	if err := l.play(in.Steps); err != nil {
		return "", err
	}
	if in.Again > 0 {
		in.Again--
		in.Generation++
		return "", loom.ContinueAs(ctx, in)
	}
	return strconv.FormatUint(p.seen, 36), nil
}

// path returns the path of the next operation called name, by the rule of
// the kernel.
func (l *strand) next(name string) string {
	l.counts[name]++
	own := name + "#" + strconv.Itoa(l.counts[name])
	if l.path == "" {
		return own
	}
	return l.path + "/" + own
}

func (p *player) note(text string) { p.seen = (p.seen ^ hashString(text)) * 0x100000001b3 }

// errScript is what a body returns that is told to fail.
var errScript = loom.Code("scripted")

func (l *strand) play(steps []Step) error {
	for i := range steps {
		s := &steps[i]
		if s.Kind == StepDefer {
			defer func() { _ = l.do(s) }()
			continue
		}
		err := l.step(s)
		if err == nil {
			continue
		}
		l.p.note(err.Error())
		if !s.Ignore {
			return err
		}
	}
	return nil
}

func (l *strand) step(s *Step) error {
	switch s.Kind {
	case StepDo:
		return l.do(s)
	case StepSleep:
		l.next(s.Name)
		return loom.Sleep(l.ctx, s.Name, s.For)
	case StepUntil:
		l.next(s.Name)
		return loom.SleepUntil(l.ctx, s.Name, loom.Now(l.ctx).Add(s.For))
	case StepAwait:
		return l.await(s)
	case StepValues:
		l.p.note(fmt.Sprint(loom.Now(l.ctx).UnixMicro(), loom.NewID(l.ctx), loom.Rand(l.ctx).Uint64()))
		return nil
	case StepAll, StepFirst, StepLeave:
		return l.fork(s)
	case StepUndo:
		return l.undo(s)
	case StepChild:
		return l.child(s)
	case StepBuild:
		l.p.note(fmt.Sprint("build ", loom.Version(l.ctx, s.Name, 0, 2)))
		return nil
	case StepClean:
		return loom.Cleanup(l.ctx, s.Name, func(ctx loom.Context) error {
			l.p.last.ctx = ctx
			err := l.p.last.play(s.Lines[0])
			if errors.Is(err, loom.ErrCancelled) {
				l.p.m.c.World.Fail("a cancel reached what %s does at its end", l.p.id)
			}
			return err
		})
	case StepShow:
		if s.Value == "" {
			return loom.Set(l.ctx, s.Name, nil)
		}
		return loom.Set(l.ctx, s.Name, s.Value)
	case StepFail:
		return fmt.Errorf("told to fail: %w", errScript)
	case StepPanic:
		panic("told to panic")
	}
	panic("sim: no step " + s.Kind)
}

func (l *strand) await(s *Step) error {
	l.next(s.Name)
	var opts []loom.AwaitOption
	if s.Limit {
		opts = append(opts, loom.Within(s.For))
	}
	v, err := loom.Await[string](l.ctx, s.Name, opts...)
	l.p.note(v)
	return err
}

func (l *strand) do(s *Step) error {
	path, e := l.next(s.Name), s.Effect
	args := strconv.FormatUint(l.p.seen, 36)
	var opts []loom.StepOption
	if e.ReadOnly {
		opts = append(opts, loom.ReadOnly())
	} else {
		opts = append(opts, loom.Args(args))
	}
	if e.Attempts > 0 {
		opts = append(opts, loom.Retry{Attempts: e.Attempts, Initial: e.Initial})
	}
	if e.Timeout > 0 {
		opts = append(opts, loom.Timeout(e.Timeout))
	}
	if e.Once {
		opts = append(opts, loom.AtMostOnce())
	}
	if e.Asks {
		opts = append(opts, loom.Verify(l.p.m.asked))
	}
	v, err := loom.Do(l.ctx, s.Name, func(ctx context.Context) (string, error) { return l.p.m.serve(ctx, s, args) }, opts...)
	var failed *loom.StepError
	switch {
	case err == nil:
		l.p.m.c.Ledger.See(l.p.m.Node.name, l.p.id, path, quote(v))
	case errors.As(err, &failed):
		l.p.m.c.Ledger.See(l.p.m.Node.name, l.p.id, path, nil)
	}
	l.p.note(v)
	return err
}

// child starts a child, and gets what it returns if it is waited for.
func (l *strand) child(s *Step) error {
	l.next(l.p.m.Play.Name())
	c, err := l.p.m.Play.Spawn(l.ctx, *s.Child, loom.OnParentCancel(s.Policy))
	if err != nil {
		return err
	}
	l.p.note(c.ID())
	if !s.Wait {
		return nil
	}
	v, err := c.Get(l.ctx)
	l.p.note(v)
	return err
}

// undo registers an effect that the body's end calls. Its name is one that no other
// step has.
func (l *strand) undo(s *Step) error {
	args := strconv.FormatUint(l.p.seen, 36)
	return loom.Compensate(l.ctx, "undo-"+s.Name, func(ctx context.Context) error {
		_, err := l.p.m.serve(ctx, s, args)
		return err
	}, loom.Args(args), loom.Retry{Attempts: s.Effect.Attempts, Initial: s.Effect.Initial})
}

func (l *strand) fork(s *Step) error {
	var futures []*loom.Future[int]
	var paths []string
	for _, steps := range s.Lines {
		path := l.next(s.Name)
		paths = append(paths, path)
		futures = append(futures, loom.Go(l.ctx, s.Name, func(ctx loom.Context) (int, error) {
			in := &strand{p: l.p, ctx: ctx, path: path, counts: map[string]int{}}
			return len(steps), in.play(steps)
		}))
	}
	switch s.Kind {
	case StepAll:
		_, err := loom.All(l.ctx, futures...)
		return err
	case StepFirst:
		won, err := loom.First(l.ctx, futures...)
		l.p.note(fmt.Sprint("winner ", won))
		for i, f := range futures {
			if !f.Done() {
				if l.p.m.c.Ledger.open(l.p.id, paths[i]) {
					l.p.m.c.lostOpen++
				}
				_ = f.Cancel(l.ctx)
			}
		}
		return err
	}
	return nil
}

// quote returns text as it is recorded.
func quote(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return raw
}
