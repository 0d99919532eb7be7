package storetest

import (
	"context"
	"time"

	"github.com/loomwork/loom/store"
)

func hintCases() []Case {
	return needs([]store.Part{store.PartHints},
		Case{Name: "hint/current", Quote: ruleHint, run: func(p *probe) {
			version, err := p.s.Hints.Await(p.ctx, 0)
			if err != nil {
				p.fatalf("Await: %v", err)
			}
			ctx, cancel := context.WithTimeout(p.ctx, 20*time.Millisecond)
			defer cancel()
			for ctx.Err() == nil { // early returns are allowed
				if version, err = p.s.Hints.Await(ctx, version); err != nil && ctx.Err() == nil {
					p.failf("Await: %v", err)
				}
			}
		}},
	)
}

func aboutCases() []Case {
	return needs([]store.Part{store.PartAbout},
		Case{Name: "about/level", Quote: "Level returns the SPI level that the store effectively has now; it may be lower than the one it claims.", run: func(p *probe) {
			level, err := p.s.About.Level(p.ctx)
			if err != nil {
				p.fatalf("Level: %v", err)
			}
			if _, err := store.ParseLevel(level.String()); err != nil {
				p.failf("%v", err)
			}
		}},
		Case{Name: "about/epoch", Quote: "Epoch returns the store's epoch, a text that changes when the store was restored, promoted, or told to.", run: func(p *probe) {
			one, err := p.s.About.Epoch(p.ctx)
			if err != nil || one == "" {
				p.fatalf("Epoch is %q, error %v", one, err)
			}
			p.must(p.birth("x"))
			if two, err := p.s.About.Epoch(p.ctx); two != one || err != nil {
				p.failf("Epoch went from %q to %q, error %v", one, two, err)
			}
		}},
	)
}
