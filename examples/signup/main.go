// Signup: a person is checked by two services side by side, and then by another person. The
// test beside it scripts what the services answer.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// Score asks a service how trustworthy somebody is, from 0 to 100.
func Score(_ context.Context, service, email string) (int, error) {
	fmt.Println("asking", service, "about", email)
	return 50, nil
}

// Signup returns whether somebody may come in. Two good scores are enough; else a person is
// asked, who takes a day or two.
var Signup = loom.NewFlow("signup", func(ctx loom.Context, email string) (bool, error) {
	ask := func(service string) *loom.Future[int] {
		return loom.Go(ctx, service, func(ctx loom.Context) (int, error) {
			return loom.Do(ctx, "score", func(ctx context.Context) (int, error) {
				return Score(ctx, service, email)
			}, loom.Retry{Attempts: 3, Initial: time.Minute})
		})
	}
	scores, err := loom.All(ctx, ask("fraud"), ask("credit"))
	if err != nil {
		return false, err
	}
	if scores[0] >= 80 && scores[1] >= 80 {
		return true, nil
	}
	return loom.Do(ctx, "review", func(context.Context) (bool, error) {
		fmt.Println("somebody should look at", email)
		return false, nil
	}, loom.Timeout(48*time.Hour))
})

func main() {
	ctx := context.Background()
	rt, err := loom.Open(ctx, sqlite.Open("app.db"), loom.Flows(Signup))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := Signup.Start(ctx, rt, "ann@example.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
}
