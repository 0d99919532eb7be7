package main

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/loomtest"
)

var update = flag.Bool("update", false, "save new logs")

// Logs come from production too: loom log ID --export testdata/ID.log
func TestTheCodeFitsTheLogsThatThereAre(t *testing.T) {
	if *update {
		save(t)
	}
	done := loomtest.ReplayFile(t, filepath.Join("testdata", "finished.log"), Rollout)
	taken := loomtest.ReplayFile(t, filepath.Join("testdata", "taken-back.log"), Rollout)
	open := loomtest.ReplayFile(t, filepath.Join("testdata", "second-stage.log"), Rollout)
	if done.Status != fold.Completed || taken.Status != fold.Failed || open.Status != fold.Running {
		t.Error(done, taken, open)
	}
}

// save makes the logs, in virtual time.
func save(t *testing.T) {
	for id, after := range map[string]time.Duration{"finished": 96 * time.Hour, "taken-back": 96 * time.Hour, "second-stage": 36 * time.Hour} {
		loomtest.Run(t, func(e *loomtest.Env) {
			if id == "taken-back" {
				e.Step("check").Returns(Health{}, Health{Errors: 11})
			}
			rt := e.Open(loom.Flows(Rollout))
			if _, err := Rollout.Start(e.Context(), rt, Release{"v2", []int{1, 10, 100}}, loom.ID(id)); err != nil {
				t.Fatal(err)
			}
			e.Sleep(after)
			loomtest.Save(t, rt, id, filepath.Join("testdata", id+".log"))
		})
	}
}
