package loom

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/loomwork/loom/event"
)

// encode writes a user's value down, once: JSON without HTML escapes, map keys
// sorted. The error is an [*InputValidationError] or a [*TooLargeError].
func encode(what string, v any, limit int) (json.RawMessage, error) {
	buf := encodeBuffers.Get().(*encodeBuffer)
	if err := buf.enc.Encode(v); err != nil {
		return nil, &InputValidationError{What: what, Err: err} // an encoder remembers some errors: it is not kept
	}
	defer buf.free()
	raw := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// A json.RawMessage goes through unlooked at, and may hold the escape for itself.
	if !utf8.Valid(raw) || replaced(raw) && brokenText(reflect.ValueOf(v)) {
		return nil, &InputValidationError{What: what, Err: errors.New("holds text that is not valid UTF-8")}
	}
	if d := event.Depth(raw); d > event.MaxDepth {
		return nil, &InputValidationError{What: what, Err: fmt.Errorf("is nested %d deep, the limit is %d", d, event.MaxDepth)}
	}
	if len(raw) > limit {
		return nil, &TooLargeError{What: what, Bytes: len(raw), Limit: limit}
	}
	return bytes.Clone(raw), nil
}

// replaced reports whether the encoder met invalid UTF-8, for which it writes
// the escape \ufffd; a U+FFFD that was in the text stands as itself.
func replaced(raw []byte) bool {
	for at := 0; ; {
		i := bytes.Index(raw[at:], []byte(`\ufffd`))
		if i < 0 {
			return false
		}
		at += i
		slashes := 0
		for at-slashes-1 >= 0 && raw[at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		at++
	}
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// brokenText reports whether v holds text that is not valid UTF-8, where the encoder
// looks for it. v was encoded, so it has no cycle.
func brokenText(v reflect.Value) bool {
	if !v.IsValid() || v.Type() == rawMessage || v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	if v.CanInterface() {
		switch m := v.Interface().(type) {
		case json.Marshaler:
			raw, err := m.MarshalJSON()
			return err == nil && replaced(raw)
		case encoding.TextMarshaler:
			text, err := m.MarshalText()
			return err == nil && !utf8.Valid(text)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return brokenText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && brokenText(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if brokenText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); { // order does not matter: any broken text will do
			if brokenText(it.Key()) || brokenText(it.Value()) {
				return true
			}
		}
	}
	return false
}

// decode reads a recorded value back.
func decode[T any](what string, raw json.RawMessage) (v T, err error) {
	if p, ok := any(&v).(*json.RawMessage); ok {
		*p = raw
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		var zero T
		return zero, &InputValidationError{What: what, Err: err}
	}
	return v, nil
}
