// Package store is the contract between the kernel and whatever keeps the logs:
// the service provider interface, SPI 2.3.0.
//
// A backend has one write door, [Log.Commit], and one read door, [Log.Read].
// A [Request] moves one execution from the tip that its writer saw to the next
// one, or not at all; many requests share a transaction to save cost, never a
// fate. Everything a store may offer besides is a part: a small interface in a
// field of [Store]. A nil part is absent, [Of] finds the parts of a backend once,
// and [Store.Require] says at start what is missing and who withheld it.
//
// The head row is the store's one row for an execution. Owner, token, length,
// state, wake-up and mail counter stand in it, so that one compare-and-set on it
// decides every race. Of N writers that saw the same tip exactly one wins.
//
// What a backend MUST do is written at the methods and types below, each rule
// with the word MUST; package storetest has a case for each, which quotes it.
package store

// SPI is the version of the contract in this package.
const SPI = "2.3.0"
