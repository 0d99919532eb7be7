package loom

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/loomwork/loom/event"
)

// RegisterError makes errors of type E come back as themselves: one that a body or an
// effect returns, or that is among the causes of what it returns, is recorded with its
// fields, and errors.As finds an E in the [*StepError], [*AnswerError] or
// [*ExecutionError] that is made of the record, in the run that made it, in every replay, and
// in every other process that has registered E too. errors.Is finds it if it is comparable,
// or has a method Is. E is a struct or a pointer to one:
//
//	type Declined struct {
//		Card   string
//		Reason string
//	}
//
//	func (e *Declined) Error() string { return e.Card + " was declined: " + e.Reason }
//
//	func init() { loom.RegisterError[*Declined]("card_declined") }
//
// What is recorded is the error's JSON: its exported fields, or what its own MarshalJSON
// writes. Each errors.As makes a new one of that. An error that does not encode, or is
// over [event.MaxDetailBytes] with the others of its chain, or is read by a process that
// has not registered its type, comes back as a [RecordedError] alone, with its text and
// its code.
//
// code, [A-Za-z0-9_.:-]{1,64}, is in logs and stays what it is. It is the error's code for
// [Code] too, whatever its method LoomCode says. Register types when the program starts:
// RegisterError panics with a [*NameError] for a bad code or one of Loom's own, and with an
// error for an E that is neither a struct nor a pointer to one, or a code or type that is
// registered otherwise already.
func RegisterError[E error](code string) {
	t := reflect.TypeFor[E]()
	if err := checkName("error", code); err != nil {
		panic(err)
	}
	if ownCodes[code] {
		panic(&NameError{What: "error", Name: code, Reserved: true})
	}
	if t.Kind() != reflect.Struct && (t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct) {
		panic(fmt.Errorf("loom: errors of type %s cannot be registered: it is no struct, and no pointer to one", t))
	}
	errorTypes.Lock()
	defer errorTypes.Unlock()
	was, taken := errorTypes.byCode[code]
	other, twice := errorTypes.byType[t]
	switch {
	case taken && was != t:
		panic(fmt.Errorf("loom: error code %q is that of %s, and cannot be that of %s", code, was, t))
	case twice && other != code:
		panic(fmt.Errorf("loom: errors of type %s have the code %q, and cannot have %q", t, other, code))
	}
	errorTypes.byCode[code], errorTypes.byType[t] = t, code
}

// errorTypes are the registered types. Both maps are looked up, never walked.
var errorTypes = struct {
	sync.RWMutex
	byCode map[string]reflect.Type
	byType map[reflect.Type]string
}{byCode: map[string]reflect.Type{}, byType: map[reflect.Type]string{}}

// registered returns the code of err's type, "" if it has none.
func registered(err error) string {
	errorTypes.RLock()
	defer errorTypes.RUnlock()
	return errorTypes.byType[reflect.TypeOf(err)]
}

// typeOf returns the type that is registered for code, nil for none.
func typeOf(code string) reflect.Type {
	errorTypes.RLock()
	defer errorTypes.RUnlock()
	return errorTypes.byCode[code]
}

// maxDetailDepth is how deep the fields of a recorded error may be nested: far less than
// [event.MaxDepth], because records of errors are nested in others.
const maxDetailDepth = 64

// detailOf writes an error of a registered type down within room bytes; false if it
// cannot be.
func detailOf(err error, code string, room int) (event.Detail, bool) {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return event.Detail{}, false
	}
	raw, bad := encode("error "+code, err, room)
	if bad != nil || event.Depth(raw) > maxDetailDepth {
		return event.Detail{}, false
	}
	return event.Detail{Code: code, Value: raw}, true
}

// revive makes an error of its record, nil if this process cannot.
func revive(d event.Detail) error {
	t := typeOf(d.Code)
	if t == nil {
		return nil
	}
	to := reflect.New(t)
	if t.Kind() == reflect.Pointer {
		to.Elem().Set(reflect.New(t.Elem()))
	}
	into := to.Interface()
	if t.Kind() == reflect.Pointer {
		into = to.Elem().Interface() // a null in its place would leave no error
	}
	if json.Unmarshal(d.Value, into) != nil {
		return nil
	}
	return to.Elem().Interface().(error) // what is registered is an error
}

// recordedDetails returns the records of the errors of registered types.
func (e *RecordedError) recordedDetails() []event.Detail { return e.details }

// revived reports whether a recorded error of a registered type is target.
func (e *RecordedError) revived(target error) bool {
	for _, d := range e.details {
		if err := revive(d); err != nil && errors.Is(err, target) {
			return true
		}
	}
	return false
}

// fill sets what target points to to the first recorded error that it can hold.
func (e *RecordedError) fill(target any) bool {
	to := reflect.ValueOf(target).Elem()
	for _, d := range e.details {
		t := typeOf(d.Code)
		if t == nil || !t.AssignableTo(to.Type()) {
			continue
		}
		if err := revive(d); err != nil {
			to.Set(reflect.ValueOf(err))
			return true
		}
	}
	return false
}
