package event

// Failure is a recorded error: what is left of a Go error once it has been
// written down.
type Failure struct {
	Code    string   // stable, lower_snake; "error" for an error without one
	Message string   // cut at [MaxMessageBytes]
	Chain   []string // codes of the causes, outermost first, without Code
	Stack   []string // for a panic: "function:line", innermost first
}

// MaxMessageBytes is the longest recorded error text.
const MaxMessageBytes = 16 << 10

func (f *Failure) append(w *writer, key string) {
	if f == nil {
		return
	}
	w.key(key)
	in := begin(w.b)
	in.str("code", f.Code)
	in.str("message", f.Message)
	in.list("chain", f.Chain)
	in.list("stack", f.Stack)
	w.b = in.end()
}

func (w *writer) list(k string, v []string) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, s := range v {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendString(w.b, s)
	}
	w.b = append(w.b, ']')
}

func readFailure(raw []byte, to **Failure) error {
	var f Failure
	err := object(raw, func(key string, raw []byte) error {
		switch key {
		case "code":
			return readString(raw, &f.Code)
		case "message":
			return readString(raw, &f.Message)
		case "chain":
			return readStrings(raw, &f.Chain)
		case "stack":
			return readStrings(raw, &f.Stack)
		}
		return nil
	})
	if err == nil && f.Code == "" {
		err = missing("code")
	}
	if err != nil {
		return err
	}
	*to = &f
	return nil
}
