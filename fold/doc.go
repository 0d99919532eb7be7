// Package fold turns a log into its state: a pure function of the events, the
// same on every machine and in every later build. What the command line shows,
// what a list shows and what the kernel resumes from are this one fold.
//
//	s, err := fold.Log(events)
//	fmt.Println(s.Status, len(s.Ops))
//
// A kind of event that this build does not know moves the head and nothing else.
package fold
