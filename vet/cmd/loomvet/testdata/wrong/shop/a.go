package shop

import (
	"time"

	"github.com/loomwork/loom"

	"example.com/dep"
	"example.com/wrong/helper"
)

// A is in the first file.
var A = loom.NewFlow("a", func(ctx loom.Context, in map[string]int) (string, error) {
	_ = dep.Stamp()
	for k := range in {
		if err := loom.Sleep(ctx, "nap-"+k, time.Second); err != nil {
			return "", err
		}
	}
	return helper.Region(), nil
})
