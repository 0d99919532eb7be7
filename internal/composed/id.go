// Package composed has the execution ids that Loom puts together itself, out of a name
// that a caller chose and what one of Loom's packages adds behind a separator. As the
// type can be made inside this module alone, a start that takes one knows that no
// caller spelled the separator.
package composed

import "github.com/loomwork/loom/event"

// ID is an execution id that may hold the separators of package event. The zero ID is
// no id, and a start refuses it.
type ID struct{ id event.ExecutionID }

// New returns id as a composed one. Who calls it has made sure that no two composites
// spell the same id; the start checks its length and its characters.
func New(id event.ExecutionID) ID { return ID{id} }

// Execution returns the id.
func (i ID) Execution() event.ExecutionID { return i.id }
