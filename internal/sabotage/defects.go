package sabotage

// Defect is a planted defect: what it breaks, and where.
type Defect struct {
	Name  string
	Where string // file that asks
	What  string // what the code does when it is on
}

// defects is the list. It only grows: each real defect that a test found later
// adds the line that brings it back.
var defects = []Defect{
	{"mark-ignored", "store/judge.go", "a request that is sent again is judged as a new one"},
	{"birth-ignored", "store/judge.go", "a start that was claimed since does not know its own execution"},
	{"mark-unchecked", "store/judge.go", "a tip is compared without its mark"},
	{"anchor-dropped", "store/judge.go", "another incarnation of the id takes the commit"},
	{"fence-at-least", "store/judge.go", "a token above the current one is good enough"},
	{"fence-dropped", "store/judge.go", "tokens are not compared"},
	{"owner-dropped", "store/judge.go", "As is not compared with the owner"},
	{"claim-of-the-living", "store/judge.go", "a Lapsed claim does not ask for the owner's lease"},
	{"claim-without-lease", "store/judge.go", "a node without a lease may claim"},
	{"claim-keeps-token", "store/judge.go", "a claim does not move the token"},
	{"park-ignores-mail", "store/judge.go", "a release over unseen mail sleeps"},
	{"end-ignores-mail", "store/judge.go", "an end is not refused over unseen mail"},
	{"post-wakes-nobody", "store/judge.go", "a message leaves the wake-up of a parked execution as it is"},
}

// Defects returns the list. The caller owns it.
func Defects() []Defect { return append([]Defect(nil), defects...) }
