package event

// KindVersionMarked is the recorded name of [VersionMarked].
const KindVersionMarked Kind = "VERSION_MARKED"

// VersionMarked says which version of a change in its code the body runs, from here
// on.
type VersionMarked struct {
	Change  string // name of the change
	Version int    // from 1
}

// Kind implements [Payload].
func (VersionMarked) Kind() Kind { return KindVersionMarked }

func (p VersionMarked) append(dst []byte) []byte {
	w := begin(dst)
	w.str("change", p.Change)
	w.num("version", int64(p.Version))
	return w.end()
}

func (p *VersionMarked) field(key string, raw []byte) error {
	switch key {
	case "change":
		return readString(raw, &p.Change)
	case "version":
		return readInt(raw, &p.Version)
	}
	return nil
}

func (p *VersionMarked) check() error {
	if p.Change == "" {
		return missing("change")
	}
	if p.Version == 0 {
		return missing("version")
	}
	return nil
}
