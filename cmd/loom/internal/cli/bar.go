package cli

import (
	"fmt"
	"time"

	"github.com/loomwork/loom/cmd/loom/internal/screen"
	"github.com/schollz/progressbar/v3"
)

// bar shows how far a demo is, on standard error if that is a terminal.
type bar struct {
	s     *screen.Screen
	bar   *progressbar.ProgressBar
	total int
	kills int
}

func newBar(s *screen.Screen) *bar { return &bar{s: s} }

// set moves the bar.
func (b *bar) set(done, total, kills int) {
	if !b.s.ErrTerminal || total == 0 {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.s.Err), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(60*time.Millisecond), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
	}
	if total != b.total {
		b.total = total
		b.bar.ChangeMax(total)
	}
	if b.kills != kills || done == 0 {
		b.kills = kills
		b.bar.Describe(fmt.Sprintf("files audited, worker killed %d times", kills))
	}
	_ = b.bar.Set(min(done, total-1)) // the last step is close's; a bar that fails is no reason to
}

// note prints a sentence.
func (b *bar) note(text string) {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	fmt.Fprintln(b.s.Err, "loom: "+text)
}

func (b *bar) close() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
