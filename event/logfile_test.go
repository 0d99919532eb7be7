package event

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"testing"
)

// sampleLog holds every kind, and bytes of every sort that a log can hold.
func sampleLog() (log []Envelope) {
	add := func(k Kind, payload string, meta []byte) {
		log = append(log, Envelope{Execution: "order-42", Sequence: Seq(len(log)), Kind: k, Time: 1000 + Time(len(log)),
			Payload: []byte(payload), Meta: meta})
	}
	for _, s := range samples() {
		add(s.p.Kind(), string(Encode(s.p)), nil)
	}
	add("FROM_THE_FUTURE", "not even JSON", nil)
	add("FROM_THE_FUTURE", "", nil)
	add("FROM_THE_FUTURE", "\xff\x00\n", nil)
	add("FROM_THE_FUTURE", "\"broken \xff text\"", nil)
	add("FROM_THE_FUTURE", "{\n}", nil)
	add("FROM_THE_FUTURE", " 1 ", nil)
	add("FROM_THE_FUTURE", strings.Repeat("[", MaxDepth+1)+strings.Repeat("]", MaxDepth+1), nil)
	add("\u2028 <&>", "1", EncodeMeta(map[string]string{"fence": "7"}))
	add("FROM_THE_FUTURE", "null", []byte("\xfe"))
	log[len(log)-1].Time = Never
	return log
}

func seqOf(log []Envelope) iter.Seq2[Envelope, error] {
	return func(yield func(Envelope, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func readAll(text string) (log []Envelope, err error) {
	for e, err := range ReadLog(strings.NewReader(text)) {
		if err != nil {
			return log, err
		}
		log = append(log, e)
	}
	return log, nil
}

func writeAll(t *testing.T, log []Envelope) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteLog(&b, seqOf(log)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sameLog(a, b []Envelope) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// TestALogFileKeepsEveryByte: what is read is what was written, whatever the payloads
// are, and JSON stands in the file as it was recorded.
func TestALogFileKeepsEveryByte(t *testing.T) {
	log := sampleLog()
	text := writeAll(t, log)
	back, err := readAll(text)
	if err != nil {
		t.Fatal(err)
	}
	if !sameLog(log, back) {
		t.Errorf("wrote\n%v\nread\n%v", log, back)
	}
	if again := writeAll(t, back); again != text {
		t.Errorf("written again it is another file:\n%s\n%s", text, again)
	}
	if !strings.Contains(text, `"payload":{"op":"a#1/charge#2","args":`+trap+`}`) {
		t.Error("a payload does not stand as it was recorded")
	}
	if n := strings.Count(text, "\n"); n != len(log)+2 {
		t.Errorf("%d lines for %d events", n, len(log))
	}
}

// TestABadLogFileSaysWhatIsWrong: garbage, cut, gapped and disordered files give typed
// errors that name the line.
func TestABadLogFileSaysWhatIsWrong(t *testing.T) {
	whole := writeAll(t, sampleLog()[:4])
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[5] += "\n"
	pick := func(at ...int) string {
		s := ""
		for _, i := range at {
			s += lines[i]
		}
		return s
	}
	for _, c := range []struct {
		name, text string
		fault      LogFault
		line       int
	}{
		{"nothing", "", LogTruncated, 1},
		{"a blank line", "\n", LogGarbage, 1},
		{"an image", "\x89PNG\r\n\x1a\n\x00", LogGarbage, 1},
		{"JSON of something else", `{"name":"x"}` + "\n", LogGarbage, 1},
		{"a later format", strings.Replace(whole, "log/1", "log/2", 1), LogFormatNew, 1},
		{"a bad id", strings.Replace(whole, "order-42", "order 42", 1), LogGarbage, 1},
		{"only a head", pick(0), LogTruncated, 2},
		{"no end", pick(0, 1, 2, 3, 4), LogTruncated, 6},
		{"cut in a line", whole[:len(whole)-9], LogTruncated, 6},
		{"cut before the last line break", whole[:len(whole)-1], LogTruncated, 6},
		{"an end too early", pick(0, 1, 2, 5), LogTruncated, 4},
		{"an end of nothing", lines[0] + `{"events":0}` + "\n", LogTruncated, 2},
		{"a gap", pick(0, 1, 3, 4, 5), LogGap, 3},
		{"no first event", pick(0, 2, 3, 4, 5), LogGap, 2},
		{"an event twice", pick(0, 1, 2, 2, 3, 4, 5), LogOrder, 4},
		{"two events changed over", pick(0, 1, 3, 2, 4, 5), LogGap, 3},
		{"the second before the first", pick(0, 1, 2, 1, 3, 4, 5), LogOrder, 4},
		{"an event without a kind", pick(0) + `{"seq":0,"time":1}` + "\n", LogGarbage, 2},
		{"a line that is neither", pick(0, 1) + `{"payload":1}` + "\n", LogGarbage, 3},
		{"bad base64", pick(0) + `{"seq":0,"kind":"X","payload64":"!"}` + "\n", LogGarbage, 2},
		{"more behind the end", whole + lines[1], LogGarbage, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := readAll(c.text)
			var bad *LogFileError
			if !errors.As(err, &bad) || bad.Fault != c.fault || bad.Line != c.line || bad.LoomCode() != string(c.fault) {
				t.Errorf("%d events, %v", len(log), err)
			}
		})
	}
}

func TestWriteLogRefusesWhatIsNoLog(t *testing.T) {
	log := sampleLog()[:4]
	foreign := append([]Envelope(nil), log...)
	foreign[2].Execution = "order-43"
	unnamed := append([]Envelope(nil), log...)
	unnamed[1].Kind = "\xff"
	cause := errors.New("the store is down")
	broken := func(yield func(Envelope, error) bool) { _ = yield(log[0], nil) && yield(Envelope{}, cause) }
	for _, c := range []struct {
		name  string
		log   iter.Seq2[Envelope, error]
		fault LogFault
	}{
		{"empty", seqOf(nil), LogTruncated},
		{"from the middle", seqOf(log[1:]), LogGap},
		{"a gap", seqOf([]Envelope{log[0], log[2]}), LogGap},
		{"twice", seqOf([]Envelope{log[0], log[0]}), LogOrder},
		{"two executions", seqOf(foreign), LogGarbage},
		{"a kind of no text", seqOf(unnamed), LogGarbage},
	} {
		var bad *LogFileError
		if err := WriteLog(new(bytes.Buffer), c.log); !errors.As(err, &bad) || bad.Fault != c.fault {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	var b bytes.Buffer
	if err := WriteLog(&b, broken); !errors.Is(err, cause) {
		t.Errorf("a log that fails: %v", err)
	}
	if log, err := readAll(b.String()); err == nil {
		t.Errorf("half a file reads as %d events", len(log))
	}
}

// FuzzLogFile: whatever the file, reading never panics and gives typed errors; what is
// read whole is written to a file that reads the same and is written the same again.
func FuzzLogFile(f *testing.F) {
	var b bytes.Buffer
	if err := WriteLog(&b, seqOf(sampleLog())); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"loom":"log/1","execution":"x"}` + "\n" + `{"seq":0,"kind":"X","payload64":"/w=="}` + "\n" + `{"events":1}` + "\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := readAll(text)
		var bad *LogFileError
		if err != nil {
			if !errors.As(err, &bad) || bad.Line < 1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		once := writeAll(t, log)
		back, err := readAll(once)
		if err != nil || !sameLog(log, back) {
			t.Fatalf("%q: read %v, and back %v: %v", text, log, back, err)
		}
		if twice := writeAll(t, back); twice != once {
			t.Fatalf("no fixpoint: %q then %q", once, twice)
		}
	})
}
