package store

import "fmt"

// Decorator changes what a store does, part by part. An observer starts from a
// copy of what it is given and replaces the fields it watches, so that a part it
// does not know passes through. A guard starts from an empty Store and lists
// what it lets through, so that a part it does not know is withheld; it says so
// with [Store.Withhold].
//
// There is no way back from a decorated store to the one under it: whoever needs
// the backend keeps the value that opened it.
type Decorator struct {
	// Name of the decorator's package.
	Name string
	// Rank orders a stack: a decorator may only stand outside of those with a
	// lower rank, or of equal rank and another name.
	Rank Rank
	// Wrap decorates.
	Wrap func(Store) Store
}

// Rank is a decorator's place in a stack, from the backend outwards.
type Rank int

// Ranks, innermost first. The reason for each step stands beside it.
const (
	RankFault    Rank = iota // breaks what the backend does; everything else must cope
	RankCoalesce             // one flush is one transaction of one backend
	RankShard                // routes whole requests; above coalescing, or a flush would span shards
	RankReplica              // lagging reads; strong reads pass it
	RankAudit                // chains what is stored
	RankOffload              // moves large payloads out, after they are sealed
	RankEncrypt              // seals payloads, before they leave
	RankTenant               // one tenant's ids, over all of the above
	RankProfile              // measures what the caller sees
)

// StackError reports an order of decorators that would break a promise.
type StackError struct{ Inner, Outer string }

func (e *StackError) Error() string {
	return fmt.Sprintf("store: decorator %s may not stand outside of %s", e.Outer, e.Inner)
}

// Stack returns s decorated, the first decorator innermost. The error is a
// [*StackError], and nothing else.
func Stack(s Store, ds ...Decorator) (Store, error) {
	for i := 1; i < len(ds); i++ {
		for j := range i {
			if ds[i].Rank < ds[j].Rank || ds[i].Name == ds[j].Name {
				return Store{}, &StackError{Inner: ds[j].Name, Outer: ds[i].Name}
			}
		}
	}
	for _, d := range ds {
		s = d.Wrap(s)
	}
	return s, nil
}
