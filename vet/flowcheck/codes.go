package flowcheck

// A Code names a kind of finding. Codes are stable: scripts may match them.
type Code string

// The codes.
const (
	Clock     Code = "clock"     // reads the clock, or waits by it
	Random    Code = "random"    // draws from a source that the log does not know
	Env       Code = "env"       // asks the process or the machine about itself
	Network   Code = "network"   // talks to the network or to a database
	Files     Code = "files"     // touches files or standard input
	Process   Code = "process"   // starts, signals or ends a process
	Goroutine Code = "goroutine" // starts a goroutine
	Select    Code = "select"    // a select statement
	Channel   Code = "channel"   // sends, receives, closes or makes a channel
	Lock      Code = "lock"      // blocks on a lock or a group, or runs a once
	MapOrder  Code = "maporder"  // the order of a map decides the order of verbs
	Global    Code = "global"    // writes a variable of a package
	Name      Code = "name"      // the name of a step is not a constant
	SameName  Code = "samename"  // two call sites of one function give steps the same name
	EffectCtx Code = "effectctx" // an effect uses the loom.Context of the flow
	BranchCtx Code = "branchctx" // a branch uses the loom.Context of another branch
	Allow     Code = "allow"     // a loom:allow comment without a reason or a finding
)

// Codes returns all codes, in the order in which they are documented. The caller owns
// the slice.
func Codes() []Code {
	return []Code{Clock, Random, Env, Network, Files, Process, Goroutine, Select, Channel, Lock, MapOrder,
		Global, Name, SameName, EffectCtx, BranchCtx, Allow}
}

// does says what a function does that has a finding of the code.
func (c Code) does() string {
	switch c {
	case Clock:
		return "goes by the wall clock"
	case Random:
		return "is random"
	case Env:
		return "depends on the process and its machine"
	case Network:
		return "uses the network"
	case Files:
		return "uses files"
	case Process:
		return "controls a process"
	case Goroutine:
		return "starts a goroutine that Loom does not know"
	case Select:
		return "takes what happens to be ready"
	case Channel:
		return "uses a channel, which no replay can repeat"
	case Lock:
		return "may block where no verb waits"
	case Global:
		return "outlives the execution"
	}
	return "is not deterministic"
}

// instead says what to use instead, in general; the table of the standard library is
// more precise.
func (c Code) instead() string {
	switch c {
	case Clock:
		return "use loom.Now, or loom.Sleep to wait"
	case Random:
		return "use loom.Rand or loom.NewID"
	case Env, Network, Files, Process:
		return "do it in an effect, loom.Do"
	case Goroutine:
		return "use loom.Go, or an effect"
	case Select:
		return "use loom.First over branches"
	case Channel:
		return "use the loom.Future of a branch, or loom.Await"
	case Lock:
		return "branches run one at a time and need no locks"
	case Global:
		return "keep it in the body, or write it in an effect"
	}
	return "do it in an effect, loom.Do"
}
