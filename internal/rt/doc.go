// Package rt is what the kernel may use of the world: fibers, waiting, time and
// randomness. There is one real implementation, [Real], and one simulated, in
// package sim; code above is the same for both.
//
// Whoever holds a mutex may not wait: a simulated fiber that waits with a mutex
// held would stop the world.
package rt
