package loom

import (
	"bytes"
	"encoding/json"
	"sync"
)

// encodeBuffer is an encoder and where it writes, kept for reuse.
type encodeBuffer struct {
	bytes.Buffer
	enc *json.Encoder
}

var encodeBuffers = sync.Pool{New: func() any {
	b := &encodeBuffer{}
	b.enc = json.NewEncoder(&b.Buffer)
	b.enc.SetEscapeHTML(false)
	return b
}}

// maxKeptBuffer is the largest buffer that is kept, in bytes.
const maxKeptBuffer = 64 << 10

func (b *encodeBuffer) free() {
	if b.Cap() <= maxKeptBuffer {
		b.Reset()
		encodeBuffers.Put(b)
	}
}
