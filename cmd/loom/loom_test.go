package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loomwork/loom/cmd/loom/internal/cli"
	"github.com/loomwork/loom/cmd/loom/loomcli"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the programs of the scripts, too: which one it is
// says the name it is called by.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"loom":   func() { os.Exit(cli.Main()) },
		"worker": worker,
		// What people build for their own flows, today's and a broken one.
		"shop":     func() { os.Exit(loomcli.Main(anyFlows()...)) },
		"bad-shop": func() { os.Exit(loomcli.Main(brokenGreet)) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"within": within,
		},
	})
}

// exits runs a program, as exec does, and wants an exit code: exits 3 loom show x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.String()[len("exit status "):]
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// within wants a text in a file: within FILE TEXT.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: within FILE TEXT")
	}
	if strings.Contains(ts.ReadFile(args[0]), args[1]) == neg {
		ts.Fatalf("%s: wanted %q to be there: %v", args[0], args[1], !neg)
	}
}

// program returns one of the programs as a command in a directory.
func program(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = name
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LOOM_STORE=", "DB=")
	return cmd
}

// do runs a program that must succeed and returns its standard output.
func do(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := program(t, dir, name, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out.String(), errs.String())
	}
	return out.String()
}
