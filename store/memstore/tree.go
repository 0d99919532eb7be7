package memstore

import "github.com/loomwork/loom/event"

// tree orders rows by (at, key). It is a treap whose nodes are the rows
// themselves and whose priorities are a hash of the key, so that its shape, like
// its order, is the same in every run.
type tree struct {
	root  *row
	owner *node // nil for a tree of unowned rows
}

func (r *row) before(o *row) bool { return r.at < o.at || r.at == o.at && r.key < o.key }

func (r *row) priority() uint64 {
	z := uint64(r.key) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return z ^ z>>27
}

// insert puts r at the place at. r is in no tree.
func (t *tree) insert(r *row, at event.Time) {
	r.tree, r.at = t, at
	p := r.priority()
	link := &t.root
	for *link != nil && (*link).priority() >= p {
		if r.before(*link) {
			link = &(*link).left
		} else {
			link = &(*link).right
		}
	}
	// What hangs here goes below r, split into what is before it and after it.
	rest, left, right := *link, &r.left, &r.right
	for rest != nil {
		if rest.before(r) {
			*left, left, rest = rest, &rest.right, rest.right
		} else {
			*right, right, rest = rest, &rest.left, rest.left
		}
	}
	*left, *right = nil, nil
	*link = r
}

// remove takes r out of t, where it is.
func (t *tree) remove(r *row) {
	link := &t.root
	for *link != r {
		if r.before(*link) {
			link = &(*link).left
		} else {
			link = &(*link).right
		}
	}
	left, right := r.left, r.right
	for left != nil && right != nil {
		if left.priority() >= right.priority() {
			*link, link, left = left, &left.right, left.right
		} else {
			*link, link, right = right, &right.left, right.left
		}
	}
	if left == nil {
		left = right
	}
	*link = left
	r.tree, r.left, r.right = nil, nil, nil
}

// first appends to out the rows with at <= until, in order, at most limit.
func (t *tree) first(out []*row, until event.Time, limit int) []*row {
	end := len(out) + limit
	var walk func(r *row)
	walk = func(r *row) {
		if r == nil || len(out) >= end {
			return
		}
		walk(r.left)
		if r.at > until || len(out) >= end {
			return
		}
		out = append(out, r)
		walk(r.right)
	}
	walk(t.root)
	return out
}

// after returns the earliest place later than at; event.Never if there is none.
func (t *tree) after(at event.Time) event.Time {
	next := event.Never
	for r := t.root; r != nil; {
		if r.at > at {
			next, r = r.at, r.left
		} else {
			r = r.right
		}
	}
	return next
}
