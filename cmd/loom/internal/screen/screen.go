// Package screen is how the command line writes: data on standard output, the rest on
// standard error, as text for people or as JSON envelopes for programs.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Schema names the contract of the JSON envelopes.
const Schema = "loom.cli/1"

// Envelope is what "--json" prints: one a command, or one a line for a stream.
type Envelope struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Data   any    `json:"data"`
}

// Screen is where a command writes to.
type Screen struct {
	Out, Err io.Writer
	// OutTerminal and ErrTerminal tell whether a person is likely to look.
	OutTerminal, ErrTerminal bool
	JSON                     bool
	Colour                   bool // of Out
	Times                    Times
}

// New returns the screen of this process. colour is "auto", "always" or "never",
// times is "auto", "iso", "relative" or "unix"; the error says which was neither.
func New(asJSON bool, colour, times string, getenv func(string) string) (*Screen, error) {
	s := &Screen{Out: os.Stdout, Err: os.Stderr, JSON: asJSON,
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: term.IsTerminal(int(os.Stderr.Fd()))}
	switch colour {
	case "auto":
		s.Colour = s.OutTerminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	case "always":
		s.Colour = true
	case "never":
	default:
		return s, fmt.Errorf("--color is %q; it can be auto, always or never", colour)
	}
	s.Colour = s.Colour && !asJSON
	var err error
	s.Times, err = timesOf(times, s.OutTerminal && !asJSON)
	return s, err
}

// Emit prints one envelope on one line.
func (s *Screen) Emit(kind string, data any) error { return emit(s.Out, s.OutTerminal, kind, data) }

// EmitError prints one envelope on one line of standard error.
func (s *Screen) EmitError(kind string, data any) error {
	return emit(s.Err, s.ErrTerminal, kind, data)
}

// emit writes an envelope. On a terminal what it would obey stands as escapes, which
// are the same JSON.
func emit(w io.Writer, terminal bool, kind string, data any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Envelope{Schema: Schema, Kind: kind, Data: data}); err != nil {
		return err
	}
	line := buf.Bytes()
	if terminal {
		line = inertJSON(line)
	}
	_, err := w.Write(line)
	return err
}

// Printf prints text for people. Texts that come from a log or from outside go
// through [Screen.Text] first.
func (s *Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s.Out, format, args...)
}

// Text returns what may be printed of a text that somebody else wrote: on a terminal
// without anything that it would obey.
func (s *Screen) Text(v string) string {
	if s.OutTerminal {
		return Inert(v)
	}
	return v
}

// Cell is Text for a text that must stay on its line and in its column.
func (s *Screen) Cell(v string) string {
	if s.OutTerminal {
		return Line(v)
	}
	return oneLine.Replace(v)
}
