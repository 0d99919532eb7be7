package event

import (
	"encoding/json"
	"errors"
)

// Failure is a recorded error: what is left of a Go error once it has been
// written down.
type Failure struct {
	Code    string   // stable, lower_snake; "error" for an error without one
	Message string   // cut at [MaxMessageBytes]
	Chain   []string // codes of the causes, outermost first, without Code
	Stack   []string // for a panic: "function:line", innermost first
	// Details are the errors of registered types among the error and its causes,
	// outermost first, [MaxDetailBytes] in all.
	Details []Detail
}

// Detail is one error of a registered type, as its type writes it.
type Detail struct {
	Code  string // of the type
	Value json.RawMessage
}

// MaxMessageBytes is the longest recorded error text.
const MaxMessageBytes = 16 << 10

// MaxDetailBytes is how much the values of one failure's details take at the most; those
// that do not fit are left out.
const MaxDetailBytes = 16 << 10

func (f *Failure) append(w *writer, key string) {
	if f == nil {
		return
	}
	w.key(key)
	in := begin(w.b)
	in.str("code", f.Code)
	in.str("message", f.Message)
	in.list("chain", f.Chain)
	in.list("stack", f.Stack)
	in.details("details", f.Details)
	w.b = in.end()
}

func (w *writer) list(k string, v []string) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, s := range v {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendString(w.b, s)
	}
	w.b = append(w.b, ']')
}

func (w *writer) details(k string, v []Detail) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, d := range v {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		in := begin(w.b)
		in.str("code", d.Code)
		in.raw("value", d.Value)
		w.b = in.end()
	}
	w.b = append(w.b, ']')
}

func readDetails(raw []byte, to *[]Detail) error {
	var each []json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil || each == nil {
		return errors.New("is not a list")
	}
	out := make([]Detail, len(each))
	for i := range each {
		d := &out[i]
		err := object(each[i], func(key string, raw []byte) error {
			switch key {
			case "code":
				return readString(raw, &d.Code)
			case "value":
				return readRaw(raw, &d.Value)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case d.Code == "":
			return missing("code")
		case d.Value == nil:
			return missing("value")
		}
	}
	*to = out
	return nil
}

func readFailure(raw []byte, to **Failure) error {
	var f Failure
	err := object(raw, func(key string, raw []byte) error {
		switch key {
		case "code":
			return readString(raw, &f.Code)
		case "message":
			return readString(raw, &f.Message)
		case "chain":
			return readStrings(raw, &f.Chain)
		case "stack":
			return readStrings(raw, &f.Stack)
		case "details":
			return readDetails(raw, &f.Details)
		}
		return nil
	})
	if err == nil && f.Code == "" {
		err = missing("code")
	}
	if err != nil {
		return err
	}
	*to = &f
	return nil
}
