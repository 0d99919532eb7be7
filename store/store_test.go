package store_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
)

// stub is a part of every kind, for tests that never call one.
type stub struct{ name store.Part }

// stubs returns a store that has every part, each another value.
func stubs() store.Store {
	return store.Store{
		Log: struct {
			store.Log
			stub
		}{nil, stub{store.PartLog}},
		Index: struct {
			store.Index
			stub
		}{nil, stub{store.PartIndex}},
		Leaser: struct {
			store.Leaser
			stub
		}{nil, stub{store.PartLeaser}},
		Inbox: struct {
			store.Inbox
			stub
		}{nil, stub{store.PartInbox}},
		Records: struct {
			store.Records
			stub
		}{nil, stub{store.PartRecords}},
		Deleter: struct {
			store.Deleter
			stub
		}{nil, stub{store.PartDeleter}},
		Trimmer: struct {
			store.Trimmer
			stub
		}{nil, stub{store.PartTrimmer}},
		Feed: struct {
			store.Feed
			stub
		}{nil, stub{store.PartFeed}},
		Snapshots: struct {
			store.Snapshots
			stub
		}{nil, stub{store.PartSnapshots}},
		Blobs: struct {
			store.Blobs
			stub
		}{nil, stub{store.PartBlobs}},
		Hints: struct {
			store.Hints
			stub
		}{nil, stub{store.PartHints}},
		About: struct {
			store.About
			stub
		}{nil, stub{store.PartAbout}},
	}
}

// part returns a field of a store.
func part(s store.Store, p store.Part) any {
	return reflect.ValueOf(s).FieldByName(string(p)).Interface()
}

// claim H-18: Parts, the fields of Store and what stubs has are the same list.
func TestPartsAreTheFields(t *testing.T) {
	names := map[store.Part]bool{}
	for _, p := range store.Parts() {
		names[p] = true
	}
	fields := 0
	for i := range reflect.TypeFor[store.Store]().NumField() {
		f := reflect.TypeFor[store.Store]().Field(i)
		if !f.IsExported() {
			continue
		}
		fields++
		if !names[store.Part(f.Name)] {
			t.Errorf("the field %s is no part", f.Name)
		}
		if n := f.Type.NumMethod(); n == 0 || n > 5 {
			t.Errorf("the part %s has %d methods, a part has at most 5", f.Name, n)
		}
		if !stubs().Has(store.Part(f.Name)) {
			t.Errorf("these tests have no stub of %s", f.Name)
		}
	}
	if fields != len(store.Parts()) || len(names) != fields {
		t.Errorf("%d fields, %d parts, %d names of parts", fields, len(store.Parts()), len(names))
	}
}

// bare has nothing but a log.
type bare struct{ store.Log }

func TestOfFindsWhatIsThere(t *testing.T) {
	s := store.Of(bare{})
	for _, p := range store.Parts() {
		if s.Has(p) != (p == store.PartLog) {
			t.Errorf("a bare log has %s: %v", p, s.Has(p))
		}
	}
	full := store.Of(memstore.New(nil))
	for _, p := range []store.Part{store.PartLog, store.PartIndex, store.PartLeaser, store.PartInbox, store.PartRecords, store.PartDeleter,
		store.PartHints, store.PartAbout} {
		if !full.Has(p) {
			t.Errorf("Of does not find %s", p)
		}
	}
	if full.Has("Nonsense") || full.Has("withheld") {
		t.Error("a store has what is no part")
	}
}

func TestRequireNamesWhatIsMissing(t *testing.T) {
	s := store.Of(bare{})
	if err := s.Require(); err != nil {
		t.Errorf("nothing required: %v", err)
	}
	if err := s.Require(store.PartLog); err != nil {
		t.Errorf("the log: %v", err)
	}
	err := s.Require(store.PartInbox, store.PartLog, store.PartIndex, store.PartInbox)
	var me *store.MissingError
	if !errors.As(err, &me) || !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("the error is %v", err)
	}
	if want := []store.Part{store.PartInbox, store.PartIndex}; !reflect.DeepEqual(me.Parts, want) {
		t.Errorf("missing are %q, want %q", me.Parts, want)
	}
	if err := (store.Store{}).Require(store.PartLog); err == nil {
		t.Error("the zero store has a log")
	}
}

func TestWithhold(t *testing.T) {
	full := stubs()
	less := full.Withhold(store.PartDeleter, "tenants may not delete").Withhold(store.PartFeed, "no feed")
	if less.Has(store.PartDeleter) || less.Has(store.PartFeed) || !less.Has(store.PartIndex) {
		t.Error("what was withheld is there, or more is gone")
	}
	if !full.Has(store.PartDeleter) || full.Require(store.Parts()...) != nil {
		t.Error("withholding changed the store that it was asked of")
	}
	other := full.Withhold(store.PartBlobs, "elsewhere")
	err := less.Require(store.PartDeleter, store.PartBlobs, store.PartFeed)
	if err == nil || !strings.Contains(err.Error(), "Deleter (tenants may not delete)") || !strings.Contains(err.Error(), "Feed (no feed)") ||
		strings.Contains(err.Error(), "Blobs") || strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the error is %v", err)
	}
	if err := other.Require(store.PartBlobs); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the error is %v", err)
	}
	me := err.(*store.MissingError)
	me.Why[store.PartDeleter] = "changed by the caller"
	if again := less.Require(store.PartDeleter); strings.Contains(again.Error(), "changed") {
		t.Error("a caller changed why a part is withheld")
	}
}

func TestOpened(t *testing.T) {
	in := stubs()
	s, shut, err := store.Opened(in).OpenStore(context.Background())
	if err != nil || part(s, store.PartFeed) != part(in, store.PartFeed) || shut() != nil {
		t.Errorf("opened: %v", err)
	}
	if _, _, err := store.Opened(store.Store{}).OpenStore(context.Background()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a store without a log: %v", err)
	}
}
