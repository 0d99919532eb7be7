package main

import "time"

// sizes is how much work each workload does.
type sizes struct {
	executions int   // W1
	inFlight   []int // W1: executions at a time, one pass each
	steps      int   // W2
	readOnly   int   // W2: read-only steps
	recorded   int   // W3: steps in the log that is resumed
	starts     int   // W4
	ids        int   // W4
	sleepers   int   // W5
	sleep      time.Duration
	signals    int // signals, one after the other
	waiting    int // executions whose heap is weighed
	commits    int // raw: one-row commits
	rows       int // raw: rows of each batched pass
	batches    []int
	more       int // factor to executions and steps of the memory store
}

// fullSizes are those of the goals.
func fullSizes() sizes {
	return sizes{
		executions: 2000, inFlight: []int{64, 512},
		steps: 1000, readOnly: 100_000,
		recorded: 10_000,
		starts:   1000, ids: 100,
		sleepers: 10_000, sleep: time.Second,
		signals: 200, waiting: 100_000,
		commits: 1000, rows: 30_000, batches: []int{64, 512, 1000},
		more: 5,
	}
}

// tinySizes are for a test of the workloads themselves.
func tinySizes() sizes {
	return sizes{
		executions: 20, inFlight: []int{2, 8},
		steps: 10, readOnly: 50,
		recorded: 30,
		starts:   50, ids: 5,
		sleepers: 20, sleep: 20 * time.Millisecond,
		signals: 3, waiting: 50,
		commits: 5, rows: 40, batches: []int{2, 8},
		more: 2,
	}
}
