package branches

import (
	"context"
	"sync"

	"github.com/loomwork/loom"
)

var _ = loom.NewFlow("branches", func(ctx loom.Context, n int) (int, error) {
	c := make(chan int, 1) // want `make uses a channel.*loom:channel`
	go func() {            // want `^a go statement starts a goroutine that Loom does not know: use loom.Go, or an effect \(loom:goroutine\)$`
		c <- 1
	}()
	c <- 2        // want `a send .*loom:channel`
	_ = <-c       // want `a receive .*loom:channel`
	for range c { // want `this range .*loom:channel`
	}
	close(c) // want `close .*loom:channel`
	select { // want `a select statement .*loom.First.*loom:select`
	case <-c:
	case c <- 1:
	case <-ctx.Done():
		_ = <-c // want `a receive .*loom:channel`
	}
	<-ctx.Done() // want `loom:channel`
	_ = make([]int, 1)
	_ = len(c)

	var wg sync.WaitGroup
	wg.Go(func() {}) // want `sync.WaitGroup.Go .*loom:goroutine`
	wg.Wait()        // want `sync.WaitGroup.Wait .*loom:lock`

	for x := range numbers {
		n += x
	}
	return loom.Do(ctx, "parallel", func(ctx context.Context) (int, error) {
		c := make(chan int)
		go func() { c <- 1 }()
		select {
		case v := <-c:
			return v, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
})

func numbers(yield func(int) bool) { yield(1) }
