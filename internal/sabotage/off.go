//go:build !loomsabotage

package sabotage

// Built reports whether this build can be sabotaged.
const Built = false

// On reports whether the defect of this name is switched on.
func On(name string) bool { return false }
