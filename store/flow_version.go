package store

import "cmp"

// FlowVersion names the code that an execution needs: a flow, in the version that it
// was started with.
type FlowVersion struct {
	Flow    string
	Version string // "" for a flow without versions
}

// String returns "flow", or "flow@version".
func (f FlowVersion) String() string {
	if f.Version == "" {
		return f.Flow
	}
	return f.Flow + "@" + f.Version
}

// Compare orders by flow, then by version.
func (f FlowVersion) Compare(o FlowVersion) int {
	return cmp.Or(cmp.Compare(f.Flow, o.Flow), cmp.Compare(f.Version, o.Version))
}

// Needs returns the code that an execution of the entry needs.
func (e IndexEntry) Needs() FlowVersion { return FlowVersion{e.Flow, e.Version} }
