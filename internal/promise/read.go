package promise

import (
	"io/fs"
	"maps"
	"slices"
)

// ReadPages reads the pages of the checkout below fsys.
func ReadPages(fsys fs.FS) ([]*Page, error) {
	var read []*Page
	for _, name := range pages {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		p, err := ParsePage(name, string(text))
		if err != nil {
			return nil, err
		}
		read = append(read, p)
	}
	return read, nil
}

// Total returns how many promises of a class stand on the pages.
func Total(pages []*Page, c Class) (count int) {
	for _, p := range pages {
		for _, r := range p.rows {
			if ClassOf(r.ID) == c {
				count++
			}
		}
	}
	return count
}

func sortedIDs(n Named) []string { return slices.Sorted(maps.Keys(n)) }
