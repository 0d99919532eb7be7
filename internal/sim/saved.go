package sim

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Saved is a script as a file keeps it, with what it showed. The file has a line for each
// thing in its head, and below them a line for each decision whose answer is not 0:
//
//	story TestSimCluster
//	defect call-before-intent
//	rule O7
//	seed 12
//	acts 2
//	from 812 decisions, 4 nodes, 3 executions, 990 steps
//	to 9 decisions, 1 nodes, 1 executions, 31 steps
//
//	4 1/6 executions
//	21 3/25 act
//
// A decision's line has its place, its answer, how many options there were, and the
// question. A file without decisions is a seed.
type Saved struct {
	Story  string // the test whose story it is
	Defect string // the planted one that it shows; "" for none
	Rule   string // what it breaks; "" if it passes by now
	Note   string // what it found once
	Seed   uint64
	Acts   int // as in [Script]
	From   Size
	To     Size

	Decisions []Decision
}

// Decision is an answer that is not 0.
type Decision struct {
	At     int // its place among all answers, from 0
	Choice uint32
	Of     int // options
	Site   string
}

// Save returns a script that was run with Ask as a file keeps it.
func (o *Outcome) Save() *Saved {
	w := o.Cluster.World
	s := &Saved{Seed: o.script.Seed, Acts: o.script.Acts, To: o.Size()}
	for at, c := range w.choices {
		if c != 0 {
			s.Decisions = append(s.Decisions, Decision{at, c, w.asked[at].n, w.asked[at].site})
		}
	}
	return s
}

// Script returns what is to be run.
func (s *Saved) Script() *Script {
	script := &Script{Seed: s.Seed, Acts: s.Acts, Ask: true}
	if len(s.Decisions) > 0 {
		script.Choices = make([]uint32, s.Decisions[len(s.Decisions)-1].At+1)
		for _, d := range s.Decisions {
			script.Choices[d.At] = d.Choice
		}
	}
	return script
}

// Stale says why a list no longer means what it meant, "" if it does: the run was asked
// something else. Only the first so many decisions are looked at.
func (s *Saved) Stale(w *World, first int) string {
	for _, d := range s.Decisions {
		if d.At >= first {
			break
		}
		if d.At >= len(w.asked) {
			return fmt.Sprintf("decision %d was %q, and the run has %d", d.At, d.Site, len(w.asked))
		}
		if q := w.asked[d.At]; q.site != d.Site || q.n != d.Of {
			return fmt.Sprintf("decision %d was one of %d for %q, and is one of %d for %q", d.At, d.Of, d.Site, q.n, q.site)
		}
	}
	return ""
}

// String is the file's text.
func (s *Saved) String() string {
	var b strings.Builder
	head := func(key, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(&b, "%s %s\n", key, value)
		}
	}
	head("story", s.Story)
	head("defect", s.Defect)
	head("rule", s.Rule)
	head("note", s.Note)
	fmt.Fprintf(&b, "seed %d\n", s.Seed)
	head("acts", strconv.Itoa(s.Acts))
	if s.From != (Size{}) {
		head("from", s.From.String())
		head("to", s.To.String())
	}
	if len(s.Decisions) > 0 {
		b.WriteByte('\n')
	}
	for _, d := range s.Decisions {
		fmt.Fprintf(&b, "%d %d/%d %s\n", d.At, d.Choice, d.Of, d.Site)
	}
	return b.String()
}

// Load reads a file.
func Load(name string) (*Saved, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Saved{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if err := s.line(strings.TrimSpace(lines.Text())); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return s, lines.Err()
}

func (s *Saved) line(text string) (err error) {
	key, value, _ := strings.Cut(text, " ")
	size := func(z *Size) error {
		_, err := fmt.Sscanf(value, "%d decisions, %d nodes, %d executions, %d steps", &z.Decisions, &z.Nodes, &z.Executions, &z.Steps)
		return err
	}
	switch key {
	case "":
	case "story":
		s.Story = value
	case "defect":
		s.Defect = value
	case "rule":
		s.Rule = value
	case "note":
		s.Note = value
	case "seed":
		s.Seed, err = strconv.ParseUint(value, 10, 64)
	case "acts":
		s.Acts, err = strconv.Atoi(value)
	case "from":
		err = size(&s.From)
	case "to":
		err = size(&s.To)
	default:
		var d Decision
		answer, site, _ := strings.Cut(value, " ")
		if d.At, err = strconv.Atoi(key); err != nil {
			return fmt.Errorf("%q is no line of a script", text)
		}
		_, err = fmt.Sscanf(answer, "%d/%d", &d.Choice, &d.Of)
		d.Site = site
		if n := len(s.Decisions); err == nil && (d.Site == "" || d.Choice == 0 || int(d.Choice) >= d.Of || n > 0 && s.Decisions[n-1].At >= d.At) {
			err = fmt.Errorf("%q is no decision at its place", text)
		}
		s.Decisions = append(s.Decisions, d)
	}
	return err
}
