// Package seedapi gives tests the operations of the older system that Loom
// grew out of: append, append a batch, append if unchanged, acquire a fence, read
// a range, load a tip, delete. Each is a thin function over store.Log.Commit.
//
// Nouns: a [Log] is a store seen through those operations, a [Tip] is what its
// conditional append compares, and a [Verdict] is what that append answers.
//
// They exist so that what was promised of them can still be tried, and for
// nothing else. Their weakness is the reason for Commit: a token was taken in
// one step and used in another, and a writer that presented none was let in.
// Whoever writes through a Log passes for the owner of the execution, so no code
// but a test may import this package, and internal/floors sees to it.
//
// [Run] tries the promises that are about these operations on any store.
package seedapi
