package event

import (
	"strconv"
	"unicode/utf8"
)

// object writers. A payload is one JSON object without blanks, fields in the
// order of the struct, absent fields left out, strings without HTML escapes.

type writer struct{ b []byte }

func begin(dst []byte) writer { return writer{append(dst, '{')} }

func (w *writer) key(k string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, k...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) str(k, v string) { w.key(k); w.b = appendString(w.b, v) }

func (w *writer) strIf(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

// exact is the largest magnitude up to which every JSON reader keeps a whole
// number as it is; what is beyond is written as a string.
const exact = 1 << 53

func (w *writer) num(k string, v int64) {
	w.key(k)
	if v < -exact || v > exact {
		w.b = append(strconv.AppendInt(append(w.b, '"'), v, 10), '"')
		return
	}
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *writer) numIf(k string, v int64) {
	if v != 0 {
		w.num(k, v)
	}
}

func (w *writer) raw(k string, v []byte) {
	w.key(k)
	if len(v) == 0 {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, v...)
}

func (w *writer) rawIf(k string, v []byte) {
	if len(v) > 0 {
		w.raw(k, v)
	}
}

func (w *writer) end() []byte { return append(w.b, '}') }

const hex = "0123456789abcdef"

// appendString appends s as a JSON string, with the escapes that RFC 8785 names
// and no others: \b \t \n \f \r \" \\, and \u00xx for the other controls. Invalid
// UTF-8 becomes U+FFFD: what users hand in was checked before (package loom), so
// only the text of a foreign error can hold any.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
