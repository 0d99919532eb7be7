package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Summary is the result of an audit, and the head of its report.
type Summary struct {
	Files      int        `json:"files"` // regular files, unreadable ones included
	Bytes      int64      `json:"bytes"`
	Lines      int64      `json:"lines"`
	Unreadable int        `json:"unreadable"` // files and directories with an error
	NotOpened  int        `json:"notOpened"`  // symbolic links, pipes, sockets, devices
	Languages  []Language `json:"languages"`  // most files first
	Report     Name       `json:"report"`
}

// Language is one row of a summary.
type Language struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Lines int64  `json:"lines"`
}

// summarise adds up what was found; results stand beside the regular files of
// entries, in their order.
func summarise(entries []Entry, results []File) Summary {
	s := Summary{Languages: []Language{}}
	for _, e := range entries {
		switch {
		case e.Error != "":
			s.Unreadable++
		case e.Kind != "":
			s.NotOpened++
		}
	}
	at := map[string]int{}
	for _, f := range results {
		s.Files++
		s.Bytes += f.Bytes
		s.Lines += f.Lines
		if f.Error != "" {
			s.Unreadable++
		}
		i, ok := at[f.Language]
		if !ok {
			i = len(s.Languages)
			at[f.Language] = i
			s.Languages = append(s.Languages, Language{Name: f.Language})
		}
		l := &s.Languages[i]
		l.Files, l.Bytes, l.Lines = l.Files+1, l.Bytes+f.Bytes, l.Lines+f.Lines
	}
	slices.SortFunc(s.Languages, func(a, b Language) int {
		if a.Files != b.Files {
			return b.Files - a.Files
		}
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// reportHead is what a report says before its entries.
type reportHead struct {
	Schema    string  `json:"schema"`
	Execution string  `json:"execution"`
	Root      Name    `json:"root"`
	Summary   Summary `json:"summary"`
}

// writeReport writes the report, whole or not at all: a JSON object with one entry a
// line. The same audit gives the same bytes.
func writeReport(path string, head reportHead, entries []Entry, results []File) error {
	var buf bytes.Buffer
	w := bufio.NewWriter(&buf)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w.Write(raw[:len(raw)-1])
	w.WriteString(",\"entries\":[\n")
	i := 0
	for n, e := range entries {
		if n > 0 {
			w.WriteString(",")
		}
		var line any = e
		if e.Kind == "" {
			line = struct {
				Path Name `json:"path"`
				File
			}{e.Path, results[i]}
			i++
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	w.WriteString("]}\n")
	if err := w.Flush(); err != nil {
		return err
	}
	return replaceFile(path, buf.Bytes())
}

// replaceFile puts a file in the place of what is at path, by a rename.
func replaceFile(path string, content []byte) error {
	// The name is taken by one effect alone, so that a run that was killed leaves
	// nothing behind that the next one does not overwrite.
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync() // not every file system can; the rename stands either way
		d.Close()
	}
	return nil
}
