package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store"
)

// lab is one run of workloads over one store.
type lab struct {
	kind  *kind
	dir   string
	size  sizes
	sheet *sheet
	run   int // from 0
	logs  *recordedLogs
}

// workload measures something and adds it to the lab's sheet.
type workload struct {
	name string
	run  func(*lab, context.Context) error
}

// workloads are in the order in which they run: the raw limit first, because the others
// are compared with it.
var workloads = []workload{
	{"raw", (*lab).raw},
	{"W1", (*lab).w1},
	{"W2", (*lab).w2},
	{"W3", (*lab).w3},
	{"W4", (*lab).w4},
	{"W5", (*lab).w5},
	{"signal", (*lab).signal},
	{"heap", (*lab).heap},
}

// workloadNames returns what -only takes. The raw limit is always measured.
func workloadNames() (names []string) {
	for _, w := range workloads[1:] {
		names = append(names, w.name)
	}
	return names
}

// add notes a figure of this run.
func (l *lab) add(work, name, unit string, v float64) { l.sheet.add(l.kind.name, work, name, unit, v) }

// ratio notes how v compares with the raw figure called raw of the same run.
func (l *lab) ratio(work, name string, v float64, raw string) {
	if limit, ok := l.sheet.last(key{l.kind.name, "raw", raw}); ok && limit > 0 {
		l.add(work, name, "×", v/limit)
	}
}

// more returns n, or for the memory store a multiple of it.
func (l *lab) more(n int) int {
	if l.kind.memory {
		return n * l.size.more
	}
	return n
}

// setup is a runtime over a fresh store.
type setup struct {
	rt    *loom.Runtime
	st    store.Store // beneath the runtime, counted
	tally *tally
	path  string
	shut  func() error // closes the store, after the runtime
}

// open opens a runtime with the flows over a fresh store.
func (l *lab) open(ctx context.Context, work string, opts ...loom.Option) (*setup, error) {
	st, path, shut, err := l.kind.fresh(ctx, l.dir, work)
	if err != nil {
		return nil, err
	}
	s := &setup{tally: &tally{}, path: path, shut: shut}
	s.st = s.tally.over(st)
	s.rt, err = loom.Open(ctx, store.Opened(s.st), opts...)
	if err != nil {
		return nil, errors.Join(err, shut(), remove(path))
	}
	return s, nil
}

// close closes all; the files stay.
func (s *setup) close() error { return errors.Join(s.rt.Close(), s.shut()) }

// discard closes all and removes the files.
func (s *setup) discard() error { return errors.Join(s.close(), remove(s.path)) }

// settle lets garbage of what ran before be nobody's cost.
func settle() { runtime.GC() }

// measure runs everything that cfg asks for.
func measure(ctx context.Context, cfg *config, errs io.Writer) (*report, error) {
	dir, err := os.MkdirTemp(cfg.dir, "loom-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := newProgress(errs)
	defer p.done()
	began := time.Now()
	rep := &report{cfg: cfg, sheet: newSheet(), LoadBefore: load()}
	stop, err := cfg.profile()
	if err != nil {
		return nil, err
	}
	logs := &recordedLogs{}
	for n := range cfg.runs {
		for _, k := range cfg.stores {
			l := &lab{kind: k, dir: dir, size: cfg.size, sheet: rep.sheet, run: n, logs: logs}
			for _, w := range workloads {
				if w.name != "raw" && !cfg.wants(w.name) {
					continue
				}
				p.say("run %d of %d: %s %s", n+1, cfg.runs, k.name, w.name)
				settle()
				if err := w.run(l, ctx); err != nil {
					return nil, fmt.Errorf("%s on %s: %w", w.name, k.name, err)
				}
			}
		}
		if cfg.peers != "" {
			p.say("run %d of %d: peers", n+1, cfg.runs)
			rep.askPeers(ctx, dir)
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	rep.finish(time.Since(began))
	return rep, nil
}
