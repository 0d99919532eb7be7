//go:build !unix || solaris || aix

package sqlite

import (
	"errors"
	"os"
)

// Without flock there are no OS locks: a node is alive while its lease is, a
// killed process is replaced after its ttl, and a clock that jumps forward ends
// every lease at once. What is recorded stays right; executions move.
const canLock = false

func acquire(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func ask(string) lockState { return lockUnknown }
