package rt

// coroutine hands control to a goroutine and back over two channels. iter.Pull
// would be faster, but it accepts a yield from a foreign goroutine in silence
// and takes the caller down with a Goexit in the function.
type coroutine struct {
	fn      func(yield func())
	pool    *pool
	in, out chan struct{}
	begun   bool // by the resumer alone
	dead    bool // written before out is sent to, read after
}

// Coroutine implements [Runtime].
func (r *Real) Coroutine(fn func(yield func())) Coroutine {
	return &coroutine{fn: fn, pool: &r.pool, in: make(chan struct{}), out: make(chan struct{})}
}

func (c *coroutine) Resume() (alive bool) {
	if c.dead {
		return false
	}
	if !c.begun {
		c.begun = true
		c.pool.run(c.run)
	} else {
		c.in <- struct{}{}
	}
	<-c.out
	return !c.dead
}

func (c *coroutine) run() {
	defer func() { // also on Goexit
		c.dead = true
		c.out <- struct{}{}
	}()
	c.fn(c.yield)
}

func (c *coroutine) yield() {
	c.out <- struct{}{}
	<-c.in
}
