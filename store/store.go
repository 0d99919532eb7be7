package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Store is a backend seen through its parts. Log is never nil; any other part
// may be, and a nil part is absent.
type Store struct {
	Log       Log
	Index     Index
	Leaser    Leaser
	Inbox     Inbox
	Records   Records
	Deleter   Deleter
	Trimmer   Trimmer
	Feed      Feed
	Snapshots Snapshots
	Blobs     Blobs
	Hints     Hints
	About     About

	withheld map[Part]string // why a decorator left a part out
}

// Part names a field of [Store].
type Part string

// Parts.
const (
	PartLog       Part = "Log"
	PartIndex     Part = "Index"
	PartLeaser    Part = "Leaser"
	PartInbox     Part = "Inbox"
	PartRecords   Part = "Records"
	PartDeleter   Part = "Deleter"
	PartTrimmer   Part = "Trimmer"
	PartFeed      Part = "Feed"
	PartSnapshots Part = "Snapshots"
	PartBlobs     Part = "Blobs"
	PartHints     Part = "Hints"
	PartAbout     Part = "About"
)

// Parts returns the names of all parts. The caller owns the slice.
func Parts() []Part {
	return []Part{PartLog, PartIndex, PartLeaser, PartInbox, PartRecords, PartDeleter, PartTrimmer,
		PartFeed, PartSnapshots, PartBlobs, PartHints, PartAbout}
}

// Of finds the parts of a backend, once. What l does not implement stays nil.
func Of(l Log) Store {
	s := Store{Log: l}
	s.Index, _ = l.(Index)
	s.Leaser, _ = l.(Leaser)
	s.Inbox, _ = l.(Inbox)
	s.Deleter, _ = l.(Deleter)
	s.Trimmer, _ = l.(Trimmer)
	s.Feed, _ = l.(Feed)
	s.Snapshots, _ = l.(Snapshots)
	s.Blobs, _ = l.(Blobs)
	s.Hints, _ = l.(Hints)
	s.About, _ = l.(About)
	if r, ok := l.(interface{ Records() Records }); ok {
		s.Records = r.Records() // its method names collide with Index's
	}
	return s
}

// Has reports whether the part is there.
func (s Store) Has(p Part) bool {
	f := reflect.ValueOf(s).FieldByName(string(p))
	return f.IsValid() && !f.IsNil()
}

// Withhold returns s without the part, and remembers why.
func (s Store) Withhold(p Part, why string) Store {
	s.withheld = maps.Clone(s.withheld)
	if s.withheld == nil {
		s.withheld = map[Part]string{}
	}
	s.withheld[p] = why
	if f := reflect.ValueOf(&s).Elem().FieldByName(string(p)); f.IsValid() && f.CanSet() {
		f.SetZero()
	}
	return s
}

// MissingError names parts that a store does not have. It matches
// errors.ErrUnsupported.
type MissingError struct {
	Parts []Part
	Why   map[Part]string // for those that a decorator withheld
}

func (e *MissingError) Error() string {
	msg := "store: no"
	for i, p := range e.Parts {
		if i > 0 {
			msg += ","
		}
		msg += " " + string(p)
		if why := e.Why[p]; why != "" {
			msg += " (" + why + ")"
		}
	}
	return msg
}

// LoomCode returns the error's stable code.
func (e *MissingError) LoomCode() string { return "unsupported" }

// Is matches errors.ErrUnsupported.
func (e *MissingError) Is(target error) bool { return target == errors.ErrUnsupported }

// Require returns nil if s has all the parts, else one [*MissingError].
func (s Store) Require(parts ...Part) error {
	var missing []Part
	for _, p := range parts {
		if !s.Has(p) && !slices.Contains(missing, p) {
			missing = append(missing, p)
		}
	}
	if missing == nil {
		return nil
	}
	return &MissingError{Parts: missing, Why: maps.Clone(s.withheld)}
}

// Source opens a store. Whoever opens, closes: loom.Open opens its source once
// and closes it in Runtime.Close.
type Source interface {
	// OpenStore returns the store and what closes it.
	OpenStore(ctx context.Context) (s Store, close func() error, err error)
}

// Opened returns a source of a store that is open already, and that somebody
// else closes.
func Opened(s Store) Source { return opened{s} }

type opened struct{ s Store }

func (o opened) OpenStore(context.Context) (Store, func() error, error) {
	if o.s.Log == nil {
		return Store{}, nil, fmt.Errorf("store: %w", (&MissingError{Parts: []Part{PartLog}}))
	}
	return o.s, func() error { return nil }, nil
}
