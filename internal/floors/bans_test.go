package floors

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"testing"
)

// pure are the packages in which one input gives one output: no clock, no
// randomness, no goroutine, no channel.
var pure = []string{"event", "fold", "store", "internal/kernel"}

// unlocked are those of them that have neither locks nor I/O.
var unlocked = []string{"event", "fold", "internal/kernel"}

// shell are the packages that run in the simulator: time, randomness and
// goroutines come to them from internal/rt.
var shell = append([]string{"loom", "decide", "lifecycle", "readmodel", "schedule", "dispatch"}, decorators...)

// What a name of a package does, for the names that are not allowed everywhere.
var (
	clockNames = map[string][]string{
		"time":    {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"},
		"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
		ulid:      {"Now", "Make"},
	}
	// globalRandom draws from a source that no seed decides. A generator made
	// from a recorded seed (rand.New) is no such thing.
	globalRandom = map[string][]string{
		"math/rand": {"Int", "Intn", "Int31", "Int31n", "Int63", "Int63n", "Uint32", "Uint64", "Float32", "Float64",
			"ExpFloat64", "NormFloat64", "Perm", "Read", "Seed", "Shuffle"},
		"math/rand/v2": {"Int", "IntN", "Int32", "Int32N", "Int64", "Int64N", "N", "Uint", "UintN", "Uint32", "Uint32N",
			"Uint64", "Uint64N", "Float32", "Float64", "ExpFloat64", "NormFloat64", "Perm", "Shuffle"},
		"hash/maphash": {"MakeSeed", "String", "Bytes", "Comparable"},
		ulid:           {"DefaultEntropy"},
	}
	anyRandom = []string{"math/rand", "math/rand/v2", "crypto/rand", "hash/maphash"}
	locks     = []string{"sync", "sync/atomic"}
	inOut     = []string{"os", "os/exec", "os/signal", "io/fs", "net", "net/http", "syscall", "database/sql", "log", "log/slog", "embed", "plugin"}
)

func TestOnlyRtTouchesTheWorld(t *testing.T) { clean(t, banned(here(t))) }

func TestNoTestSleeps(t *testing.T) { clean(t, sleepingTests(here(t))) }

// banned checks what the deterministic packages do, outside of their tests.
func banned(c *checkout) (problems []string) {
	for _, p := range c.packages {
		isPure, isShell := slices.Contains(pure, p.name()), slices.Contains(shell, p.name())
		if !isPure && !isShell {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			add := func(pos token.Pos, what string) {
				problems = append(problems, fmt.Sprintf("%s: package %s may not use %s", c.at(pos), p.name(), what))
			}
			ban{add: add, names: imported(f)}.file(f, isPure, slices.Contains(unlocked, p.name()))
		}
	}
	return problems
}

// A ban looks through one file.
type ban struct {
	add   func(token.Pos, string)
	names map[string]string // local name of an import → its path
}

func (b ban) file(f *file, pure, unlocked bool) {
	for _, spec := range f.ast.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		switch {
		case spec.Name != nil && spec.Name.Name == ".":
			b.add(spec.Pos(), "a dot import, which hides what it uses")
		case target == "crypto/rand", pure && slices.Contains(anyRandom, target):
			b.add(spec.Pos(), "randomness: "+target)
		case unlocked && slices.Contains(locks, target):
			b.add(spec.Pos(), "locks: "+target)
		case unlocked && slices.Contains(inOut, target):
			b.add(spec.Pos(), "the outside world: "+target)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, name := b.selected(n); slices.Contains(clockNames[of], name) {
				b.add(n.Pos(), "the clock: "+path.Base(of)+"."+name)
			} else if slices.Contains(globalRandom[of], name) {
				b.add(n.Pos(), "randomness: "+path.Base(of)+"."+name)
			}
		case *ast.GoStmt:
			b.add(n.Pos(), "a go statement")
		case *ast.SelectStmt:
			b.add(n.Pos(), "select")
		case *ast.ChanType, *ast.SendStmt:
			if pure {
				b.add(n.Pos(), "a channel")
			}
		case *ast.UnaryExpr:
			if pure && n.Op == token.ARROW {
				b.add(n.Pos(), "a channel")
			}
		}
		return true
	})
}

// selected returns the import and the name that x stands for, "" if x is not a
// name of an imported package.
func (b ban) selected(x *ast.SelectorExpr) (of, name string) {
	if id, ok := x.X.(*ast.Ident); ok {
		return b.names[id.Name], x.Sel.Name
	}
	return "", ""
}

// imported returns what the local names of f's imports stand for.
func imported(f *file) map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		local := path.Base(target)
		if len(local) > 1 && local[0] == 'v' && local[1] >= '0' && local[1] <= '9' {
			local = path.Base(path.Dir(target)) // a major version
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = target
	}
	return names
}

// sleepingTests finds time.Sleep in the tests of all modules: a test waits for
// a signal or moves the clock.
func sleepingTests(c *checkout) (problems []string) {
	for _, p := range c.packages {
		for _, f := range p.files {
			if !f.test {
				continue
			}
			b := ban{names: imported(f)}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok {
					if of, name := b.selected(x); of == "time" && name == "Sleep" {
						problems = append(problems, c.at(n.Pos())+": a test may not sleep; wait for a signal or move the clock")
					}
				}
				return true
			})
		}
	}
	return problems
}

func TestBannedCanFail(t *testing.T) {
	found(t, banned(madeUp(t,
		"internal/kernel/a.go", `package kernel
import ("math/rand/v2"; "os"; "sync"; clock "time")
var _ = rand.N(3)
func f(c chan int) { clock.Sleep(1); go f(nil); select {}; c <- 1; <-c; var _ clock.Duration }
`,
		"store/a.go", `package store
import ("context"; "os"; "sync"; . "time")
func f() { context.WithTimeout(nil, 1) }
`,
		"a.go", `package loom
import ("crypto/rand"; rnd "math/rand/v2"; "os"; "sync"; "time"; "`+ulid+`")
var _, _ = rnd.New(rnd.NewPCG(1, 2)), rnd.IntN(3)
func f(c chan time.Time) { time.AfterFunc(1, nil); ulid.Make(); <-c }
`,
		"a_test.go", "package loom\nimport \"time\"\nfunc g() { go g(); time.Now() }\n",
		"internal/rt/a.go", "package rt\nimport \"time\"\nfunc g() { go g(); time.Now() }\n",
		"store/coalesce/a.go", "package coalesce\nfunc g() { go g() }\n",
	)),
		"a.go:2: package loom may not use randomness: crypto/rand",
		"a.go:3: package loom may not use randomness: v2.IntN",
		"the clock: time.AfterFunc",
		"the clock: v2.Make",
		"internal/kernel may not use randomness: math/rand/v2",
		"the outside world: os",
		"locks: sync",
		"internal/kernel may not use randomness: v2.N",
		"internal/kernel/a.go:4: package internal/kernel may not use a channel",
		"the clock: time.Sleep",
		"a go statement",
		"select",
		"a channel",
		"a channel",
		"a dot import",
		"the clock: context.WithTimeout",
		"store/coalesce may not use a go statement",
	)
}

func TestSleepingTestsCanFail(t *testing.T) {
	found(t, sleepingTests(madeUp(t,
		"sqlite/a_test.go", "package sqlite\nimport tm \"time\"\nfunc f() { tm.Sleep(1) }\n",
		"sqlite/a.go", "package sqlite\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
	)), "sqlite/a_test.go:3: a test may not sleep")
}
