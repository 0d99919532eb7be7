package floors

import (
	"bufio"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEveryPackageStandsOnItsFloor(t *testing.T) { clean(t, importFloors(here(t))) }

func TestRootModuleRequiresUlidAlone(t *testing.T) { clean(t, rootRequires(here(t))) }

// importFloors checks what is imported outside of tests against the house. As
// every package has a floor and imports only go down, what holds for direct
// imports holds for indirect ones.
func importFloors(c *checkout) (problems []string) {
	for _, p := range c.packages {
		row := floorOf(p.name())
		if row == nil {
			problems = append(problems, fmt.Sprintf("%s: package %s has no row in the table of floors", p.dir, p.name()))
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, spec := range f.ast.Imports {
				target, ours := ourPackage(spec.Path.Value)
				if !ours {
					continue
				}
				if why := row.refuses(target); why != "" {
					problems = append(problems, fmt.Sprintf("%s: %s may not import %s: %s", c.at(spec.Pos()), p.name(), target, why))
				}
			}
		}
	}
	return problems
}

// refuses says why a package of this row may not import target, "" if it may.
func (r *floor) refuses(target string) string {
	to := floorOf(target)
	switch {
	case to == r:
		return "" // one tree
	case to == nil:
		return "it has no row in the table of floors"
	case r.only != nil && !slices.ContainsFunc(r.only, func(o string) bool { return within(target, o) }):
		return fmt.Sprintf("of Loom it imports %v alone", r.only)
	case to.level < r.level:
		return ""
	case to.level == r.level && slices.Contains(r.beside, to.name):
		return ""
	}
	return fmt.Sprintf("floor %d does not stand below floor %d", to.level, r.level)
}

// ourPackage returns the table's name of an import of Loom.
func ourPackage(quoted string) (name string, ours bool) {
	p, _ := strconv.Unquote(quoted)
	if p == modulePath {
		return "loom", true
	}
	return strings.CutPrefix(p, modulePath+"/")
}

const ulid = "github.com/oklog/ulid/v2"

// rootRequires checks that the root module needs ulid and nothing else, by its
// go.mod and by every import in it, tests included.
func rootRequires(c *checkout) (problems []string) {
	mod, err := fs.ReadFile(c.fsys, "go.mod")
	if err != nil {
		return []string{err.Error()}
	}
	for _, line := range directives(string(mod)) {
		word := strings.Fields(line)
		switch word[0] {
		case "module", "go", "toolchain", "retract":
		case "require":
			if word[1] != ulid {
				problems = append(problems, "go.mod: the root module may not require "+word[1])
			}
		default:
			problems = append(problems, "go.mod: the root module may not have the line: "+line)
		}
	}
	for _, p := range c.packages {
		if c.moduleOf(p.dir) != "." {
			continue
		}
		for _, f := range p.files {
			for _, spec := range f.ast.Imports {
				target, _ := strconv.Unquote(spec.Path.Value)
				first, _, _ := strings.Cut(target, "/")
				if _, ours := ourPackage(spec.Path.Value); ours {
					if dir := strings.TrimPrefix(strings.TrimPrefix(target, modulePath), "/"); c.moduleOf(dir) != "." {
						problems = append(problems, fmt.Sprintf("%s: the root module may not import its leaf %s", c.at(spec.Pos()), dir))
					}
				} else if strings.Contains(first, ".") && target != ulid {
					problems = append(problems, fmt.Sprintf("%s: the root module may not import %s", c.at(spec.Pos()), target))
				}
			}
		}
	}
	return problems
}

// directives returns the lines of a go.mod with each block's word put before
// its lines, without comments.
func directives(text string) (lines []string) {
	block := ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "//")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line == ")":
			block = ""
		case strings.HasSuffix(line, "("):
			block = strings.TrimSpace(strings.TrimSuffix(line, "(")) + " "
		default:
			lines = append(lines, block+line)
		}
	}
	return lines
}

// moduleOf returns the directory of the module that dir belongs to.
func (c *checkout) moduleOf(dir string) string {
	for d := path.Clean(dir); d != "."; d = path.Dir(d) {
		if slices.Contains(c.modules, d) {
			return d
		}
	}
	return "."
}

func TestImportFloorsCanFail(t *testing.T) {
	imports := func(paths ...string) string {
		text := "package p\n"
		for _, p := range paths {
			text += "import _ \"" + modulePath + "/" + p + "\"\n"
		}
		return text
	}
	found(t, importFloors(madeUp(t,
		"event/a.go", imports("fold"),
		"internal/kernel/a.go", imports("event", "store", "store/memstore"),
		"internal/kernel/a_test.go", imports("store/memstore"),
		"nowhere/a.go", imports("event"),
		"schedule/a.go", imports("nowhere", "decide"),
		"sqlite/a.go", imports("event", "store", "sqlite/internal/wal", "fold"),
		"store/audit/a.go", imports("store", "store/tenant"),
		"store/storetest/a.go", imports("store/storetest/seedapi", "internal/rt"),
		"decide/a.go", "package decide\nimport _ \""+modulePath+"\"\n",
		"a.go", imports("decide"),
	)),
		"loom may not import decide",
		"a.go:2: event may not import fold: floor 1",
		"internal/kernel may not import store/memstore: of Loom it imports",
		"nowhere has no row",
		"schedule may not import nowhere: it has no row",
		"sqlite/a.go:5: sqlite may not import fold",
		"store/audit may not import store/tenant: floor 2",
		"store/storetest may not import internal/rt",
	)
}

func TestRootRequiresCanFail(t *testing.T) {
	found(t, rootRequires(madeUp(t,
		"go.mod", "module "+modulePath+"\ngo 1.26\nrequire (\n\t"+ulid+" v2.1.1\n\texample.com/pretty v1.0.0 // indirect\n)\ntool example.com/lint\n",
		"a_test.go", "package loom\nimport _ \"example.com/pretty\"\nimport _ \""+ulid+"\"\nimport _ \"math\"\n",
		"b_test.go", "package loom\nimport _ \""+modulePath+"/sqlite/inner\"\n",
		"sqlite/go.mod", "module "+modulePath+"/sqlite\nrequire example.com/engine v1.0.0\n",
		"sqlite/a.go", "package sqlite\nimport _ \"example.com/engine\"\n",
	)),
		"may not require example.com/pretty",
		"tool example.com/lint",
		"a_test.go:2: the root module may not import example.com/pretty",
		"b_test.go:2: the root module may not import its leaf sqlite/inner",
	)
}
