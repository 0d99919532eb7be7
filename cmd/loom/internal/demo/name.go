package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Name is a path below the audited directory, with slashes, or a path of the
// machine: any bytes. In JSON it is a string where it is valid UTF-8, and
// {"base64": …} where it is not, so that no name is lost and no two become one.
type Name string

type encodedName struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (n Name) MarshalJSON() ([]byte, error) {
	var v any = string(n)
	if !utf8.ValidString(string(n)) {
		v = encodedName{[]byte(n)}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Name) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var e encodedName
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		*n = Name(e.Base64)
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	*n = Name(s)
	return nil
}

// Text returns the name for people: bytes that are no UTF-8, control characters and
// the percent sign itself as %XX.
func (n Name) Text() string {
	var b strings.Builder
	for i := 0; i < len(n); {
		r, size := utf8.DecodeRuneInString(string(n[i:]))
		if r == utf8.RuneError && size <= 1 || r < ' ' || r == 0x7f || r == '%' || 0x80 <= r && r < 0xa0 {
			for _, c := range []byte(n[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// compareNames orders paths as a walk meets them: a directory before what is in it,
// and that before the directory's next sibling.
func compareNames(a, b Name) int {
	for {
		x, restA, moreA := strings.Cut(string(a), "/")
		y, restB, moreB := strings.Cut(string(b), "/")
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = Name(restA), Name(restB)
	}
}
