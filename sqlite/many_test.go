//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/store"
)

// claim H-15, case 63: many processes write one file, some are killed. Nothing
// that was acknowledged is missing, nothing is there twice, no token was given
// twice, and the file is sound.
func TestManyProcesses(t *testing.T) {
	procs, each, kills := 8, 300, 6
	if testing.Short() {
		procs, each, kills = 4, 60, 2
	}
	db := open(t)
	const shared = 12
	for i := range shared {
		commit(t, db, startOf(execution(i)))
	}
	acks := map[string]bool{} // "id sequence text"
	tokens := map[string]bool{}
	note := func(line string) {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "event":
			acks[rest] = true
		case "token":
			if tokens[rest] {
				t.Errorf("the token %s was given twice", rest)
			}
			tokens[rest] = true
		default:
			t.Errorf("a child says %q", line)
		}
	}
	all := make(chan string, 1024)
	ends := make(chan int)
	cs := map[int]*child{}
	begin := func(i int) {
		c := spawn(t, "commit", db.Path(), strconv.Itoa(i), strconv.Itoa(each), strconv.Itoa(shared))
		cs[i] = c
		go func() {
			for line := range c.lines {
				all <- line
			}
			ends <- i
		}()
	}
	for i := range procs {
		begin(i)
	}
	next, heard, running := procs, 0, procs
	for running > 0 {
		select {
		case line := <-all:
			note(line)
			if heard++; heard%(each/2) == 0 && kills > 0 {
				kills--
				for i, c := range cs { // any
					c.kill(t)
					delete(cs, i)
					break
				}
				begin(next)
				next, running = next+1, running+1
			}
		case i := <-ends:
			running--
			delete(cs, i)
		}
	}
	for len(all) > 0 {
		note(<-all)
	}
	if len(acks) < procs*each/2 {
		t.Fatalf("only %d commits were acknowledged", len(acks))
	}
	if got, err := text(db.writer.conn, "PRAGMA integrity_check"); err != nil || got != "ok" {
		t.Fatalf("integrity: %s, %v", got, err)
	}
	stored := map[string]bool{}
	texts := map[string]bool{}
	for i := range shared {
		for seq, e := range log(t, db, execution(i)) {
			if e.Sequence != event.Seq(seq) {
				t.Fatalf("a gap before %s", e.ID())
			}
			if seq > 0 && texts[string(e.Payload)] {
				t.Fatalf("%s is there twice", e.Payload)
			}
			texts[string(e.Payload)] = true
			stored[fmt.Sprintf("%s %d %s", e.Execution, e.Sequence, e.Payload)] = true
		}
	}
	for ack := range acks {
		if !stored[ack] {
			t.Errorf("acknowledged and lost: %s", ack)
		}
	}
	agree(t, db)
	t.Logf("%d commits by %d processes acknowledged, %d stored, %d tokens", len(acks), next, len(stored)-shared, len(tokens))
}

// childCommit appends args[2] events to executions that others append to as well
// and prints each that was acknowledged. Every fifth commit takes a token.
func childCommit(args []string, _ *bufio.Scanner) error {
	ctx := context.Background()
	db, err := OpenDB(ctx, args[0])
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
			if res[0].Err != nil {
				return res[0].Err
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
	return nil
}
