package sim

// Script is what one run of a story follows: a seed alone, or a list of decisions, or
// bytes.
type Script struct {
	// Seed is where the decisions come from if there is no list, and the randomness of
	// the nodes in any case: that does not depend on a list, so that a shorter list
	// meets the same ids.
	Seed    uint64
	Choices []uint32 // as [Options.Choices]; nil for none
	Bytes   []byte   // as [Options.Bytes]; nil for none
	// Acts is how many acts of chaos are played at most; 0 for all that are drawn.
	Acts int
	// Ask keeps the questions beside the answers.
	Ask bool

	sites bySite // as the option; nil for none
}

// drawn reports whether the seed is all there is to it.
func (s *Script) drawn() bool { return s.Choices == nil && s.Bytes == nil && s.Acts == 0 }

// trimmed is a list without the zeros at its end, which say nothing.
func trimmed(list []uint32) []uint32 {
	n := len(list)
	for n > 0 && list[n-1] == 0 {
		n--
	}
	return list[:n]
}
