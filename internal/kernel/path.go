package kernel

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"

	"github.com/loomwork/loom/event"
)

// MaxNameBytes is the longest name of an operation or branch.
const MaxNameBytes = 64

// ValidName reports whether name may name an operation or a branch:
// [A-Za-z0-9_.:-]{1,64}.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxNameBytes {
		return false
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '_', c == '.', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// join returns the path of the n-th thing called name in the branch at path.
func join(path, name string, n int) string {
	size := len(path) + len(name) + 8
	b := make([]byte, 0, size)
	if path != "" {
		b = append(append(b, path...), '/')
	}
	b = append(append(b, name...), '#')
	return string(strconv.AppendInt(b, int64(n), 10))
}

// derive hashes an operation's identity under a domain, so that two uses of it
// never see the same bytes.
func derive(domain string, id event.ExecutionID, seed, path string) [32]byte {
	h := sha256.New()
	for _, s := range []string{domain, string(id), seed, path} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s))) // lengths keep the parts apart
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return [32]byte(h.Sum(nil))
}

var keyText = base32.StdEncoding.WithPadding(base32.NoPadding)

// IdempotencyKey returns the key of the operation at path: 26 characters, the
// same for all its attempts, another one in every other execution and in a
// re-creation of this one. It is never made from the incarnation.
func IdempotencyKey(id event.ExecutionID, seed, path string) string {
	d := derive("loom/idempotency/1", id, seed, path)
	return keyText.EncodeToString(d[:])[:26]
}

// Entropy returns the random bytes that belong to the operation at path.
func Entropy(id event.ExecutionID, seed, path string) [32]byte {
	return derive("loom/entropy/1", id, seed, path)
}
