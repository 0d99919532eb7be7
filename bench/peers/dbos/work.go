package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// fresh opens DBOS over a new file; discard ends it and removes the file.
func fresh(path string) (c dbos.Context, discard func(), err error) {
	remove(path)
	c, err = open(path)
	return c, func() { dbos.Shutdown(c, 10*time.Second); remove(path) }, err
}

func remove(path string) {
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		_ = os.Remove(f) // it may not be there
	}
}

// side calls fn n times, at most inFlight at a time.
func side(n, inFlight int, fn func(int) error) (all time.Duration, each []time.Duration, err error) {
	each = make([]time.Duration, n)
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range inFlight {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				start := time.Now()
				if err := fn(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				each[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	if e := failed.Load(); e != nil {
		err = *e
	}
	return time.Since(began), each, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func w1(path string, n, inFlight int) ([]figure, error) {
	c, discard, err := fresh(path)
	if err != nil {
		return nil, err
	}
	defer discard()
	one := func(int) error {
		h, err := dbos.RunWorkflow(c, manySteps, 3)
		if err == nil {
			_, err = h.GetResult()
		}
		return err
	}
	const warmUp = 64
	if _, _, err := side(warmUp, inFlight, one); err != nil {
		return nil, err
	}
	took, each, err := side(n, inFlight, one)
	if err != nil {
		return nil, err
	}
	slices.Sort(each)
	work := fmt.Sprintf("W1, %d in flight", inFlight)
	figures := []figure{
		{work, "executions", "executions/s", float64(n) / took.Seconds()},
		{work, "p50", "ms", ms(each[n/2])},
		{work, "p99", "ms", ms(each[n*99/100])},
	}
	dbos.Shutdown(c, 10*time.Second) // writes the log back into the file
	if info, err := os.Stat(path); err == nil {
		figures = append(figures, figure{work, "stored bytes", "bytes/execution", float64(info.Size()) / float64(n+warmUp)})
	}
	return figures, nil
}

func w2(path string, n int) ([]figure, error) {
	c, discard, err := fresh(path)
	if err != nil {
		return nil, err
	}
	defer discard()
	took, _, err := side(1, 1, func(int) error {
		h, err := dbos.RunWorkflow(c, manySteps, n)
		if err == nil {
			_, err = h.GetResult()
		}
		return err
	})
	return []figure{{"W2", "steps", "steps/s", float64(n) / took.Seconds()}}, err
}

// w3 records steps in one process, kills it, and resumes in another.
func w3(dir string, n int) ([]figure, error) {
	path := filepath.Join(dir, "dbos-w3.db")
	remove(path)
	defer remove(path)
	var took time.Duration
	for _, does := range []string{"record", "resume"} {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self, "-child", does, "-dir", dir, "-recorded", strconv.Itoa(n))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, err
		}
		line, err := bufio.NewReader(out).ReadBytes('\n')
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if err == nil {
			err = json.Unmarshal(line, &took)
		}
		if err != nil {
			return nil, fmt.Errorf("W3, %s: %w", does, err)
		}
	}
	return []figure{{"W3", "open to live step", "ms", ms(took)}}, nil
}

// resumable is the child of w3: it says how long it took to the live step, and waits to
// be killed.
func resumable(dir, does string, n int) error {
	began := time.Now()
	c, err := open(filepath.Join(dir, "dbos-w3.db"))
	if err != nil {
		return err
	}
	if does == "record" {
		if _, err := dbos.RunWorkflow(c, thenLive, n, dbos.WithWorkflowID("resumed")); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode((<-live).Sub(began)); err != nil {
		return err
	}
	select {}
}

// w4 runs 1,000 starts of 100 ids at once. A second start of an id is no error here: it
// gets a handle to the first.
func w4(path string) ([]figure, error) {
	c, discard, err := fresh(path)
	if err != nil {
		return nil, err
	}
	defer discard()
	const starts, ids = 1000, 100
	took, _, err := side(starts, starts, func(i int) error {
		id := fmt.Sprintf("once-%d", i%ids)
		h, err := dbos.RunWorkflow(c, once, id, dbos.WithWorkflowID(id))
		if err == nil {
			_, err = h.GetResult()
		}
		return err
	})
	return []figure{{"W4", "time", "s", took.Seconds()}, {"W4", "bodies", "bodies", float64(bodies.Load())}}, err
}
