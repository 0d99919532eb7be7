// Package storetest is the conformance kit of package store: ordinary code that
// tells whether a backend, or a backend under decorators, keeps the contract.
//
// Nouns: a [Case] is one rule and the code that tries it, a [Bench] is an empty
// store with a clock that the kit can move, an [Opener] makes one bench a case,
// and a [Claim] says which level of the SPI the store means to meet.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, open, storetest.Claim{SPI: "2.3.0"})
//	}
//
// Without a testing.T, [Check] returns what is wrong as an error and [Examine]
// returns the verdict on each case.
//
// A case quotes the sentence of package store that it stands for, and a failure
// repeats it. A case that the claim does not reach, or that needs a part which
// the store does not have, is skipped with the reason. After each case the whole
// store is walked: every log gapless from 0, every head row in agreement with
// its log. The kit knows parts and levels and no backend.
package storetest
