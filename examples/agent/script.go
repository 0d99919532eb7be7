package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// A script stands for the server of a paid model. It knows the conversation beforehand, and
// keeps books: what each key was answered, and how often each was asked for.
type script struct {
	lines []line
	// stall, if not nil, is called once a line's reply is in the books, and before it is
	// sent.
	stall func(line int)

	mu    sync.Mutex     // guards all below
	books map[string]int // the line that a key got
	calls map[string]int // by key
	paid  int            // cents
	busy  int            // calls that are turned away first, unpaid
}

// A line is what a model says.
type line struct {
	model  string // that has to be asked
	refuse bool
	reply  Reply
}

func newScript(lines ...line) *script {
	return &script{lines: lines, books: map[string]int{}, calls: map[string]int{}}
}

// ServeHTTP answers a new key with the next line, and a known one as before.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req Request
	key := r.Header.Get("Idempotency-Key")
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || key == "" {
		http.Error(w, "no key, or no request", http.StatusBadRequest)
		return
	}
	n, status := s.book(key, req.Model)
	if status != http.StatusOK {
		http.Error(w, "not now", status)
		return
	}
	if s.stall != nil {
		s.stall(n)
	}
	if s.lines[n].refuse {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_ = json.NewEncoder(w).Encode(s.lines[n].reply) // a caller who is gone asks again
}

// book finds the line for a key, and makes the call be paid if the key is new.
func (s *script) book(key, model string) (n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		s.busy--
		return 0, http.StatusServiceUnavailable
	}
	s.calls[key]++
	n, known := s.books[key]
	if known {
		fmt.Printf("model: the same call again, not paid again\n")
		return n, http.StatusOK
	}
	n = len(s.books)
	if n == len(s.lines) || s.lines[n].model != model {
		return 0, http.StatusBadRequest // the conversation went another way
	}
	s.books[key] = n
	s.paid += s.lines[n].reply.Cents
	fmt.Printf("model %s: %+v\n", model, s.lines[n].reply)
	return n, http.StatusOK
}
