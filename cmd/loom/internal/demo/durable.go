package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
)

// durables is what the log says, as far as it was read: the other witness.
type durables struct {
	rt *loom.Runtime
	id string

	next    int64           // sequence to read from
	settled map[string]bool // effects whose result or error is durable
	again   map[string]bool // those that were called again afterwards

	args    map[string]json.RawMessage // of each effect
	results map[string]json.RawMessage
	failed  map[string]*event.Failure // effects that failed
}

func newDurables(rt *loom.Runtime, id string) *durables {
	return &durables{rt: rt, id: id, settled: map[string]bool{}, again: map[string]bool{},
		args: map[string]json.RawMessage{}, results: map[string]json.RawMessage{}, failed: map[string]*event.Failure{}}
}

// look returns the length of the log and whether the execution has ended; an
// execution that does not exist has a log of length 0.
func (d *durables) look(ctx context.Context) (events int64, ended bool, err error) {
	s, err := d.rt.Summary(ctx, d.id)
	if errors.Is(err, loom.ErrNotFound) {
		return 0, false, nil
	}
	return s.Events, s.Status.Terminal(), err
}

// catchUp reads the log up to a length.
func (d *durables) catchUp(ctx context.Context, events int64) error {
	if d.next >= events {
		return nil
	}
	for e, err := range d.rt.Log(ctx, d.id, d.next) {
		if err != nil {
			return err
		}
		if int64(e.Sequence) >= events {
			break
		}
		if err := d.take(e); err != nil {
			return err
		}
		d.next = int64(e.Sequence) + 1
	}
	return nil
}

func (d *durables) take(e event.Envelope) error {
	p, err := e.Decode()
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case event.EffectScheduled:
		d.args[p.Op] = p.Args
	case event.EffectCompleted:
		d.settled[p.Op] = true
		d.results[p.Op] = p.Result
	case event.EffectFailed:
		d.settled[p.Op] = true
		d.failed[p.Op] = p.Error
	}
	return nil
}

// called hears of a call of an effect, which must not be one whose result is known
// to have been durable before.
func (d *durables) called(op string) {
	if d.settled[op] {
		d.again[op] = true
	}
}

// audit puts the listing and the results of the files together. missing is how many
// files of the listing have none.
func (d *durables) audit() (entries []Entry, files map[Name]File, missing int, err error) {
	for n := 1; ; n++ {
		raw, ok := d.results[fmt.Sprintf("%s#%d", stepList, n)]
		if !ok {
			break
		}
		var page Page
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, nil, 0, err
		}
		entries = append(entries, page.Entries...)
	}
	files = map[Name]File{}
	for op, raw := range d.results {
		if !isStep(op, stepFile) {
			continue
		}
		var path Name
		var f File
		if err := errors.Join(json.Unmarshal(d.args[op], &path), json.Unmarshal(raw, &f)); err != nil {
			return nil, nil, 0, err
		}
		files[path] = f
	}
	for _, path := range regularOf(entries) {
		if _, ok := files[path]; !ok {
			missing++
		}
	}
	return entries, files, missing, nil
}
