package event

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// A log file is one execution's log from sequence 0, as JSON lines:
//
//	{"loom":"log/1","execution":"order-42","schema":"1.0.0"}
//	{"seq":0,"time":1767225600000000,"kind":"EXECUTION_STARTED","payload":{…}}
//	…
//	{"events":15}
//
// time is in microseconds since 1970. payload stands as it was recorded, byte for byte.
// What cannot stand in a line, because it is no JSON, holds a line break or is not valid
// UTF-8, is in base64 under payload64 instead. meta and meta64, which may be absent, are
// the metadata in the same way. The last line says how many events there are, so that a
// file that was cut short is known for one. Fields that a reader does not know it skips.

// LogFormat is the format that [WriteLog] writes: what "loom" says on the first line.
const LogFormat = "log/1"

// LogFault says what is wrong with a log file. It is the error's stable code too.
type LogFault string

// Faults of log files.
const (
	LogGarbage   LogFault = "log_garbage"   // a line that is none of a log file's
	LogFormatNew LogFault = "log_format"    // a log file of a format that this build does not read
	LogTruncated LogFault = "log_truncated" // the file ends before the log does
	LogGap       LogFault = "log_gap"       // an event is missing
	LogOrder     LogFault = "log_order"     // an event comes twice, or too late
)

// LogFileError reports a log file that cannot be read, or a log that cannot be written
// as one.
type LogFileError struct {
	Fault LogFault
	Line  int   // from 1
	Err   error // what is wrong, for people
}

func (e *LogFileError) Error() string {
	return fmt.Sprintf("loom: log file, line %d: %v", e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *LogFileError) Unwrap() error { return e.Err }

// LoomCode returns the error's stable code.
func (e *LogFileError) LoomCode() string { return string(e.Fault) }

func logFault(line int, fault LogFault, format string, args ...any) error {
	return &LogFileError{Fault: fault, Line: line, Err: fmt.Errorf(format, args...)}
}

// WriteLog writes a whole log, from sequence 0, as a log file. Errors: those of log; a
// [*LogFileError] if the log is empty, has gaps or holds two executions' events; those of
// w. What was written before an error is no whole file, and is read as truncated.
func WriteLog(w io.Writer, log iter.Seq2[Envelope, error]) error {
	out := bufio.NewWriter(w)
	var s logSequence
	line := make([]byte, 0, 1024)
	for e, err := range log {
		if err != nil {
			return err
		}
		line = line[:0]
		if s.events == 0 {
			if err := e.Execution.Validate(); err != nil {
				return &LogFileError{Fault: LogGarbage, Line: 1, Err: err}
			}
			s.id = e.Execution
			line = appendLogHead(line, e.Execution)
		}
		if e.Execution != s.id {
			return logFault(s.line(), LogGarbage, "an event of %s in the log of %s", e.Execution, s.id)
		}
		if err := s.next(e); err != nil {
			return err
		}
		if _, err := out.Write(appendLogLine(line, e)); err != nil {
			return err
		}
	}
	if s.events == 0 {
		return logFault(1, LogTruncated, "the log is empty")
	}
	if _, err := out.Write(appendLogEnd(line[:0], s.events)); err != nil {
		return err
	}
	return out.Flush()
}

// ReadLog yields the events of a log file, which the caller owns. After the last one it
// has seen that the file was whole. Errors: a [*LogFileError]; those of r; after one it
// ends.
func ReadLog(r io.Reader) iter.Seq2[Envelope, error] {
	return func(yield func(Envelope, error) bool) {
		in := bufio.NewReader(r)
		var s logSequence
		for line := 1; ; line++ {
			text, err := in.ReadBytes('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Envelope{}, err)
				return
			}
			if err != nil { // a last line ends like any other
				yield(Envelope{}, logFault(line, LogTruncated, "the file ends in the middle of a log"))
				return
			}
			e, last, err := s.read(line, bytes.TrimSuffix(text, []byte("\n")))
			if err == nil && last {
				if _, err := in.ReadByte(); err == nil {
					yield(Envelope{}, logFault(line+1, LogGarbage, "something follows the last line of the log"))
				}
				return
			}
			if err == nil && line == 1 {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// logSequence checks that the events of a log come in their order.
type logSequence struct {
	id     ExecutionID
	events int64
}

func (s *logSequence) line() int { return int(s.events) + 2 }

func (s *logSequence) next(e Envelope) error {
	switch want := Seq(s.events); {
	case e.Kind == "" || !utf8.ValidString(string(e.Kind)):
		return logFault(s.line(), LogGarbage, "the event has no kind that could be written: %q", e.Kind)
	case e.Sequence > want:
		return logFault(s.line(), LogGap, "sequence %d where %d is due", e.Sequence, want)
	case e.Sequence < want:
		return logFault(s.line(), LogOrder, "sequence %d where %d is due", e.Sequence, want)
	}
	s.events++
	return nil
}

// read takes a line of a file; last says that it was the last one.
func (s *logSequence) read(line int, text []byte) (e Envelope, last bool, err error) {
	var l logLine
	if err := object(text, l.field); err != nil {
		return e, false, &LogFileError{Fault: LogGarbage, Line: line, Err: err}
	}
	switch {
	case line == 1 && l.format == "":
		return e, false, logFault(line, LogGarbage, "the first line does not say that this is a log file")
	case line == 1 && l.format != LogFormat:
		return e, false, logFault(line, LogFormatNew, "the format is %q, and this build reads %q", l.format, LogFormat)
	case line == 1:
		s.id = l.execution
		if err := s.id.Validate(); err != nil {
			return e, false, &LogFileError{Fault: LogGarbage, Line: line, Err: err}
		}
		return e, false, nil
	case l.ends && l.env.Kind != "" || !l.ends && !l.hasSeq:
		return e, false, logFault(line, LogGarbage, "the line is neither an event nor the end")
	case l.ends && l.events != s.events:
		return e, false, logFault(line, LogTruncated, "the log had %d events, and the file holds %d", l.events, s.events)
	case l.ends && s.events == 0:
		return e, false, logFault(line, LogTruncated, "the log is empty")
	case l.ends:
		return e, true, nil
	}
	l.env.Execution = s.id
	return l.env, false, s.next(l.env)
}

// logLine is what a line may hold.
type logLine struct {
	format    string
	execution ExecutionID
	env       Envelope
	hasSeq    bool
	events    int64
	ends      bool
}

func (l *logLine) field(key string, raw []byte) error {
	var text string
	var err error
	switch key {
	case "loom":
		return readString(raw, &l.format)
	case "execution":
		err = readString(raw, &text)
		l.execution = ExecutionID(text)
	case "seq":
		l.hasSeq = true
		return readInt(raw, &l.env.Sequence)
	case "time":
		return readInt(raw, &l.env.Time)
	case "kind":
		err = readString(raw, &text)
		l.env.Kind = Kind(text)
	case "payload":
		l.env.Payload = bytes.Clone(raw)
	case "payload64":
		l.env.Payload, err = readBase64(raw)
	case "meta":
		l.env.Meta = bytes.Clone(raw)
	case "meta64":
		l.env.Meta, err = readBase64(raw)
	case "events":
		l.ends = true
		return readInt(raw, &l.events)
	}
	return err
}

func readBase64(raw []byte) ([]byte, error) {
	var text string
	if err := readString(raw, &text); err != nil {
		return nil, err
	}
	out, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	return out, nil
}

func appendLogHead(dst []byte, id ExecutionID) []byte {
	w := begin(dst)
	w.str("loom", LogFormat)
	w.str("execution", string(id))
	w.str("schema", SchemaVersion)
	return append(w.end(), '\n')
}

func appendLogLine(dst []byte, e Envelope) []byte {
	w := begin(dst)
	w.num("seq", int64(e.Sequence))
	w.num("time", int64(e.Time))
	w.str("kind", string(e.Kind))
	w.exact("payload", e.Payload)
	w.exact("meta", e.Meta)
	return append(w.end(), '\n')
}

func appendLogEnd(dst []byte, events int64) []byte {
	w := begin(dst)
	w.num("events", events)
	return append(w.end(), '\n')
}

// exact writes bytes so that they are read back as they are; nothing for none.
func (w *writer) exact(key string, raw []byte) {
	switch {
	case len(raw) == 0:
	case standsInLine(raw):
		w.raw(key, raw)
	default:
		w.str(key+"64", base64.StdEncoding.EncodeToString(raw))
	}
}

// standsInLine reports whether raw can stand in a line as a value of its own.
func standsInLine(raw []byte) bool {
	if !utf8.Valid(raw) || !json.Valid(raw) || bytes.ContainsAny(raw, "\r\n") || Depth(raw) > MaxDepth {
		return false
	}
	return len(bytes.TrimSpace(raw)) == len(raw) // a value is read without the blanks around it
}
