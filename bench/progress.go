package main

import (
	"fmt"
	"io"
	"os"
)

// progress says what is being measured, on a terminal alone: lines about it would be in
// the way of everything else.
type progress struct{ to io.Writer }

func newProgress(to io.Writer) progress {
	f, ok := to.(*os.File)
	if !ok {
		return progress{}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return progress{}
	}
	return progress{to}
}

func (p progress) say(format string, args ...any) {
	if p.to != nil {
		fmt.Fprintf(p.to, "\r\033[K"+format, args...)
	}
}

// done takes the line away.
func (p progress) done() { p.say("") }
