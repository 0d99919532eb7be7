package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile begins the profiles that cfg asks for; stop ends and writes them.
func (c *config) profile() (stop func() error, err error) {
	var ends []func() error
	if c.cpuprofile != "" {
		f, err := os.Create(c.cpuprofile)
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		ends = append(ends, func() error { pprof.StopCPUProfile(); return f.Close() })
	}
	if c.blockprofile != "" {
		runtime.SetBlockProfileRate(10_000) // one sample for each 10 µs that somebody waits
		ends = append(ends, func() error { return writeProfile("block", c.blockprofile) })
	}
	if c.mutexprofile != "" {
		runtime.SetMutexProfileFraction(10)
		ends = append(ends, func() error { return writeProfile("mutex", c.mutexprofile) })
	}
	return func() (err error) {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
		return err
	}, nil
}

func writeProfile(name, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}
