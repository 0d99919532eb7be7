package store

// Code is an error that is its own stable text. Match it with errors.Is.
type Code string

func (c Code) Error() string { return "store: " + string(c) }

// LoomCode returns the code.
func (c Code) LoomCode() string { return string(c) }

// Errors that a backend returns, wrapped with what they are about.
const (
	// ErrClosed: the store was closed. Nothing was attempted.
	ErrClosed Code = "closed"
	// ErrRefused: the head row is not in the state that the act needs.
	ErrRefused Code = "refused"
	// ErrVanished: the file or schema that the store lived in is gone. Nothing was
	// attempted, and nothing new was made in its place.
	ErrVanished Code = "vanished"
	// ErrCorrupt: a stored row cannot be what a store wrote.
	ErrCorrupt Code = "corrupt"
	// ErrTooOld: the engine under the backend is a version that is known to lose
	// data.
	ErrTooOld Code = "engine_too_old"
	// ErrEpoch: a cursor of another life of the store.
	ErrEpoch Code = "epoch"
	// ErrFull: no space left; nothing of the request was written.
	ErrFull Code = "full"
	// ErrReadOnly: the store may not be written.
	ErrReadOnly Code = "read_only"
	// ErrBusy: somebody else held what the write needs for longer than the backend
	// waits; nothing of the request was written.
	ErrBusy Code = "busy"
	// ErrUnavailable: the store could not be reached; nothing of the request was
	// written.
	ErrUnavailable Code = "unavailable"
)
