package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loomwork/loom/cmd/loom/internal/fault"
	"github.com/loomwork/loom/vet/flowcheck"
	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// vetted is the data of "vet --json".
type vetted struct {
	Packages []string     `json:"packages"` // as they were asked for
	Findings []vetFinding `json:"findings"`
}

// vetFinding is one finding. File is below the working directory where it can be.
type vetFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (a *app) vet() *cobra.Command {
	var tests bool
	c := &cobra.Command{
		Use:   "vet [PACKAGE…]",
		Short: "find what makes flows nondeterministic",
		Long: `vet reads Go packages, ./... if none is named, and reports what flows must not do outside
of effects: clocks, randomness, I/O, goroutines, channels, map order and the like. Each
finding is a line, FILE:LINE:COLUMN: message (loom:CODE), and exits with 7.

A comment //loom:allow REASON at the end of a line or above it silences one finding.
The codes are explained in the README of github.com/loomwork/loom/vet.

It runs the go command, which has to be there.`,
		RunE: verb("loom vet --help", func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"./..."}
			}
			findings, err := a.findings(c, args, tests)
			if err != nil {
				return err
			}
			if a.flags.json {
				if err := a.screen.Emit("vet", vetted{Packages: args, Findings: findings}); err != nil {
					return err
				}
			} else {
				for _, f := range findings {
					a.screen.Printf("%s:%d:%d: %s\n", a.screen.Cell(f.File), f.Line, f.Column, a.screen.Cell(f.Message))
				}
			}
			if len(findings) > 0 {
				return fault.New(fault.Problem, "check_failed", fmt.Sprintf("%d findings", len(findings)), "")
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&tests, "tests", false, "look at flows in test files, too")
	return c
}

// isVetTool reports whether the go command calls this program to check one package, as
// vet has asked it to.
func isVetTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return last == "-V=full" || last == "-flags" || strings.HasPrefix(args[0], "-") && strings.HasSuffix(last, ".cfg") ||
		len(args) == 1 && strings.HasSuffix(last, ".cfg")
}

// vetTool checks one package for the go command, and ends the process.
func vetTool() { unitchecker.Main(flowcheck.Analyzer) }

// findings has the go command call this program for each package, and returns what was
// found, in the order of the files.
func (a *app) findings(c *cobra.Command, packages []string, tests bool) ([]vetFinding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"vet", "-json", "-vettool=" + self}
	if tests {
		args = append(args, "-flowcheck.testfiles")
	}
	cmd := exec.CommandContext(c.Context(), "go", append(append(args, "--"), packages...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case c.Context().Err() != nil:
		return nil, c.Context().Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, fault.New(fault.Unexpected, "no_go", "the go command is not there, and vet needs it", "")
	case err != nil:
		fmt.Fprintln(a.screen.Err, strings.TrimSpace(a.screen.Text(errs.String())))
		return nil, fault.New(fault.Unexpected, "not_checked", "the go command could not check these packages", "go build "+strings.Join(packages, " "))
	}
	return readFindings(&out)
}

// readFindings reads what "go vet -json" prints: one object a package.
func readFindings(r io.Reader) ([]vetFinding, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	findings := []vetFinding{}
	for dec := json.NewDecoder(r); ; {
		var packages map[string]map[string]json.RawMessage
		if err := dec.Decode(&packages); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("what go vet printed cannot be read: %w", err)
		}
		for pkg, analyses := range packages {
			for _, raw := range analyses {
				var diagnostics []struct{ Category, Posn, Message string }
				if err := json.Unmarshal(raw, &diagnostics); err != nil {
					return nil, fmt.Errorf("package %s was not checked: %s", pkg, raw)
				}
				for _, d := range diagnostics {
					f := vetFinding{Code: d.Category, Message: d.Message}
					f.File, f.Line, f.Column = located(d.Posn)
					if rel, err := filepath.Rel(here, f.File); err == nil && filepath.IsLocal(rel) {
						f.File = rel
					}
					findings = append(findings, f)
				}
			}
		}
	}
	slices.SortFunc(findings, func(a, b vetFinding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	// A package and its tests are two to the go command, and share files.
	return slices.Compact(findings), nil
}

// located splits FILE:LINE:COLUMN.
func located(at string) (file string, line, column int) {
	numbers := [2]int{}
	for i := range numbers {
		cut := strings.LastIndexByte(at, ':')
		if cut < 0 {
			break
		}
		n, err := strconv.Atoi(at[cut+1:])
		if err != nil {
			break
		}
		at, numbers[1-i] = at[:cut], n
	}
	return at, numbers[0], numbers[1]
}
