//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Tests that need another process start this test binary again, with the name of
// what it shall do in childEnv and its arguments after.
const childEnv = "LOOM_SQLITE_CHILD"

// children are what a child process can be told to do. They talk by lines.
var children = map[string]func(args []string, in *bufio.Scanner) error{
	"migrate": childMigrate,
	"commit":  childCommit,
	"start":   childStart,
	"node":    childNode,
	"open":    childOpen,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](os.Args[1:], bufio.NewScanner(os.Stdin)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a running child process.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	lines chan string // what it has printed; closed at its end
}

// spawn starts a child, which is killed with the test.
func spawn(t testing.TB, name string, args ...string) *child {
	t.Helper()
	c := command(name, args...)
	return c.run(t)
}

func command(name string, args ...string) *child {
	c := &child{Cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 1<<16)}
	c.Env = append(os.Environ(), childEnv+"="+name)
	c.Stderr = os.Stderr
	return c
}

func (c *child) run(t testing.TB) *child {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		s := bufio.NewReader(out)
		for {
			line, err := s.ReadString('\n')
			if err != nil {
				return // a line cut short by a kill says nothing
			}
			c.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_, _ = c.Process.Wait()
	})
	return c
}

// tell sends a line.
func (c *child) tell(t testing.TB, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// hear waits for a line.
func (c *child) hear(t testing.TB) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatal("the child process ended")
		}
		return line
	case <-time.After(time.Minute):
		t.Fatal("the child process says nothing")
	}
	return ""
}

// kill is kill -9, and waits until the process is gone.
func (c *child) kill(t testing.TB) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Process.Wait()
}

// ended waits for the process to end by itself.
func (c *child) ended(t testing.TB) {
	t.Helper()
	for range c.lines {
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until ok is true, looking often.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("never: " + what)
		}
	}
}

// childOpen opens args[0] and prints the error's code, or "ok".
func childOpen(args []string, _ *bufio.Scanner) error {
	db, err := OpenDB(context.Background(), args[0])
	if err != nil {
		code, _ := classify(err)
		fmt.Println(string(code))
		return nil
	}
	fmt.Println("ok")
	return db.Close()
}

// childStart starts the execution args[1] in the file args[0] and prints its
// anchor.
func childStart(args []string, _ *bufio.Scanner) error {
	db, err := OpenDB(context.Background(), args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	req := startOf(executionID(args[1]))
	copy(req.Nonce[:], "child "+args[1])
	res, err := db.Commit(context.Background(), req)
	if err != nil {
		return err
	}
	if res[0].Err != nil {
		return res[0].Err
	}
	fmt.Println(res[0].Tip.Anchor)
	return nil
}
