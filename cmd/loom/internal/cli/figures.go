package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/demo"
	"github.com/loomwork/loom/cmd/loom/internal/screen"
)

// printFigures shows what a demo found; call is how people call this program.
func printFigures(s *screen.Screen, f *demo.Figures, call string) {
	row := func(what, format string, args ...any) {
		s.Printf("  %-17s %s\n", what, fmt.Sprintf(format, args...))
	}
	s.Printf("%s\n\n", s.Strong("Audit of "+demo.Name(f.Root).Text()))
	row("execution", "%s", f.Execution)
	row("files", "%s, %s, %s lines", count(int64(f.Files)), bytesText(f.Bytes), count(f.Summary.Lines))
	if l := languagesText(f.Summary.Languages); l != "" {
		row("languages", "%s", l)
	}
	if f.Summary.Unreadable+f.Summary.NotOpened > 0 {
		row("left alone", "%d unreadable, %d links, pipes or devices", f.Summary.Unreadable, f.Summary.NotOpened)
	}
	s.Printf("\n")
	if f.Found {
		row("was finished", "nothing was done again; these are the figures of the audit")
	}
	row("worker killed", "%s", killsText(f))
	row("effects called", "%s, at most %d at once", count(int64(f.Effects)), f.InFlight)
	row("effects repeated", "%s; at most %s can be: %d kills × %d in flight", count(int64(f.Repeated)),
		count(int64(f.Kills*f.InFlightLimit)), f.Kills, f.InFlightLimit)
	row("results lost", "%d", f.Lost)
	if f.DuplicateRefused {
		row("second start", "refused: no body ran, no effect was called, nothing was written")
	} else {
		row("second start", "NOT refused: %s", s.Text(f.Refusal))
	}
	if !f.Found {
		row("took", "%s", screen.Span(f.Took.Round(time.Millisecond)))
	}
	store := quote("sqlite:" + shorter(f.DB))
	s.Printf("\nThe log of %s events is in %s. Look at it:\n", count(f.Events), demo.Name(shorter(f.DB)).Text())
	s.Printf("  %s show %s --store %s\n", call, f.Execution, store)
	s.Printf("  %s log %s --store %s\n", call, f.Execution, store)
	s.Printf("Report: %s\nLedger: %s\n", demo.Name(shorter(f.Report)).Text(), demo.Name(shorter(f.Ledger)).Text())
	s.Printf("Start it again, and nothing is done twice:\n  %s demo --dir %s --db %s --id %s\n", call,
		quote(shorter(f.Root)), quote(shorter(f.DB)), f.Execution)
}

// killsText says how often the worker ended before its work.
func killsText(f *demo.Figures) string {
	text := fmt.Sprintf("%d times with SIGKILL", f.Kills)
	if !f.Found && f.Kills != f.Killed { // the rest was in an earlier call that did not get to the end
		text = fmt.Sprintf("%d times with SIGKILL, and %d times in earlier calls of this demo", f.Killed, f.Kills-f.Killed)
	}
	if !f.Found && f.Killed < f.Asked {
		text += fmt.Sprintf(" (%d asked for: the work ended before)", f.Asked)
	}
	return text
}

// shorter returns a path relative to the working directory if that is below it.
func shorter(path string) string {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return rel
	}
	return path
}

func languagesText(ls []demo.Language) string {
	const most = 6
	var parts []string
	rest := 0
	for i, l := range ls {
		if i < most {
			parts = append(parts, fmt.Sprintf("%s %s", l.Name, count(int64(l.Files))))
		} else {
			rest += l.Files
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%s in %d others", count(int64(rest)), len(ls)-most))
	}
	return strings.Join(parts, " · ")
}

// count returns a number with its thousands apart.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText returns a size for people.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if v /= 1000; v < 1000 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
