package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
)

// File is what the audit says of one regular file.
type File struct {
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256,omitempty"`
	Lines    int64  `json:"lines"` // 0 for a binary file
	Language string `json:"language"`
	Error    string `json:"error,omitempty"` // why it could not be read
}

// binaryHead is how much of a file is searched for a NUL, which makes it binary.
const binaryHead = 8000

// inspect reads one file. A file that cannot be read, or is no regular file any
// more, is a File with an Error: the audit goes on. The error is that of ctx.
func inspect(ctx context.Context, root string, path Name) (File, error) {
	out := File{Language: languageOf(path)}
	f, err := openQuietly(filepath.Join(root, string(path)))
	if err != nil {
		out.Error = reason(err)
		return out, nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		out.Error = reason(err)
		return out, nil
	}
	if kind := kindOf(info.Mode()); kind != "" {
		out.Error = "is a " + kind + " now"
		return out, nil
	}
	if err := out.read(ctx, f); err != nil {
		if ctx.Err() != nil {
			return File{}, context.Cause(ctx)
		}
		out = File{Language: out.Language, Error: reason(err)}
	}
	return out, nil
}

// read fills in what a file's content says.
func (f *File) read(ctx context.Context, in *os.File) error {
	sum := sha256.New()
	buf := make([]byte, 64<<10)
	binary, last := false, byte('\n')
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := in.Read(buf)
		part := buf[:n]
		if head := binaryHead - f.Bytes; head > 0 {
			binary = binary || bytes.IndexByte(part[:min(int64(n), head)], 0) >= 0
		}
		f.Bytes += int64(n)
		sum.Write(part)
		f.Lines += int64(bytes.Count(part, []byte{'\n'}))
		if n > 0 {
			last = part[n-1]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if last != '\n' {
		f.Lines++ // a last line without its end
	}
	if binary {
		f.Lines = 0
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}
