package rt

import (
	"context"
	"sync"
)

type latch struct {
	once sync.Once
	open chan struct{} // closed once
}

func (l *latch) Open() { l.once.Do(func() { close(l.open) }) }

func (l *latch) Opened() bool {
	select {
	case <-l.open:
		return true
	default:
		return false
	}
}

func (l *latch) Wait(ctx context.Context) error {
	if l.Opened() {
		return nil
	}
	select {
	case <-l.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
