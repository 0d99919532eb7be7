package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/loomwork/loom/internal/promise"
)

// promises compares the pages of promises in the checkout at root with the
// tests, or writes their last columns. It reports whether all is well.
func promises(out, errs io.Writer, root string, write bool) bool {
	here := os.DirFS(root)
	named, err := promise.Scan(here)
	if err != nil {
		fmt.Fprintln(errs, "tally:", err)
		return false
	}
	pages, err := promise.ReadPages(here)
	if err != nil {
		fmt.Fprintln(errs, "tally:", err)
		return false
	}
	ok := true
	for _, p := range pages {
		before := p.String()
		p.Update(named)
		switch {
		case p.String() == before:
		case !write:
			fmt.Fprintf(out, "%s is not up to date; run: go run ./internal/tally promises -write\n", p.Name)
			ok = false
		default:
			if err := os.WriteFile(filepath.Join(root, p.Name), []byte(p.String()), 0o644); err != nil {
				fmt.Fprintln(errs, "tally:", err)
				return false
			}
			fmt.Fprintln(out, "wrote", p.Name)
		}
	}
	for _, what := range promise.Problems(pages, named) {
		fmt.Fprintln(out, what)
		ok = false
	}
	return ok
}
