// Package silent is what real flows look like. Nothing in it is reported.
package silent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/loomwork/loom"
)

type order struct {
	Items map[string]int
	Due   time.Time
}

type gateway interface {
	Charge(ctx context.Context, key string, cents int) (string, error)
}

type shop struct {
	gw     gateway
	client *http.Client
	mu     sync.Mutex
	seen   map[string]bool
}

var errLate = errors.New("late")

var page = template.Must(template.New("page").Parse("{{.}}"))

func (s *shop) checkout(ctx loom.Context, in order) (string, error) {
	if loom.Now(ctx).After(in.Due) {
		return "", fmt.Errorf("checkout: %w", errLate)
	}
	total := 0
	for _, n := range in.Items {
		total += n
	}
	pay, err := loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
		return s.gw.Charge(ctx, loom.IdempotencyKey(ctx), total)
	}, loom.Args(in.Items))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := page.Execute(&b, in); err != nil {
		return "", err
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	if err := loom.Compensate(ctx, "refund", func(ctx context.Context) error {
		_, err := s.client.Post("https://example.com/refund", "text/plain", strings.NewReader(time.Now().String()))
		return err
	}); err != nil {
		return "", err
	}
	log.Printf("%s", raw)
	fmt.Fprintln(os.Stdout, pay)
	return loom.Do(ctx, "fetch", s.fetch)
}

func (s *shop) fetch(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("SHOP"), nil)
	if err != nil {
		return "", err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return string(raw), err
}

// poll uses a helper that makes any function an effect.
func poll(ctx loom.Context, url string) (string, error) {
	for {
		status, err := effectOf(ctx, "status", func() (string, error) {
			res, err := http.Get(url)
			if err != nil {
				return "", err
			}
			return res.Status, res.Body.Close()
		})
		if err != nil || status == "done" {
			return status, err
		}
		if err := loom.Sleep(ctx, "pause", time.Minute); err != nil {
			return "", err
		}
	}
}

func effectOf[T any](ctx loom.Context, name string, fn func() (T, error)) (T, error) {
	return loom.Do(ctx, name, func(context.Context) (T, error) { return fn() })
}

// fan shares a list between its branches.
func fan(ctx loom.Context, paths []string) ([]int, error) {
	sizes, next := make([]int, len(paths)), 0
	var takers []*loom.Future[struct{}]
	for range 4 {
		takers = append(takers, loom.Go(ctx, "take", func(ctx loom.Context) (none struct{}, err error) {
			for next < len(paths) {
				i := next
				next++
				sizes[i], err = loom.Do(ctx, "stat", func(context.Context) (int, error) {
					info, err := os.Stat(paths[i])
					if err != nil {
						return 0, err
					}
					return int(info.Size()), nil
				})
				if err != nil {
					return none, err
				}
			}
			return none, nil
		}))
	}
	_, err := loom.All(ctx, takers...)
	return sizes, err
}

// flows makes flows from what it is given; it is no flow itself.
func flows(client *http.Client) []any {
	began := time.Now()
	ready := make(chan struct{})
	go func() { close(ready) }()
	<-ready
	s := &shop{client: client, seen: map[string]bool{os.Getenv("X"): began.IsZero()}}
	return []any{
		loom.NewFlow("checkout", s.checkout),
		loom.NewFlow("poll", poll),
		loom.NewFlow("fan", fan),
	}
}
