package promise

import (
	"fmt"
	"strings"
)

// Open stands in the last column of a promise that no test names.
const Open = "open"

// A Page is a Markdown page with tables of promises: rows of four columns, id,
// promise, the part of the project that brings it, and who shows it. All other
// lines are left alone, but for one that begins with [CountLine].
type Page struct {
	Name  string
	lines []string
	rows  []Row
}

// CountLine begins the line that Update writes the counts into.
const CountLine = "Shown today: "

// A Row is one promise on a page.
type Row struct {
	ID, Text, Part, Shown string
	line                  int
}

// Pages are the pages that are kept, from the checkout's root.
var pages = []string{"docs/spec/promises.md", "docs/spec/cases.md"}

// PageNames returns the paths of the pages. The caller owns the slice.
func PageNames() []string { return append([]string(nil), pages...) }

// ParsePage reads a page. The error names a row that has no id, no text, no
// part or not four columns.
func ParsePage(name, text string) (*Page, error) {
	p := &Page{Name: name, lines: strings.Split(text, "\n")}
	for i, line := range p.lines {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		if ClassOf(cells[0]) == "" {
			if strings.ContainsAny(cells[0], "0123456789") {
				return nil, fmt.Errorf("%s:%d: %q is no id of a promise", name, i+1, cells[0])
			}
			continue // a heading
		}
		if len(cells) != 4 || cells[1] == "" || cells[2] == "" || cells[3] == "" {
			return nil, fmt.Errorf("%s:%d: the row of %s needs four columns: id, promise, part, shown by", name, i+1, cells[0])
		}
		p.rows = append(p.rows, Row{ID: cells[0], Text: cells[1], Part: cells[2], Shown: cells[3], line: i})
	}
	return p, nil
}

// Rows returns the promises of the page. The caller owns the slice.
func (p *Page) Rows() []Row { return append([]Row(nil), p.rows...) }

// Update writes the last column, and the line of counts, from what tests name.
func (p *Page) Update(n Named) {
	shown, total := map[Class]int{}, map[Class]int{}
	for i := range p.rows {
		r := &p.rows[i]
		r.Shown = cell(n[r.ID])
		p.lines[r.line] = fmt.Sprintf("| %s | %s | %s | %s |", r.ID, r.Text, r.Part, r.Shown)
		total[ClassOf(r.ID)]++
		if r.Shown != Open {
			shown[ClassOf(r.ID)]++
		}
	}
	var counts []string
	for _, c := range Classes() {
		if total[c] > 0 {
			counts = append(counts, fmt.Sprintf("%s %d of %d", c, shown[c], total[c]))
		}
	}
	for i, line := range p.lines {
		if strings.HasPrefix(line, CountLine) {
			p.lines[i] = CountLine + strings.Join(counts, ", ") + "."
		}
	}
}

// String returns the page's text.
func (p *Page) String() string { return strings.Join(p.lines, "\n") }

// most is the number of places that a cell lists.
const most = 2

func cell(places []string) string {
	if len(places) == 0 {
		return Open
	}
	quoted := make([]string, 0, most)
	for _, p := range places[:min(most, len(places))] {
		quoted = append(quoted, "`"+p+"`")
	}
	text := strings.Join(quoted, ", ")
	if more := len(places) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Problems says where pages and tests disagree: a promise that a test names and
// no page lists, one that a test names and a page calls open, one that a page
// calls shown and no test names, one that stands twice.
func Problems(pages []*Page, n Named) (problems []string) {
	listed := map[string]bool{}
	for _, p := range pages {
		for _, r := range p.rows {
			if listed[r.ID] {
				problems = append(problems, fmt.Sprintf("%s: %s stands twice", p.Name, r.ID))
			}
			listed[r.ID] = true
			switch named := len(n[r.ID]) > 0; {
			case named && r.Shown == Open:
				problems = append(problems, fmt.Sprintf("%s: %s is called open, but %s names it", p.Name, r.ID, n[r.ID][0]))
			case !named && r.Shown != Open:
				problems = append(problems, fmt.Sprintf("%s: %s is called shown by %s, but no test names it", p.Name, r.ID, r.Shown))
			}
		}
	}
	for _, id := range sortedIDs(n) {
		if !listed[id] {
			problems = append(problems, fmt.Sprintf("%s names %s, which no page lists", n[id][0], id))
		}
	}
	return problems
}
