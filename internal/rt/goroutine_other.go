//go:build !amd64 && !arm64

package rt

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine returns the number that a stack trace gives the running goroutine.
func goroutine() uintptr {
	var buf [64]byte
	text, _, _ := bytes.Cut(bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine ")), []byte(" "))
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		panic("rt: a stack trace does not begin with its goroutine: " + string(buf[:]))
	}
	return uintptr(n)
}
