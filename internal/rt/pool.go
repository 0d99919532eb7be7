package rt

import "sync"

// pool keeps goroutines whose function has returned for the next one, because a
// goroutine that has grown its stack once need not grow it again.
type pool struct {
	mu     sync.Mutex
	idle   []chan func() // the last one in is the first one out
	closed bool
}

// maxIdle is how many goroutines are kept.
const maxIdle = 256

// run runs fn on a goroutine.
func (p *pool) run(fn func()) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		w <- fn
		return
	}
	p.mu.Unlock()
	go p.work(fn)
}

// work runs fn and then what it is handed while it is idle. A function that ends its
// goroutine takes the worker with it.
func (p *pool) work(fn func()) {
	var in chan func()
	for {
		fn()
		if in == nil {
			in = make(chan func(), 1)
		}
		p.mu.Lock()
		if p.closed || len(p.idle) >= maxIdle {
			p.mu.Unlock()
			return
		}
		p.idle = append(p.idle, in)
		p.mu.Unlock()
		if fn = <-in; fn == nil {
			return
		}
	}
}

// close lets the idle goroutines go; those that run end when their function does.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, w := range idle {
		w <- nil
	}
}
