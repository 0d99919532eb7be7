// Package flowcheck is a go/analysis pass that finds what makes a flow of Loom
// nondeterministic, or makes its log hard to read.
//
// A body is called again whenever its execution is resumed, and has to ask for the same
// verbs in the same order then. [Analyzer] looks at the code that runs as part of a body
// and reports what would come out differently the second time: the clock, randomness,
// the environment, the network, files, goroutines and channels, map order, variables of
// the package. Effects, the functions that loom.Do is given, may do all of that and are
// left alone.
//
// # What counts as flow code
//
// Every function with a parameter of type loom.Context is flow code, since nothing else
// can get hold of one: the bodies given to loom.NewFlow, the branches given to loom.Go,
// and their helpers. So is what flow code calls: functions and methods of the same
// module, in the same package or in another, function literals that are called where
// they stand or through a variable, and functions that are passed to a helper that
// calls them.
//
// An effect is a function that is given to one of Loom's functions as a
// func(context.Context), directly or through a helper that passes it on.
//
// # Where it stops
//
// It follows static calls alone. A call through an interface or through a function that
// came from a field, a map, a channel or another function's result ends the search, and so
// does a call into another module; what other modules do is known for the standard
// library and for well-known generators of ids, by name. Where it is not sure it is
// silent.
//
// Test files are left alone unless the flag testfiles is set: flows that tests write are
// often wrong on purpose. Packages of modules that the one under analysis depends on are
// left alone, too.
//
// # Findings
//
// A finding names its code at the end, as in (loom:clock). [Codes] lists them, and the
// README of this module has a bad and a good piece of code for each. In a helper of the
// same package a finding stands where the helper does it, in one of another package where
// flow code calls it. A comment
//
//	//loom:allow the reason
//
// at the end of a line, or on a line of its own above, silences one finding of the line;
// two of them on top of each other silence two. The comment needs a reason, and is
// a finding itself if it silences nothing.
package flowcheck
