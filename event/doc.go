// Package event defines what a Loom execution records: the [Envelope], the
// sealed [Payload] kinds inside it, and the codec between payloads and bytes.
//
// What is recorded is bytes. A payload is encoded once, when it is journaled,
// and from then on it is carried, stored and compared as those bytes; nothing
// in Loom encodes a stored payload a second time. A kind that this build does
// not know decodes to [Unknown] and keeps its bytes untouched, so an older
// build can carry a newer log.
//
//	p := event.TimerFired{Op: "sleep#1"}
//	env := event.New("order-42", 7, at, p, nil)
//	back, err := env.Decode()
//
// Names of kinds and fields are frozen by testdata/names.golden: a name that
// has been in a log is never reused for something else. [SchemaVersion] says
// which set of names this build writes.
//
// [WriteLog] and [ReadLog] carry a whole log in a file, for tests and for people.
//
// The package has no clock and no randomness, and no I/O but what it is handed.
package event

// SchemaVersion is the version of the recorded names and fields, as
// "major.minor.patch". A minor step adds kinds or optional fields.
const SchemaVersion = "1.0.0"
