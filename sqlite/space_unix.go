//go:build linux || darwin || freebsd

package sqlite

import "syscall"

// freeBytes is the space that an ordinary user may still fill where path is.
func freeBytes(path string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
