package event

import (
	"encoding/json"
	"testing"
)

// The text of a value is what lists show and searches compare.
func TestTheTextOfAPublishedValue(t *testing.T) {
	for raw, want := range map[string]string{
		`"paid"`: "paid", `""`: "", `"a\n\"b\" \u00fc"`: "a\n\"b\" ü", `"3"`: "3", `3`: "3", `-1.5e3`: "-1.5e3", `true`: "true",
		`{"b":1,"a":"x"}`: `{"b":1,"a":"x"}`, `[]`: "[]", `"null"`: "null",
	} {
		p := StateSet{Key: "k", Value: json.RawMessage(raw)}
		if got := p.Text(); got != want || p.Gone() {
			t.Errorf("%s: %q, gone %v", raw, got, p.Gone())
		}
	}
	if !(StateSet{Key: "k", Value: json.RawMessage("null")}).Gone() {
		t.Error("null does not take the key back")
	}
}
