package screen

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// hostile is what a payload may hold to take over a terminal: a title, a link, the
// clipboard, a carriage return, a right-to-left override, a C1 introducer, a lone byte.
const hostile = "a\x1b]0;title\x07\x1b]8;;http://x\x1b\\b\x1b]52;c;eA==\x07\rc\u202Ed\u2066e\u009b31mf\u200bg\u2028h\xffi"

func inert(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && r != '\t' && hazardous(r) {
			t.Errorf("%q holds %U", s, r)
		}
	}
}

// claim S-40
func TestWhatATerminalWouldObeyIsShownInstead(t *testing.T) {
	got := Inert(hostile)
	inert(t, got)
	for _, want := range []string{`a\u{001b}]0;title\u{0007}`, `\u{000d}c\u{202e}d\u{2066}e\u{009b}31mf`, `h\xffi`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not hold %q", got, want)
		}
	}
	if s := "grüße\n\t日本 🎉"; Inert(s) != s {
		t.Errorf("%q became %q", s, Inert(s))
	}
	if got := Line("a\nb"); got != `a\nb` {
		t.Errorf("Line gave %q", got)
	}
}

// claim S-40
func TestJSONOnATerminalIsTheSameJSON(t *testing.T) {
	data := map[string]string{"text": strings.ToValidUTF8(hostile, "?") + "\U000E0041<&>"}
	var plain, shown bytes.Buffer
	for _, s := range []*Screen{{Out: &plain}, {Out: &shown, OutTerminal: true}} {
		if err := s.Emit("k", data); err != nil {
			t.Fatal(err)
		}
	}
	inert(t, shown.String())
	if bytes.Equal(plain.Bytes(), shown.Bytes()) {
		t.Error("nothing was escaped")
	}
	var a, b struct{ Data map[string]string }
	if json.Unmarshal(plain.Bytes(), &a) != nil || json.Unmarshal(shown.Bytes(), &b) != nil || a.Data["text"] != b.Data["text"] || a.Data["text"] != data["text"] {
		t.Errorf("they differ: %q, %q", a.Data, b.Data)
	}
}

func TestTextIsLeftAloneWhereNobodyLooks(t *testing.T) {
	if got := (&Screen{}).Text(hostile); got != hostile {
		t.Errorf("piped text was changed: %q", got)
	}
	inert(t, (&Screen{OutTerminal: true}).Text(hostile))
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := time.Date(2026, 3, 1, 13, 57, 0, 250_000_000, time.FixedZone("", 2*3600))
	for times, want := range map[Times]string{ISO: "2026-03-01T11:57:00.25Z", Relative: "2m59s ago", Unix: "1772366220.250000"} {
		if got := (&Screen{Times: times}).Time(at, now); got != want {
			t.Errorf("%s gave %q, want %q", times, got, want)
		}
	}
	s := &Screen{Times: Relative}
	if got := s.Time(now.Add(90*time.Minute), now); got != "in 1h30m" {
		t.Error(got)
	}
	if got := s.Time(time.Time{}, now); got != "-" {
		t.Error(got)
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0µs", 1500 * time.Microsecond: "1ms", 12345 * time.Millisecond: "12.3s", 61 * time.Second: "1m01s",
		49 * time.Hour: "2d01h", -2 * time.Second: "-2s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

func TestFlags(t *testing.T) {
	env := func(vars map[string]string) func(string) string { return func(k string) string { return vars[k] } }
	s, err := New(false, "always", "auto", env(nil))
	if err != nil || !s.Colour || s.Status("failed") == "failed" || !strings.Contains(s.Status("failed"), "failed") {
		t.Errorf("always: %v, %v", s.Colour, err)
	}
	if s, _ := New(true, "always", "auto", env(nil)); s.Colour {
		t.Error("JSON in colour")
	}
	if s, _ := New(false, "auto", "auto", env(map[string]string{"NO_COLOR": "1"})); s.Colour || s.Status("failed") != "failed" {
		t.Error("NO_COLOR is not heeded")
	}
	for _, bad := range [][2]string{{"red", "auto"}, {"auto", "noon"}} {
		if _, err := New(false, bad[0], bad[1], env(nil)); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
