package sim

// verdict is what a search found.
type verdict struct {
	states   int
	stuck    int // no good end can be reached without further faults
	asleep   int // nobody owns it, unseen mail waits, and nothing will wake it
	over     int // ended over unseen mail
	twice    int // the message is in the log more than once
	lost     int // ended and posted, and neither recorded nor refused
	example  modelState
	distance int // moves to the example, the first bad state
}

// explore goes through every state that can be reached with so many faults,
// breadth first, and then back from the good ends.
func (v variant) explore(faults int) verdict {
	first := modelStart(faults)
	index := map[modelState]int32{first: 0}
	states := []modelState{first}
	depth := []int32{0}
	var from, to []int32 // the moves that are no faults
	for i := int32(0); int(i) < len(states); i++ {
		v.moves(states[i], func(next modelState, fault bool) {
			j, known := index[next]
			if !known {
				j = int32(len(states))
				index[next] = j
				states = append(states, next)
				depth = append(depth, depth[i]+1)
			}
			if !fault && i != j {
				from, to = append(from, i), append(to, j)
			}
		})
	}
	out := verdict{states: len(states), distance: -1}
	bad := func(i int) {
		if out.distance < 0 {
			out.example, out.distance = states[i], int(depth[i])
		}
	}
	good := reachesGood(states, from, to)
	for i := range states {
		r := &states[i].row
		if r.owner == 0 && !r.ended && r.mail > r.seen && !r.due {
			out.asleep++
			bad(i)
		}
		if r.ended && r.mail > r.seen {
			out.over++
			bad(i)
		}
		if r.got > 1 {
			out.twice++
			bad(i)
		}
		if r.ended && r.mail > 0 && r.got == 0 {
			out.lost++
			bad(i)
		}
		if !good[i] {
			out.stuck++
			bad(i)
		}
	}
	return out
}

// reachesGood says of each state whether a good end can be reached from it: the
// execution has ended, and the poster has its answer.
func reachesGood(states []modelState, from, to []int32) []bool {
	// Moves by their target, as one slice: counts, then places.
	begin := make([]int32, len(states)+1)
	for _, j := range to {
		begin[j+1]++
	}
	for i := range states {
		begin[i+1] += begin[i]
	}
	sources := make([]int32, len(from))
	fill := make([]int32, len(states))
	for k, j := range to {
		sources[begin[j]+fill[j]] = from[k]
		fill[j]++
	}
	good := make([]bool, len(states))
	var queue []int32
	for i := range states {
		if states[i].row.ended && states[i].post == posted {
			good[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		j := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, i := range sources[begin[j]:begin[j+1]] {
			if !good[i] {
				good[i] = true
				queue = append(queue, i)
			}
		}
	}
	return good
}
