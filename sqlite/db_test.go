//go:build unix

package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/loomwork/loom/store"
)

func TestOneExecution(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	if _, err := db.Renew(ctx, "node-a", time.Minute, []string{"flow"}); err != nil {
		t.Fatal(err)
	}
	req := startOf("order-1")
	req.Index.Labels = map[string]string{"tenant": "acme", "kind": "x"}
	first := commit(t, db, req)
	if first.Tip.Anchor != "1" || first.Tip.Fence != 0 || first.Tip.Head != 0 {
		t.Fatalf("tip after the start: %+v", first.Tip)
	}
	again := commit(t, db, req)
	if !again.Again || again.Tip != first.Tip {
		t.Fatalf("the same start again: %+v", again)
	}
	heads, _, _, err := db.Runnable(ctx, store.Demand{Flows: []store.FlowVersion{{Flow: "flow"}}, Limit: 10})
	if err != nil || len(heads) != 1 || heads[0].Index.Labels["tenant"] != "acme" {
		t.Fatalf("runnable: %+v, %v", heads, err)
	}
	claim := next("order-1", first.Tip, "")
	claim.Claim = &store.Claim{Owner: "node-a", When: store.Unowned}
	got := commit(t, db, claim)
	if got.Tip.Fence != 1 || got.Owner != "node-a" {
		t.Fatalf("claim: %+v", got)
	}
	if r, err := db.Post(ctx, "order-1", store.Message{ID: "m", Name: "go", Body: []byte("x")}); err != nil || r.N != 1 || r.Owner != "node-a" {
		t.Fatalf("post: %+v, %v", r, err)
	}
	if mine, err := db.Owned(ctx, "node-a", true); err != nil || len(mine) != 1 {
		t.Fatalf("owned with mail: %+v, %v", mine, err)
	}
	if ms, mail, err := db.Pending(ctx, "order-1", 0, 10); err != nil || mail != 1 || len(ms) != 1 {
		t.Fatalf("pending: %+v %d %v", ms, mail, err)
	}
	end := next("order-1", got.Tip, "node-a")
	end.State, end.Seen, end.Consume = store.StateCompleted, 1, []int64{1}
	commit(t, db, end)
	if evs := log(t, db, "order-1"); len(evs) != 3 || evs[2].Sequence != 2 {
		t.Fatalf("log: %+v", evs)
	}
	list, more, err := db.List(ctx, store.Query{Labels: map[string]string{"tenant": "acme", "kind": "x"}, Flow: "flow", Prefix: "ord"})
	if err != nil || more != "" || len(list) != 1 || list[0].State != store.StateCompleted {
		t.Fatalf("list: %+v %q %v", list, more, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
