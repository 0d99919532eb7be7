package event

// KindOperatorRecovered is the recorded name of [OperatorRecovered].
const KindOperatorRecovered Kind = "OPERATOR_RECOVERED"

// OperatorRecovered says that an operator took the execution from its owner and
// gave it to nobody, so that any node may go on with it. Passive.
type OperatorRecovered struct {
	By        string // who did: the tool, or a person
	Strikes   int    // takeovers in a row without progress, before
	TakenFrom string // node that owned it, "" for nobody
}

// Kind implements [Payload].
func (OperatorRecovered) Kind() Kind { return KindOperatorRecovered }

func (p OperatorRecovered) append(dst []byte) []byte {
	w := begin(dst)
	w.str("by", p.By)
	w.numIf("strikes", int64(p.Strikes))
	w.strIf("takenFrom", p.TakenFrom)
	return w.end()
}

func (p *OperatorRecovered) field(key string, raw []byte) error {
	switch key {
	case "by":
		return readString(raw, &p.By)
	case "strikes":
		return readInt(raw, &p.Strikes)
	case "takenFrom":
		return readString(raw, &p.TakenFrom)
	}
	return nil
}

func (p *OperatorRecovered) check() error {
	if p.By == "" {
		return missing("by")
	}
	return nil
}
