//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const canLock = true

// acquire opens path, creating it with mode 0600, and takes its exclusive lock.
// Who asks holds a shared lock for a moment, so a few attempts may fail.
func acquire(path string) (*os.File, error) {
	var err error
	pause := time.Millisecond
	for range 10 {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			return nil, err
		}
		if err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err == nil && leadsTo(path, f) {
			return f, nil
		}
		_ = f.Close() // without the lock, or on a file that was removed meanwhile
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		<-time.After(pause)
		pause *= 2
	}
	return nil, &Error{Op: "lock", Path: path, Code: ErrBusy, Err: errors.New("another process holds the lock of this node")}
}

// ask finds out whether some process holds the lock at path. The lock that it
// asks for is a shared one, so that two who ask do not take each other for the
// holder.
func ask(path string) lockState {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return lockUnknown
		}
		return lockUnknown
	}
	defer f.Close()
	switch err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return lockFree
	case errors.Is(err, syscall.EWOULDBLOCK):
		return lockHeld
	}
	return lockUnknown
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
