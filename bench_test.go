package loom_test

import (
	"context"
	"sync"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/store/memstore"
)

var payload = func() string {
	b := make([]byte, 98)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}()

func threeSteps() *loom.Flow[int, string] {
	return loom.NewFlow("three", func(ctx loom.Context, n int) (string, error) {
		var s string
		var err error
		for range 3 {
			s, err = loom.Do(ctx, "step", func(context.Context) (string, error) { return payload, nil })
			if err != nil {
				return "", err
			}
		}
		return s, nil
	})
}

func BenchmarkW1Memory(b *testing.B) {
	f := threeSteps()
	rt, err := loom.Open(b.Context(), memstore.New(nil), loom.Flows(f))
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	work := make(chan int)
	for range 64 {
		wg.Go(func() {
			for n := range work {
				run, err := f.Start(b.Context(), rt, n)
				if err == nil {
					_, err = run.Result(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range b.N {
		work <- i
	}
	close(work)
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "exec/s")
}

func BenchmarkReadOnly(b *testing.B) {
	f := loom.NewFlow("ro", func(ctx loom.Context, n int) (int, error) {
		for range n {
			if _, err := loom.Do(ctx, "r", func(context.Context) (int, error) { return 1, nil }, loom.ReadOnly()); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	rt, err := loom.Open(b.Context(), memstore.New(nil), loom.Flows(f))
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	b.ReportAllocs()
	b.ResetTimer()
	run, err := f.Start(b.Context(), rt, b.N)
	if err == nil {
		_, err = run.Result(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
}
