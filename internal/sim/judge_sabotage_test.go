//go:build loomsabotage

package sim

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/internal/sabotage"
	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/memstore"
	"github.com/loomwork/loom/store/storetest"
)

// TestJudgeDefectsAreFound switches on each defect that is planted in the judge
// and asks who finds it: the mail model, the crowd, the kit.
func TestJudgeDefectsAreFound(t *testing.T) {
	defer sabotage.Set("")
	for _, d := range sabotage.Defects() {
		if d.Where != "store/judge.go" {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			sabotage.Set(d.Name)
			by := finders()
			if len(by) == 0 {
				t.Fatalf("nothing finds it: %s", d.What)
			}
			t.Logf("found by %v", by)
			t.Log("tally: defects_found=1")
		})
	}
}

func finders() (by []string) {
	if v := (variant{}).explore(1); v.stuck+v.asleep+v.over+v.twice+v.lost > 0 {
		by = append(by, "model")
	}
	for seed := range uint64(20) {
		if _, err := runCrowd(seed); err != nil {
			by = append(by, "crowd")
			break
		}
	}
	err := storetest.Check(context.Background(), func(context.Context) (storetest.Bench, error) {
		var now atomic.Int64
		now.Store(1_700_000_000_000_000)
		db := memstore.New(&memstore.Options{Now: func() event.Time { return event.Time(now.Load()) }})
		return storetest.Bench{Store: store.Of(db), Advance: func(d time.Duration) { now.Add(int64(d / time.Microsecond)) }}, nil
	}, storetest.Claim{})
	if err != nil {
		by = append(by, "kit")
	}
	return by
}
