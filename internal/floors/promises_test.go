package floors

import (
	"os"
	"testing"

	"github.com/loomwork/loom/internal/promise"
)

// TestPromisesAgreeWithTheTests holds docs/spec against the names in the tests:
// what a test names is listed and not called open, and what is called shown has
// a test. "make promises" writes the column. That the comparison can fail is
// tested in package promise.
func TestPromisesAgreeWithTheTests(t *testing.T) {
	fsys := os.DirFS(root())
	named, err := promise.Scan(fsys)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := promise.ReadPages(fsys)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, promise.Problems(pages, named))
	if t.Failed() {
		t.Log("to mend it, if the names are right: make promises")
	}
	for _, class := range promise.Classes() {
		if promise.Total(pages, class) == 0 {
			t.Errorf("the pages list no %s", class)
		}
	}
}
