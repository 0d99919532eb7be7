package rt

import (
	"runtime"
	"sync"
	"testing"
)

func TestGoroutineTellsLivingOnesApart(t *testing.T) {
	const n = 100
	var mu sync.Mutex
	seen := map[uintptr]bool{Goroutine(): true}
	var begun, wg sync.WaitGroup
	begun.Add(n)
	for range n {
		wg.Go(func() {
			first := Goroutine()
			mu.Lock()
			if first == 0 || seen[first] {
				t.Errorf("%#x twice, or nothing", first)
			}
			seen[first] = true
			mu.Unlock()
			begun.Done()
			begun.Wait() // all live at once
			grow(200)
			runtime.Gosched()
			if again := Goroutine(); again != first {
				t.Errorf("%#x became %#x", first, again)
			}
		})
	}
	wg.Wait()
}

// grow makes the stack move.
func grow(n int) byte {
	var frame [512]byte
	if n == 0 {
		return frame[0]
	}
	return grow(n-1) + frame[n%512]
}

func BenchmarkGoroutine(b *testing.B) {
	for b.Loop() {
		Goroutine()
	}
}
