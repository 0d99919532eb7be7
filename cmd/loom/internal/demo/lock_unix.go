//go:build unix

package demo

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock of the file at path, which is made if need be; ok is false
// while another process has it. The kernel gives it back however this process ends.
func lockFile(path string) (free func(), ok bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { f.Close() }, true, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return nil, false, err
}
