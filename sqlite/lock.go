package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"sync"

	"github.com/loomwork/loom/store"
)

// lockState is what can be learned about a node's OS lock.
type lockState uint8

const (
	lockHeld    lockState = iota + 1 // by some process that lives
	lockFree                         // the file is there and nobody holds it: its process is gone
	lockUnknown                      // there is no such file, or no way to ask
)

// locks holds the OS locks of this handle's nodes, one file each, for the life of
// the process. The kernel lets go of them however the process ends.
type locks struct {
	base string // path of the database
	off  bool

	mu struct {
		sync.Mutex
		held map[store.NodeID]*os.File
	}
}

func newLocks(base string, off bool) *locks {
	l := &locks{base: base, off: off || !canLock}
	l.mu.held = map[store.NodeID]*os.File{}
	return l
}

// path names the lock file of a node. Ids that are no plain file names (those of
// Loom are) are replaced by a digest.
func (l *locks) path(id store.NodeID) string {
	name := string(id)
	plain := len(name) <= 64
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
	}
	if !plain {
		sum := sha256.Sum256([]byte(id))
		name = "x" + hex.EncodeToString(sum[:16])
	}
	return l.base + "." + name + ".lock"
}

// hold makes sure that this process holds the lock of id and that its file is
// where others look for it. held is false where locks are off.
func (l *locks) hold(id store.NodeID) (held bool, err error) {
	if l.off {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	path := l.path(id)
	if f := l.mu.held[id]; f != nil {
		if leadsTo(path, f) {
			return true, nil
		}
		// The file was removed by somebody who took this node for dead.
		delete(l.mu.held, id)
		_ = f.Close() // a lock on a file that nobody can find
	}
	f, err := acquire(path)
	if err != nil {
		return false, err
	}
	l.mu.held[id] = f
	return true, nil
}

// leadsTo reports whether path names the open file f.
func leadsTo(path string, f *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	here, err := f.Stat()
	return err == nil && os.SameFile(there, here)
}

// probe asks for the lock of any node, without keeping it.
func (l *locks) probe(id store.NodeID) lockState {
	if l.off {
		return lockUnknown
	}
	l.mu.Lock()
	mine := l.mu.held[id] != nil
	l.mu.Unlock()
	if mine {
		return lockHeld
	}
	return ask(l.path(id))
}

// release gives up the lock of id, if it is held here, and removes its file.
func (l *locks) release(id store.NodeID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.mu.held[id]
	if f == nil {
		return nil
	}
	delete(l.mu.held, id)
	// Removed first: once the lock is free, a file there says that its node died.
	err := os.Remove(f.Name())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// remove tidies up after a node whose row is gone. If the node lives after all it
// makes the file again with its next renewal.
func (l *locks) remove(id store.NodeID) {
	if !l.off {
		_ = os.Remove(l.path(id)) // another process may have been faster
	}
}

// close lets go of all locks and leaves their files: the nodes did not leave.
func (l *locks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all error
	for id, f := range l.mu.held {
		delete(l.mu.held, id)
		all = errors.Join(all, f.Close())
	}
	return all
}
