package kernel

import (
	"sync"
	"testing"
	"time"
)

// verbs calls every verb of b and returns what it said.
func verbs(b *Branch) []Denial {
	_, effect := b.Effect("v", &Effect{})
	_, timer := b.Timer("v", time.Second, 0)
	_, await := b.Await("v", -1)
	_, begin := b.Go("v", func(*Branch) {})
	_, name := b.Name("v")
	_, wait := b.WaitAny(b)
	return []Denial{effect, timer, await, begin, name, wait, b.Cancel(b), b.Enter()}
}

func allAre(t *testing.T, got []Denial, want Denial) {
	t.Helper()
	for i, d := range got {
		if d != want {
			t.Errorf("verb %d said %d, want %d", i, d, want)
		}
	}
}

// TestForeignGoroutines: a goroutine that the user started, or one that an effect
// runs on, is no branch: its verbs do nothing, and the race detector has nothing
// to say.
func TestForeignGoroutines(t *testing.T) {
	got := map[string][]Denial{}
	r := start(t, func(b *Branch) End {
		var wg sync.WaitGroup
		var mu sync.Mutex
		foreign := func(name string) func() {
			return func() {
				defer wg.Done()
				ds := verbs(b)
				mu.Lock()
				defer mu.Unlock()
				got[name] = ds
			}
		}
		wg.Add(3)
		go foreign("go statement")()
		world.Go("effect", foreign("fiber"))
		func() {
			done := make(chan bool)
			go func() { func() { func() { foreign("deeper")() }() }(); close(done) }()
			<-done
		}()
		wg.Wait()
		do(b, "v") // still the first of its name
		return done
	})
	for _, name := range []string{"go statement", "fiber", "deeper"} {
		if len(got[name]) == 0 {
			t.Fatalf("%s said nothing", name)
		}
		allAre(t, got[name], NoForeign)
	}
	r.want("0 EXECUTION_STARTED\n1 EFFECT_SCHEDULED v#1")
}

// TestForeignWhileTheBodyWaits: the same after the turn has ended.
func TestForeignWhileTheBodyWaits(t *testing.T) {
	var body *Branch
	r := start(t, func(b *Branch) End { body = b; do(b, "a"); return done })
	allAre(t, verbs(body), NoForeign) // the test's own goroutine
	said := make(chan []Denial)
	world.Go("effect", func() { said <- verbs(body) })
	allAre(t, <-said, NoForeign)
	r.complete("a#1", "1")
	allAre(t, verbs(body), NoForeign)
	if !r.m.Ended() {
		t.Error("not ended")
	}
}

// TestAnotherBranchsHandle: a branch uses the handle of its parent, of a sibling,
// of one that has ended, and of another execution.
func TestAnotherBranchsHandle(t *testing.T) {
	var elsewhere *Branch
	other := start(t, func(b *Branch) End { elsewhere = b; do(b, "a"); return done })
	r := start(t, func(b *Branch) End {
		early := branch(b, "early", func(*Branch) {})
		sibling := branch(b, "sibling", func(c *Branch) { timer(c, "t", 5) })
		c := branch(b, "c", func(*Branch) {
			allAre(t, verbs(b), NoBranch)
			allAre(t, verbs(sibling), NoBranch)
			allAre(t, verbs(early), NoEnded)
			allAre(t, verbs(elsewhere), NoBranch)
		})
		joinAll(b, c, sibling)
		return done
	})
	r.fire()
	r.want("0 EXECUTION_STARTED\n1 TIMER_SCHEDULED sibling#1/t#1\n2 TIMER_FIRED sibling#1/t#1\n3 EXECUTION_COMPLETED")
	other.want("0 EXECUTION_STARTED\n1 EFFECT_SCHEDULED a#1")
}

// TestDeepStacksAreTheirOwn: a verb under many frames, on either side of each
// size at which the look at the stack goes on, is its own branch's.
func TestDeepStacksAreTheirOwn(t *testing.T) {
	depths := []int{0, 1, 5, 1000}
	for d := 30; d <= 150; d++ {
		depths = append(depths, d)
	}
	var down func(n int, fn func())
	down = func(n int, fn func()) {
		if n > 0 {
			down(n-1, fn)
			return
		}
		fn()
	}
	asked := 0
	r := start(t, func(b *Branch) End {
		for _, n := range depths {
			down(n, func() {
				if d := b.Enter(); d != Allowed {
					t.Errorf("at depth %d: denied with %d", n, d)
				}
				said := make(chan Denial)
				go down(n, func() { said <- b.Enter() })
				if d := <-said; d != NoForeign {
					t.Errorf("a goroutine at depth %d: %d", n, d)
				}
			})
		}
		down(200, func() { do(b, "deep"); asked++ })
		func() {
			defer func() { recover(); down(100, func() { do(b, "deferred") }) }()
			panic("x")
		}()
		return done
	})
	r.complete("deep#1", "1")
	r.complete("deferred#1", "1")
	if asked != 1 || !r.m.Ended() {
		t.Errorf("asked %d, ended %v", asked, r.m.Ended())
	}
}
