package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/loomwork/loom"
)

// childVariable holds the childSpec of a process that is to do a piece of work for
// another one of this command.
const childVariable = "LOOM_BENCH_CHILD"

// childSpec is what a child has to do.
type childSpec struct {
	Does   string // record, resume, heap
	Store  string
	Path   string
	Number int
	Parked bool
}

// word is what a child says: one line of JSON. After it the child waits to be killed.
type word struct {
	Took    time.Duration // resume: Open to the live step
	Steps   int64         // resume: recorded steps that were called again
	Bytes   float64       // heap
	Objects float64       // heap

	at time.Time // when the parent read it
}

func isChild() bool { return os.Getenv(childVariable) != "" }

// spawn runs this program as a child, reads its word and kills it.
func (l *lab) spawn(ctx context.Context, spec childSpec) (*word, error) {
	spec.Store = l.kind.name
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	at := time.Now()
	_ = cmd.Process.Kill() // it may have ended by itself; Wait tells
	waitErr := cmd.Wait()
	said := &word{at: at}
	if readErr != nil {
		return nil, fmt.Errorf("the process that should %s said nothing: %v: %s", spec.Does, waitErr, bytes.TrimSpace(complaint.Bytes()))
	}
	return said, json.Unmarshal(line, said)
}

// child does what its parent wants, says so, and waits to be killed. It returns an exit
// code if something fails.
func child(out, errs io.Writer) int {
	var spec childSpec
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &spec)
	k := kindOf(spec.Store)
	if err == nil && k == nil {
		err = fmt.Errorf("there is no store %q", spec.Store)
	}
	var said word
	ctx := context.Background()
	if err == nil {
		switch spec.Does {
		case "record", "resume":
			said, err = toLiveStep(ctx, k, spec)
		case "heap":
			said.Bytes, said.Objects, err = weigh(ctx, k, spec.Path, spec.Number, spec.Parked)
		default:
			err = fmt.Errorf("what is %q?", spec.Does)
		}
	}
	if err == nil {
		err = json.NewEncoder(out).Encode(said)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	select {}
}

// toLiveStep opens the runtime of W3 and returns once the live step is called.
func toLiveStep(ctx context.Context, k *kind, spec childSpec) (word, error) {
	live := make(chan time.Time, 1)
	var steps atomic.Int64
	flow := resumed(func() { steps.Add(1) }, func() { live <- time.Now() })
	began := time.Now()
	rt, err := loom.Open(ctx, k.source(spec.Path), loom.Flows(flow))
	if err != nil {
		return word{}, err
	}
	if spec.Does == "record" {
		if _, err := flow.Start(ctx, rt, spec.Number); err != nil {
			return word{}, err
		}
	}
	at := <-live
	return word{Took: at.Sub(began), Steps: steps.Load()}, nil
}
