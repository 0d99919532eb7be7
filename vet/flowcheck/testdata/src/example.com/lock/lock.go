package lock

import (
	"regexp"
	"sync"

	"github.com/loomwork/loom"
)

var (
	mu   sync.Mutex
	once sync.Once
	word *regexp.Regexp
)

var _ = loom.NewFlow("lock", func(ctx loom.Context, n int) (int, error) {
	mu.Lock() // want `sync.Mutex.Lock may block where no verb waits: branches run one at a time and need no locks \(loom:lock\)`
	mu.Unlock()
	once.Do(func() {}) // want `sync.Once.Do .*loom:lock`
	func() {
		mu.Lock() // want `loom:lock`
	}()
	if cached("x") {
		n++
	}
	return n, nil
})

// cached has no loom.Context, so nothing waits for a verb under its lock; and what its
// once makes is always the same.
func cached(s string) bool {
	once.Do(func() { word = regexp.MustCompile("a+") })
	mu.Lock()
	defer mu.Unlock()
	return word.MatchString(s)
}
