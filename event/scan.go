package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of a payload.
const MaxDepth = 512

// Depth returns how deep objects and lists are nested in raw, which is valid JSON; 0
// for a bare number, word or string.
func Depth(raw []byte) (deepest int) {
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// object walks the fields of one JSON object. It refuses what is not one
// object, a key that stands twice and nesting below [MaxDepth]; raw aliases
// data.
func object(data []byte, field func(key string, raw []byte) error) error {
	if !json.Valid(data) {
		return errors.New("is not valid JSON")
	}
	s := scanner{data: data}
	s.space()
	if s.peek() != '{' {
		return errors.New("is not an object")
	}
	s.i++
	var keys keySet
	for {
		s.space()
		if s.peek() == '}' {
			return nil
		}
		if s.peek() == ',' {
			s.i++
			s.space()
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		key, err := unquote(raw)
		if err != nil {
			return err
		}
		if !keys.add(key) {
			return fmt.Errorf("field %q stands twice", key)
		}
		s.space()
		s.i++ // the colon: the text is valid JSON
		s.space()
		if raw, err = s.value(); err != nil {
			return err
		}
		if err := field(key, raw); err != nil {
			return fmt.Errorf("field %q %w", key, err)
		}
	}
}

// keySet holds the keys of one object: few of them in a row, more in a map.
type keySet struct {
	room [16]string
	few  int
	many map[string]bool
}

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	for _, k := range s.room[:s.few] {
		if k == key {
			return false
		}
	}
	if s.few < len(s.room) {
		s.room[s.few] = key
		s.few++
		return true
	}
	if s.many == nil {
		s.many = map[string]bool{}
	}
	if s.many[key] {
		return false
	}
	s.many[key] = true
	return true
}

// scanner reads JSON that is known to be valid.
type scanner struct {
	data []byte
	i    int
}

func (s *scanner) peek() byte {
	if s.i < len(s.data) {
		return s.data[s.i]
	}
	return '}'
}

func (s *scanner) space() {
	for s.i < len(s.data) {
		switch s.data[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// value returns the next value and moves behind it.
func (s *scanner) value() ([]byte, error) {
	start, depth := s.i, 0
	for s.i < len(s.data) {
		switch c := s.data[s.i]; c {
		case '"':
			s.string()
			if depth == 0 {
				return s.data[start:s.i], nil
			}
			continue
		case '{', '[':
			if depth++; depth > MaxDepth {
				return nil, fmt.Errorf("is nested deeper than %d", MaxDepth)
			}
		case '}', ']', ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return s.data[start:s.i], nil // a number or a word ends here
			}
			if c == '}' || c == ']' {
				if depth--; depth == 0 {
					s.i++
					return s.data[start:s.i], nil
				}
			}
		}
		s.i++
	}
	return s.data[start:s.i], nil
}

func (s *scanner) string() {
	for s.i++; s.data[s.i] != '"'; s.i++ {
		if s.data[s.i] == '\\' {
			s.i++
		}
	}
	s.i++
}

func unquote(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("is not a string")
	}
	inner := raw[1 : len(raw)-1]
	if !utf8.Valid(inner) {
		return "", errors.New("is not valid UTF-8")
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var out string
	if err := json.Unmarshal(raw, &out); err != nil {
		return "", errors.New("is not a string")
	}
	return out, nil
}

// field readers: each sets what it points to or says what is wrong.

func readString(raw []byte, to *string) (err error) { *to, err = unquote(raw); return err }

func readInt[I ~int64 | ~int](raw []byte, to *I) error {
	text, quoted := string(raw), raw[0] == '"'
	if quoted {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || quoted != (n < -exact || n > exact) {
		return errors.New("is not a whole number, or beyond 2^53 and not in quotes")
	}
	*to = I(n)
	return nil
}

// readRaw keeps the bytes as they stand; a JSON null is kept as "null".
func readRaw(raw []byte, to *json.RawMessage) error { *to = raw[:len(raw):len(raw)]; return nil }

func readStrings(raw []byte, to *[]string) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return errors.New("is not a list of strings")
	}
	return nil
}

func missing(field string) error { return fmt.Errorf("lacks the field %q", field) }
