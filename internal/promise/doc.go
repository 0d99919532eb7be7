// Package promise holds what docs/spec says Loom promises against the tests
// that show it.
//
// A test names what it shows, in its name, in a comment or in the name of a
// subtest, in one of these forms:
//
//	claim B-14, B-15 and A-03
//	case 33, 33a
//	race 14
//	oracle O5, O6
//
// [Scan] finds these names in the tests of all modules, in the conformance kit,
// in the simulator and in their testdata. A [Page] is a table of promises whose
// last column, "shown by", is written from what Scan found; everything else in
// it is written by hand. [Problems] says where the two disagree.
//
//	go run ./internal/tally promises          # compare
//	go run ./internal/tally promises -write   # write the last column
package promise
