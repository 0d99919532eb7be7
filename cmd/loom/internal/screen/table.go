package screen

import (
	"strings"
	"unicode/utf8"
)

// Table is text in columns.
type Table struct {
	Head []string
	Rows [][]string
}

// Print prints the table: padded for people, with tabs between cells for programs
// that cut. A cell that is the word of a status gets its colour.
func (t Table) Print(s *Screen) {
	rows := append([][]string{upper(t.Head)}, t.Rows...)
	width := make([]int, len(t.Head))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			shown := s.Status(cell)
			if n == 0 {
				shown = s.Strong(cell)
			}
			b.WriteString(shown)
			switch {
			case i == len(row)-1:
			case s.OutTerminal:
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			default:
				b.WriteByte('\t')
			}
		}
		s.Printf("%s\n", b.String())
	}
}

func upper(head []string) (out []string) {
	for _, h := range head {
		out = append(out, strings.ToUpper(h))
	}
	return out
}
