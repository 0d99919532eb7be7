// Package sabotage plants defects. Code that can be broken in one line asks
//
//	if next.Seen < next.Mail && !sabotage.On("park-ignores-mail") {
//
// Without the build tag loomsabotage, [On] is constantly false and the compiler
// removes the question. With it, the environment variable LOOM_SABOTAGE (or
// [Set]) switches one defect on, and the tests must then fail: a defect that
// nothing finds is a hole in the tests.
package sabotage
