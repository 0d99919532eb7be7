package storetest

import (
	"slices"

	"github.com/loomwork/loom/store"
)

// Case is one rule of the SPI and what tries it.
type Case struct {
	// Name is "noun/behaviour".
	Name string
	// Quote is the rule, word for word from a doc comment of package store.
	Quote string
	// Level is the first level of the SPI that has the rule.
	Level store.Level
	// Parts are those that the case needs besides Log.
	Parts []store.Part

	run    func(*probe)
	reopen bool // needs Bench.Reopen
}

// Cases returns all cases, by file of the kit and then in reading order. The
// caller owns the slice.
func Cases() []Case {
	return slices.Concat(
		judgementCases(), startCases(), fateCases(), resendCases(), tokenCases(), claimCases(), releaseCases(), stateCases(),
		mailCases(), inboxCases(), runnableCases(), strikeCases(), ownedCases(), listCases(), leaserCases(), recordCases(),
		deleterCases(), publishCases(), incarnationCases(), readCases(), payloadCases(), raceCases(), processCases(), hintCases(), aboutCases(), mutationCases(),
	)
}

// at23 marks cases that came with SPI 2.3.0.
func at23(cs ...Case) []Case {
	for i := range cs {
		cs[i].Level = store.Level23
	}
	return cs
}

// needs gives cases the parts that they have in common.
func needs(parts []store.Part, cs ...Case) []Case {
	for i := range cs {
		cs[i].Parts = slices.Concat(parts, cs[i].Parts)
		if cs[i].Level == (store.Level{}) {
			cs[i].Level = store.Level22
		}
	}
	return cs
}

// Sets of parts that groups of cases need.
var (
	logOnly = []store.Part(nil)
	owning  = []store.Part{store.PartLeaser}
	indexed = []store.Part{store.PartLeaser, store.PartIndex}
	mailing = []store.Part{store.PartLeaser, store.PartIndex, store.PartInbox}
)
