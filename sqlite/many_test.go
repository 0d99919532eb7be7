//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// commitsEnv is how many commits each process makes; claim H-15 asks for 2000, and a tenth
// of that is what a test run has the time for.
const commitsEnv = "LOOM_SQLITE_COMMITS"

// claim H-15, case 63: many processes write one file, some are killed. Nothing
// that was acknowledged is missing, nothing is there twice, no token was given
// twice, no process failed, and the file is sound.
func TestManyProcesses(t *testing.T) {
	each := 200
	if n, err := strconv.Atoi(os.Getenv(commitsEnv)); err == nil && n > 0 {
		each = n
	}
	m := &many{t: t, db: open(t), procs: 8, each: each, kills: 6}
	if testing.Short() {
		m.procs, m.each, m.kills = 4, 60, 2
	}
	m.run()
	for _, what := range m.found() {
		t.Error(what)
	}
	t.Logf("%d processes, %d at once, of %d commits each, %d killed: %d acknowledged, %d stored, %d tokens; %s=2000 is the whole",
		m.begun, m.procs, m.each, m.killed, len(m.acks), m.stored, len(m.tokens), commitsEnv)
	t.Logf("tally: commits=%d", len(m.acks))
}

// claim H-15 (c): the same with a planted defect, transactions that begin without the
// write lock and ask for it at their first write. It must be found: such a transaction
// fails as soon as somebody else has committed since it read.
func TestManyProcessesFindADeferredWriter(t *testing.T) {
	for range 20 { // the first time, as a rule
		m := &many{t: t, db: open(t), procs: 4, each: 100, deferred: true}
		m.run()
		if found := m.found(); len(found) > 0 {
			t.Logf("found: %s, and %d more", found[0], len(found)-1)
			return
		}
	}
	t.Fatal("nobody noticed")
}

// many is a number of processes that write one file.
type many struct {
	t                  *testing.T
	db                 *DB
	procs, each, kills int
	deferred           bool

	begun, ended, killed int
	stored               int
	acks                 map[string]bool // "id sequence text"
	tokens               map[string]bool
	bad                  []string
}

// shared is how many executions they write.
const shared = 12

// note takes a line of a process.
func (m *many) note(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "event":
		m.acks[rest] = true
	case "token":
		if m.tokens[rest] {
			m.bad = append(m.bad, "given twice: token "+rest)
		}
		m.tokens[rest] = true
	case "end":
		m.ended++
	default:
		m.bad = append(m.bad, "a process says: "+line)
	}
}

// run starts the processes, kills some, and waits for the rest.
func (m *many) run() {
	m.acks, m.tokens = map[string]bool{}, map[string]bool{}
	for i := range shared {
		commit(m.t, m.db, startOf(execution(i)))
	}
	all := make(chan string, 1024)
	ends := make(chan int)
	cs := map[int]*child{}
	begin := func() {
		i := m.begun
		m.begun++
		c := spawn(m.t, "commit", m.db.Path(), strconv.Itoa(i), strconv.Itoa(m.each), strconv.Itoa(shared), strconv.FormatBool(m.deferred))
		cs[i] = c
		go func() {
			for line := range c.lines {
				all <- line
			}
			ends <- i
		}()
	}
	for range m.procs {
		begin()
	}
	for heard, running := 0, m.procs; running > 0; {
		select {
		case line := <-all:
			m.note(line)
			if heard++; heard%(m.each/2) == 0 && m.killed < m.kills {
				for i, c := range cs { // any
					c.kill(m.t)
					delete(cs, i)
					break
				}
				m.killed++
				begin()
				running++
			}
		case i := <-ends:
			running--
			delete(cs, i)
		}
	}
	for len(all) > 0 {
		m.note(<-all)
	}
}

// found returns what is wrong with what they said and with what is in the file.
func (m *many) found() (bad []string) {
	bad = m.bad
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if whole := m.begun - m.killed; m.ended < whole { // one that was killed may have ended before
		say("%d processes came to their end, of %d that were not killed", m.ended, whole)
	}
	if m.kills > 0 && m.killed < m.kills {
		say("only %d processes were killed", m.killed)
	}
	if least := (m.begun - m.killed) * m.each; len(m.acks) < least {
		say("only %d commits were acknowledged, of %d", len(m.acks), least)
	}
	if got, err := text(m.db.writer.conn, "PRAGMA integrity_check"); err != nil || got != "ok" {
		say("integrity: %s, %v", got, err)
	}
	stored := map[string]bool{}
	texts := map[string]bool{}
	for i := range shared {
		for seq, e := range log(m.t, m.db, execution(i)) {
			if e.Sequence != event.Seq(seq) {
				say("a gap before %s", e.ID())
			}
			if seq == 0 {
				continue
			}
			if texts[string(e.Payload)] {
				say("%s is there twice", e.Payload)
			}
			texts[string(e.Payload)] = true
			stored[fmt.Sprintf("%s %d %s", e.Execution, e.Sequence, e.Payload)] = true
		}
	}
	for ack := range m.acks {
		if !stored[ack] {
			say("acknowledged and lost: %s", ack)
		}
	}
	m.stored = len(stored)
	agree(m.t, m.db)
	return bad
}

// childCommit appends args[2] events to executions that others append to as well
// and prints each that was acknowledged, and "end" at the end. Every fifth commit takes a
// token.
func childCommit(args []string, _ *bufio.Scanner) error {
	ctx := context.Background()
	deferred := func(o *options) { o.deferred = args[4] == "true" }
	db, err := OpenDB(ctx, args[0], deferred)
	if err != nil {
		return err
	}
	defer db.Close()
	each, _ := strconv.Atoi(args[2])
	shared, _ := strconv.Atoi(args[3])
	for n := range each {
		id := execution(rand.IntN(shared))
		for {
			tip, err := db.Tip(ctx, id)
			if err != nil {
				return err
			}
			e := ev(id, tip.Head+1, fmt.Sprintf("%s.%d", args[1], n))
			req := store.Request{Execution: id, Expect: tip, Events: []event.Envelope{e}}
			copy(req.Nonce[:], fmt.Sprintf("%s.%d", args[1], n))
			if n%5 == 0 {
				req.Claim = &store.Claim{When: store.Unowned}
			}
			res, err := db.Commit(ctx, req)
			if err != nil {
				return err
			}
			if err := res[0].Err; err != nil {
				fmt.Println("failed", err)
				return nil
			}
			if res[0].Outcome == store.Committed {
				fmt.Printf("event %s %d %s\n", id, e.Sequence, e.Payload)
				if req.Claim != nil {
					fmt.Printf("token %s %d\n", id, res[0].Tip.Fence)
				}
				break
			}
			if res[0].Refusal != store.RefusedHead && res[0].Refusal != store.RefusedFence {
				return fmt.Errorf("%v", res[0].Refusal)
			}
		}
	}
	fmt.Println("end")
	return nil
}
