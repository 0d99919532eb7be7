package storetest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/loomwork/loom/store"
)

const (
	rulePut = "Put writes body if the record's version is version (0: it does not exist) and returns the new version, version + 1. " +
		"Otherwise ok is false and nothing is written."
	ruleDrop    = "Delete removes the record if its version is version; ok as in Put."
	ruleRecords = "List returns the records of a space whose names are above after, by name, at most limit."
)

// put checks a write of a record and what is there after it.
func (p *probe) put(name string, version int64, body string, wantOK bool, wantNow int64, wantBody string) {
	now, ok, err := p.s.Records.Put(p.ctx, "space", name, version, []byte(body))
	if err != nil || ok != wantOK || ok && now != version+1 {
		p.fatalf("Put(%q, version %d): version %d, written %v, error %v; want written %v", name, version, now, ok, err, wantOK)
	}
	rec, there, err := p.s.Records.Get(p.ctx, "space", name)
	if err != nil || there != (wantNow > 0) || there && (rec.Version != wantNow || string(rec.Body) != wantBody || rec.Name != name || rec.Space != "space") {
		p.failf("after it the record is %+v (%v, %v), want version %d, %q", rec, there, err, wantNow, wantBody)
	}
}

func recordCases() []Case {
	return needs([]store.Part{store.PartRecords},
		Case{Name: "records/put", Quote: rulePut, run: func(p *probe) {
			p.put("r", 1, "early", false, 0, "")
			p.put("r", 0, "one", true, 1, "one")
			p.put("r", 0, "twice", false, 1, "one")
			p.put("r", 2, "ahead", false, 1, "one")
			p.put("r", 1, "two", true, 2, "two")
			p.put("r", 1, "stale", false, 2, "two")
			p.put("r", 2, "", true, 3, "")
		}},
		Case{Name: "records/spaces", Quote: rulePut, run: func(p *probe) {
			p.put("r", 0, "one", true, 1, "one")
			if _, ok, err := p.s.Records.Get(p.ctx, "other", "r"); ok || err != nil {
				p.failf("the record stands in another space too: %v, %v", ok, err)
			}
			if now, ok, err := p.s.Records.Put(p.ctx, "other", "r", 0, []byte("x")); now != 1 || !ok || err != nil {
				p.failf("the same name in another space: version %d, %v, %v", now, ok, err)
			}
			if _, ok, _ := p.s.Records.Get(p.ctx, "space", "R"); ok {
				p.failf("names that differ in case are one")
			}
		}},
		Case{Name: "records/delete", Quote: ruleDrop, run: func(p *probe) {
			drop := func(version int64, want bool) {
				if ok, err := p.s.Records.Delete(p.ctx, "space", "r", version); ok != want || err != nil {
					p.failf("Delete(version %d): %v, %v; want %v", version, ok, err, want)
				}
			}
			drop(1, false)
			p.put("r", 0, "one", true, 1, "one")
			p.put("r", 1, "two", true, 2, "two")
			drop(1, false)
			drop(2, true)
			drop(2, false)
			p.put("r", 2, "late", false, 0, "")
			p.put("r", 0, "anew", true, 1, "anew")
		}},
		Case{Name: "records/list", Quote: ruleRecords, run: func(p *probe) {
			want := []string{"A", "B_", "a", "b", "c-1", "c-10", "c-2"} // as bytes, not as words
			for _, i := range []int{3, 0, 6, 2, 5, 1, 4} {
				p.put(want[i], 0, want[i], true, 1, want[i])
			}
			if _, _, err := p.s.Records.Put(p.ctx, "other", "x", 0, nil); err != nil {
				p.fatalf("Put: %v", err)
			}
			for _, limit := range []int{1, 3, 7, 100} {
				var got []string
				for after := ""; ; {
					rs, err := p.s.Records.List(p.ctx, "space", after, limit)
					if err != nil || len(rs) > limit {
						p.fatalf("List(after %q, limit %d): %d records, %v", after, limit, len(rs), err)
					}
					if len(rs) == 0 {
						break
					}
					for _, r := range rs {
						got, after = append(got, r.Name), r.Name
						if string(r.Body) != r.Name || r.Version != 1 {
							p.failf("a listed record is %+v", r)
						}
					}
				}
				if !slices.Equal(got, want) {
					p.failf("limit %d: %q, want %q", limit, got, want)
				}
			}
		}},
		Case{Name: "records/bodies", Quote: "Records keeps small versioned values: schedules, cursors, policy state.", run: func(p *probe) { // case 65
			for i, body := range oddBytes() {
				name := fmt.Sprintf("odd-%d", i)
				if _, ok, err := p.s.Records.Put(p.ctx, "space", name, 0, body); !ok || err != nil {
					p.fatalf("body %d: %v, %v", i, ok, err)
				}
				if rec, _, err := p.s.Records.Get(p.ctx, "space", name); err != nil || !bytes.Equal(rec.Body, body) || (rec.Body == nil) != (body == nil) {
					p.failf("body %d of %d bytes did not come back: %v", i, len(body), err)
				}
			}
		}},
	)
}
