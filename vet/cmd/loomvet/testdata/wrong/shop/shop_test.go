package shop

import (
	"time"

	"github.com/loomwork/loom"
)

var c = loom.NewFlow("c", func(ctx loom.Context, in int) (time.Time, error) { return time.Now(), nil })
