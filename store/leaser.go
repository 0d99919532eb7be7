package store

import (
	"context"
	"time"

	"github.com/loomwork/loom/event"
)

// Leaser keeps one lease a node. All of it is by the store's clock. A backend may know
// more of a node than its expiry, in both directions: that its process is gone before
// the lease is over, or that it still lives although a clock jumped. The verdict is one:
// [Lease.Alive], Lapsed claims and Runnable agree.
type Leaser interface {
	// Renew makes or renews node's lease for ttl from now. It MUST overtake
	// commits that wait in the backend's own queue. A node that let its lease run
	// out may renew it: what it lost by then is decided by the head rows. flows are
	// the texts of what the node knows, see [FlowVersion.String].
	Renew(ctx context.Context, node NodeID, ttl time.Duration, flows []string) (Lease, error)
	// Leave ends node's lease at once. Leaving twice is no error.
	Leave(ctx context.Context, node NodeID) error
	// Nodes returns all leases that are kept, alive or over, by node id.
	Nodes(ctx context.Context) ([]Lease, error)
}

// Lease is a node's right to own executions.
type Lease struct {
	Node    NodeID
	Flows   []string   // texts, see [FlowVersion.String]
	Started event.Time // first renewal
	Expires event.Time
	Now     event.Time // the store's clock as the lease was read
	// Alive is the store's verdict; a backend may know more than the expiry.
	Alive bool
}
