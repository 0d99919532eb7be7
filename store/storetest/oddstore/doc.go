// Package oddstore has stores for tests that are not as a store should be: each
// is a wrapper over a real one and has one fault, or one habit of the older
// system.
//
// Nouns: a [Coalescer] fails a whole batch for one bad request, a [StoreWide]
// keeps envelope ids unique across executions, a [Misnaming] reports conflicts
// under other ids and with other rows, a [Scoped] store writes under prefixed
// ids and does not translate its errors back, a [Blind] one cannot read back, a
// [Lagging] one shows logs as they were, a [Rangeless] one reads every log
// whole, a [Prefenced] one calls starts of unwritten ids stale, and [Legacy] has no incarnations and forgets the tokens of what was
// deleted.
//
// What a start makes of each of them is promised: it believes the store's log,
// read back through the same store, and nothing else that it is told. No code
// but a test may import this package.
package oddstore
