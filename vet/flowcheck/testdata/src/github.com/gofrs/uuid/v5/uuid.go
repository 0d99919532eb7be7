// Package uuid stands in for a generator whose path has a major version.
package uuid

func NewV7() (id [16]byte, err error) { return }
