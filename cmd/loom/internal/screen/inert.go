package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Inert returns s with everything replaced that a terminal would obey or that would
// show it in another order than it has: control characters (line feed and tab
// excepted), marks of direction and of joining, what is no UTF-8. They stand as
// \u{…}, or \x… for single bytes.
func Inert(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || hazardous(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case hazardous(r):
			fmt.Fprintf(&b, "\\u{%04x}", r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// Line is Inert for a text that must stay on one line.
func Line(s string) string { return oneLine.Replace(Inert(s)) }

var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// inertJSON is Inert for a text that is JSON, where such characters stand in strings
// alone.
func inertJSON(raw []byte) []byte {
	var out []byte
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size <= 1 || hazardous(r) {
			for _, u := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, "\\u%04x", u)
			}
		} else {
			out = append(out, raw[i:i+size]...)
		}
		i += size
	}
	return out
}

func hazardous(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	// Cc: ESC, CR, CSI. Cf: bidi overrides and isolates, zero-width joiners, tags.
	// Zl and Zp break lines where nobody expects it.
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}
