package schedule_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/schedule"
	"github.com/loomwork/loom/store/memstore"
)

// alphabet is what a schedule's id is made of, the characters that instants hold first.
const alphabet = "0123456789T:-Z+._abcXYZ"

// draw makes an occurrence: of ids mostly short ones, and of instants those of one hour
// as often as not.
func draw(r *rand.Rand) schedule.Occurrence {
	id := make([]byte, 1+r.IntN(3))
	if r.IntN(100) == 0 {
		id = make([]byte, 1+r.IntN(schedule.MaxScheduleBytes))
	}
	for i := range id {
		id[i] = alphabet[r.IntN(len(alphabet))]
	}
	at := r.Int64N(253402300800) // to the end of 9999
	if r.IntN(2) == 0 {
		at = 1_700_000_000 + r.Int64N(1000)
	}
	zone := time.FixedZone("", r.IntN(28*3600)-14*3600)
	return schedule.Occurrence{Schedule: string(id), At: time.Unix(at, 0).In(zone)}
}

func id(t testing.TB, o schedule.Occurrence) event.ExecutionID {
	t.Helper()
	id, err := o.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// beside makes an occurrence that is near to o: a second off, a character off, a character
// moved from one half to the other, in another zone, or the same again.
func beside(r *rand.Rand, o schedule.Occurrence) schedule.Occurrence {
	name := []byte(o.Schedule)
	switch r.IntN(6) {
	case 0:
		o.At = o.At.Add(time.Second)
	case 1:
		name[r.IntN(len(name))] = alphabet[r.IntN(len(alphabet))]
	case 2:
		name = append(name[:len(name)-1], o.At.UTC().Format("2")...)
	case 3:
		name = append(name, o.At.UTC().Format(time.RFC3339)...) // 20 bytes of the other half
	case 4:
		o.At = o.At.In(time.FixedZone("", r.IntN(28*3600)-14*3600))
	}
	o.Schedule = string(name[:min(len(name), schedule.MaxScheduleBytes)])
	if id, err := o.ID(); id == "" || err != nil { // past the end of time
		o.At = time.Unix(0, 0)
	}
	return o
}

// claims B-03 and H-24: an id is parsed into what it was made of, and of a million pairs
// of occurrences two have one id exactly if they are one occurrence.
func TestIDsAreTakenApartAndNeverShared(t *testing.T) {
	const pairs = 1_000_000
	r := rand.New(rand.NewPCG(24, 3))
	same := 0
	for range pairs {
		o := draw(r)
		other := beside(r, o)
		spelled, too := id(t, o), id(t, other)
		if err := spelled.Validate(); err != nil || len(spelled) > event.MaxIDBytes {
			t.Fatalf("%+v: %v", o, err)
		}
		back, err := schedule.Parse(spelled)
		if err != nil || back.Schedule != o.Schedule || !back.At.Equal(o.At) || back.At.Location() != time.UTC {
			t.Fatalf("%+v came back from %s as %+v, %v", o, spelled, back, err)
		}
		one := o.Schedule == other.Schedule && o.At.Equal(other.At)
		if one {
			same++
		}
		if one != (spelled == too) {
			t.Fatalf("%+v is %s, %+v is %s", o, spelled, other, too)
		}
	}
	if same < pairs/10 || same > pairs/2 {
		t.Fatalf("%d of %d pairs are one occurrence: the drawing shows little", same, pairs)
	}
	t.Logf("tally: pairs=%d", pairs)
}

// case 45, claim B-03: one instant has one id, in whatever zone it is said and however
// the day is counted there, and the text is what it always was.
func TestAnInstantHasOneIDInEveryZone(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want event.ExecutionID
	}{
		{time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC), "s@2026-11-30T02:30:00Z"},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "s@1970-01-01T00:00:00Z"},
		{time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC), "s@2028-02-29T23:59:59Z"},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "s@9999-12-31T23:59:59Z"},
	} {
		for offset := -14 * 3600; offset <= 14*3600; offset += 1799 {
			at := c.at.In(time.FixedZone("somewhere", offset))
			if got := id(t, schedule.Occurrence{Schedule: "s", At: at}); got != c.want {
				t.Errorf("%v is %s, want %s", at, got, c.want)
			}
		}
		mono := time.Now() // a reading of the monotonic clock is no part of an instant
		if got := id(t, schedule.Occurrence{Schedule: "s", At: mono.Add(c.at.Sub(mono)).Round(time.Second)}); got != c.want && c.at.Year() < 2200 {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// What has no id, and what is none, is refused with a type, before anything is started;
// a caller cannot choose such an id by hand. claim H-24
func TestWhatIsNoOccurrence(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for name, o := range map[string]schedule.Occurrence{
		"no schedule": {"", at}, "separator": {"a@b", at}, "slash": {"t/a", at}, "blank": {"a b", at}, "wide": {"nächtlich", at},
		"too long": {strings.Repeat("x", schedule.MaxScheduleBytes+1), at}, "zero": {"s", time.Time{}},
		"half a second": {"s", at.Add(time.Second / 2)}, "year 10000": {"s", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"before 1970": {"s", time.Unix(-1, 0)}, "1970 in its zone alone": {"s", time.Date(1970, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))},
	} {
		var bad *schedule.OccurrenceError
		if got, err := o.ID(); got != "" || !errors.As(err, &bad) || bad.LoomCode() != "invalid_occurrence" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	longest := schedule.Occurrence{Schedule: strings.Repeat("x", schedule.MaxScheduleBytes), At: at}
	if got := id(t, longest); len(got) != event.MaxIDBytes || got.Validate() != nil {
		t.Errorf("the longest id has %d bytes: %v", len(got), got.Validate())
	}
	for _, text := range []string{
		"", "s", "@", "s@", "@2026-11-30T02:30:00Z", "s@2026-11-30", "s@2026-11-30T02:30:00", "s@2026-11-30T02:30:00+00:00", "s@2026-11-30T02:30:00z",
		"s@2026-11-30T02:30:00.000Z", "s@2026-11-30T02:30:60Z", "s@2026-02-29T02:30:00Z", "s@2026-11-30T2:30:00Z", "s@ 2026-11-30T02:30:00Z",
		"s@t@2026-11-30T02:30:00Z", "a/s@2026-11-30T02:30:00Z", "s@0001-01-01T00:00:00Z", "s@2026-11-30T02:30:00Z ", "s@2026-11-30T24:00:00Z",
		"s@2026-11-30T02:30:00,5Z", "s@+2026-11-30T02:30:00Z", strings.Repeat("x", 180) + "@2026-11-30T02:30:00Z",
	} {
		var bad *schedule.OccurrenceError
		if o, err := schedule.Parse(event.ExecutionID(text)); o != (schedule.Occurrence{}) || !errors.As(err, &bad) {
			t.Errorf("%q: %+v, %v", text, o, err)
		}
	}
	db := memstore.New(nil)
	rt, err := loom.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	flow := loom.NewFlow("f", func(loom.Context, int) (int, error) { return 0, nil })
	var bad *event.IDError
	if _, err := flow.Start(t.Context(), rt, 0, loom.ID(nightID)); !errors.As(err, &bad) {
		t.Errorf("a caller chose an occurrence's id: %v", err)
	}
	if _, err := schedule.Start(t.Context(), rt, schedule.Occurrence{Schedule: "a@b", At: at}, flow, 0); !errors.As(err, &bad) {
		t.Errorf("a bad schedule was started: %v", err)
	}
	if tip, err := db.Tip(t.Context(), nightID); err != nil || tip.Exists() {
		t.Errorf("something was written: %+v, %v", tip, err)
	}
}

// FuzzParse: whatever is taken apart is put together again as it was.
func FuzzParse(f *testing.F) {
	for _, text := range []string{nightID, "s@2026-11-30T02:30:00,5Z", "a@b@c", "@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := schedule.Parse(event.ExecutionID(text))
		if err != nil {
			return
		}
		if got := id(t, o); string(got) != text {
			t.Fatalf("%q is %+v is %q", text, o, got)
		}
	})
}
