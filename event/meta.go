package event

import (
	"maps"
	"slices"
)

// Metadata keys that Loom writes itself. A caller may not set them.
const (
	// MetaFence holds the writer's token, in decimal, on every event written
	// under a token above 0.
	MetaFence = "fence"
	// MetaParent and MetaTarget are reserved for the parent link and the compute
	// target.
	MetaParent = "parent"
	MetaTarget = "target"
	// MetaNotBefore holds, on the first event of a delayed start, the instant before
	// which nothing of it runs, a [Time] in decimal.
	MetaNotBefore = "not-before"
)

// ReservedMeta reports whether key is Loom's own.
func ReservedMeta(key string) bool {
	return key == MetaFence || key == MetaParent || key == MetaTarget || key == MetaNotBefore
}

// EncodeMeta returns the canonical bytes of m: one JSON object, keys sorted; nil
// for an empty m. The caller owns them.
func EncodeMeta(m map[string]string) []byte {
	if len(m) == 0 {
		return nil
	}
	w := begin(nil)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if w.b[len(w.b)-1] != '{' {
			w.b = append(w.b, ',')
		}
		w.b = appendString(w.b, k)
		w.b = append(w.b, ':')
		w.b = appendString(w.b, m[k])
	}
	return w.end()
}

// DecodeMeta is the inverse of [EncodeMeta]. The caller owns the map, which is
// nil for nil.
func DecodeMeta(raw []byte) (map[string]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	err := object(raw, func(key string, raw []byte) error {
		var v string
		if err := readString(raw, &v); err != nil {
			return err
		}
		m[key] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
