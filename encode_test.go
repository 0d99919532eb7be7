package loom

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loomwork/loom/event"
)

// What a log could not give back is refused before it is written. Claim H-25, case 65.
func TestEncodeRefusesWhatALogCouldNotGiveBack(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", event.MaxDepth+1) + strings.Repeat("]", event.MaxDepth+1))
	for name, v := range map[string]any{
		"NaN": math.NaN(), "channel": make(chan int), "text": "a\xffb", "raw text": json.RawMessage("\"a\xffb\""),
		"raw": json.RawMessage("{"), "deep": deep,
	} {
		raw, err := encode("value", v, 1<<20)
		var invalid *InputValidationError
		if raw != nil || !errors.As(err, &invalid) {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	var large *TooLargeError
	if _, err := encode("value", strings.Repeat("x", 99), 100); !errors.As(err, &large) || large.Bytes != 101 || large.Limit != 100 {
		t.Errorf("over the limit: %v", err)
	}
}

// What is at the limits goes through, to the byte.
func TestEncodeKeepsWhatIsAtTheLimits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", event.MaxDepth) + strings.Repeat("]", event.MaxDepth),
		`"\\ufffd"`, "\"\uFFFD\u2028<&>\"", `{"b":1e21,"a":-0}`, `"` + strings.Repeat("x", 98) + `"`,
	} {
		raw, err := encode("value", json.RawMessage(text), max(100, len(text)))
		if err != nil || string(raw) != text {
			t.Errorf("%.40s: %.40s, %v", text, raw, err)
		}
	}
}
