package promise

import (
	"regexp"
	"strings"
)

// A Class is a family of promises that are numbered together.
type Class string

// Classes, in the order in which they are counted.
const (
	Claims  Class = "claims"
	Cases   Class = "cases"
	Races   Class = "races"
	Oracles Class = "oracles"
)

// Classes returns all classes. The caller owns the slice.
func Classes() []Class { return []Class{Claims, Cases, Races, Oracles} }

// list matches one or more of an id, joined as in a sentence.
func list(id string) string { return id + `(?:(?:,\s*and|,|\s+and)\s+` + id + `)*` }

// forms are the ways in which a test names a promise: mention finds a list,
// single each id in it, prefix is put before a bare number.
var forms = []struct {
	class           Class
	mention, single *regexp.Regexp
	prefix          string
}{
	{Claims, regexp.MustCompile(`(?i)\bclaims?\s+` + list(`[ABH]-\d\d`)), regexp.MustCompile(`(?i)[ABH]-\d\d`), ""},
	{Cases, regexp.MustCompile(`(?i)\bcases?\s+` + list(`\d+a?\b`)), regexp.MustCompile(`\d+a?`), "case "},
	{Races, regexp.MustCompile(`(?i)\braces?\s+` + list(`\d+\b`)), regexp.MustCompile(`\d+`), "race "},
	{Oracles, regexp.MustCompile(`(?i)\boracles?\s+` + list(`O\d+\b`)), regexp.MustCompile(`(?i)O\d+`), ""},
}

// inName finds a race in the name of a test function.
var inName = regexp.MustCompile(`(?i)race_?(\d+)`)

// mentioned returns the ids that a text names, as they stand on a page.
func mentioned(text string) (ids []string) {
	for _, f := range forms {
		for _, m := range f.mention.FindAllString(text, -1) {
			for _, id := range f.single.FindAllString(m, -1) {
				ids = append(ids, f.prefix+strings.ToUpper(id[:1])+id[1:])
			}
		}
	}
	return ids
}

var rowID = regexp.MustCompile(`^(?:[ABH]-\d\d|O\d+|(?:case|race) \d+a?)$`)

// ClassOf returns the class of an id, "" if it is none.
func ClassOf(id string) Class {
	switch {
	case !rowID.MatchString(id):
		return ""
	case strings.HasPrefix(id, "case"):
		return Cases
	case strings.HasPrefix(id, "race"):
		return Races
	case id[0] == 'O':
		return Oracles
	}
	return Claims
}
