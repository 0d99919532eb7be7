//go:build unix

package sqlite

import "syscall"

// identity tells one file from another that has its name. It is asked for before
// every flush, hence the bare system call.
type identity struct{ device, inode uint64 }

func identify(path string) (identity, error) {
	var st syscall.Stat_t
	for {
		switch err := syscall.Stat(path, &st); err {
		case nil:
			return identity{uint64(st.Dev), uint64(st.Ino)}, nil
		case syscall.EINTR:
		default:
			return identity{}, err
		}
	}
}

func (i identity) same(o identity) bool { return i == o }
