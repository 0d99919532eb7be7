package allow

import (
	"context"
	"math/rand"
	"time"

	"github.com/loomwork/loom"
)

var _ = loom.NewFlow("allow", func(ctx loom.Context, n int) (int, error) {
	_ = time.Now() //loom:allow only a line of log shows it
	//loom:allow only a line of log shows it
	_ = time.Now()
	_, _ = time.Now(), rand.Int() //loom:allow one comment, one finding // want `loom:random`
	//loom:allow the first
	//loom:allow the second
	_, _ = time.Now(), rand.Int()
	//loom:allow the third
	_, _ = time.Now(), rand.Int() //loom:allow and the fourth

	_ = time.Now() //loom:allow // want `loom:clock` `^loom:allow without a reason silences nothing: say why it is right here \(loom:allow\)$`
	_ = n          //loom:allow nothing is here // want `^this loom:allow silences nothing: take it out \(loom:allow\)$`
	_ = time.Now() // want `loom:clock`
	_ = n          //loom:allow a comment behind code is about its own line // want `loom:allow`
	_ = time.Now() // want `loom:clock`
	_ = time.Now() //loom:allowed is another word // want `loom:clock`
	_ = stamp()
	return loom.Do(ctx, "now", func(context.Context) (int, error) {
		return time.Now().Day(), nil //loom:allow an effect needs none // want `silences nothing`
	})
})

func stamp() int { return time.Now().Day() } //loom:allow only a line of log shows it

// Other packages do not hear of it, so that the comment is of use.
func Stamp() int { return time.Now().Day() } //loom:allow only a line of log shows it
