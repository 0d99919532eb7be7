package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
)

// note is one line of the ledger.
type note struct {
	// What is "life" (a worker began), "called" and "done" (of an effect), or
	// "finished" (a worker saw the execution's end).
	What string `json:"what"`
	Life string `json:"life"` // which worker
	Op   string `json:"op,omitempty"`
	Key  string `json:"key,omitempty"` // the effect's idempotency key
	// Files is how many regular files a page of the listing holds.
	Files *int `json:"files,omitempty"`
}

// ledger appends notes to a file, each with one write, so that what several workers
// write, or what one wrote before it was killed, stands in whole lines. A note that
// finds the file in the middle of a line, which a kill or a full disk cut in two,
// begins a new one: the cut line does not swallow it.
type ledger struct {
	f    *os.File
	life string
	mu   sync.Mutex // for looking and then writing
}

func openLedger(path, life string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return &ledger{f: f, life: life}, nil
}

func (l *ledger) append(n note) error {
	n.Life = l.life
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	cut, err := l.cut()
	if err != nil {
		return err
	}
	line := append(raw, '\n')
	if cut {
		line = append([]byte{'\n'}, line...)
	}
	_, err = l.f.Write(line)
	return err
}

// cut reports whether the file ends within a line.
func (l *ledger) cut() (bool, error) {
	info, err := l.f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := l.f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

func (l *ledger) close() error { return l.f.Close() }

// tally is what the ledger says, as far as it was read.
type tally struct {
	path   string
	offset int64
	rest   []byte // of a line that is not whole yet

	effects  int             // calls
	calls    map[string]int  // of each operation
	done     map[string]bool // operations that returned
	pages    map[string]int  // regular files of each page of the listing
	lives    map[string]*life
	order    []string // of lives
	torn     int      // lines that a kill cut
	inFlight int      // most effects of one life at one moment
}

// life is what the ledger says of one worker.
type life struct {
	called, done int
	open         map[string]bool
	summing      bool // its summary was called
	finished     bool
}

func newTally(path string) *tally {
	return &tally{path: path, calls: map[string]int{}, done: map[string]bool{}, pages: map[string]int{}, lives: map[string]*life{}}
}

// read takes what was appended since. seen is told each call of an effect, and may
// be nil. A ledger that does not exist yet is empty.
func (t *tally) read(seen func(op string)) error {
	f, err := os.Open(t.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := f.ReadAt(buf, t.offset)
		t.offset += int64(n)
		t.take(buf[:n], seen)
		if n < len(buf) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

func (t *tally) take(part []byte, seen func(op string)) {
	t.rest = append(t.rest, part...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			return
		}
		line := t.rest[:i]
		t.rest = t.rest[i+1:]
		if len(line) == 0 {
			continue
		}
		var n note
		if json.Unmarshal(line, &n) != nil {
			t.torn++
			continue
		}
		t.note(n, seen)
	}
}

func (t *tally) note(n note, seen func(op string)) {
	l := t.lives[n.Life]
	if l == nil {
		l = &life{open: map[string]bool{}}
		t.lives[n.Life] = l
		t.order = append(t.order, n.Life)
	}
	switch n.What {
	case "called":
		t.effects++
		t.calls[n.Op]++
		l.called++
		l.open[n.Op] = true
		l.summing = l.summing || isStep(n.Op, stepSummary)
		t.inFlight = max(t.inFlight, len(l.open))
		if seen != nil {
			seen(n.Op)
		}
	case "done":
		t.done[n.Op] = true
		l.done++
		delete(l.open, n.Op)
		if n.Files != nil {
			t.pages[n.Op] = *n.Files
		}
	case "finished":
		l.finished = true
	}
}

// repeated is how many calls were not the first of their operation.
func (t *tally) repeated() int { return t.effects - len(t.calls) }

// kills is how many workers ended before the work did.
func (t *tally) kills() (n int) {
	for _, l := range t.lives {
		if !l.finished {
			n++
		}
	}
	return n
}

// listed is how many files the listing holds, as far as it is done.
func (t *tally) listed() (n int) {
	for _, files := range t.pages {
		n += files
	}
	return n
}

// audited is how many files have been audited once at least.
func (t *tally) audited() (n int) {
	return max(len(t.done)-len(t.pages)-t.summaries(), 0)
}

func (t *tally) summaries() (n int) {
	if t.done[stepSummary+"#1"] {
		n++
	}
	return n
}
