package loom_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loomwork/loom"
)

func TestAVerbWithAnotherBranchsContextIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, _, _, err := run1(t, func(ctx loom.Context) (string, error) {
			var ended loom.Context
			f := loom.Go(ctx, "b", func(inner loom.Context) (string, error) {
				ended = inner
				_, a := loom.Do(ctx, "x", func(context.Context) (int, error) { return 0, nil })
				b := loom.Sleep(ctx, "s", 0)
				_, c := loom.Await[int](ctx, "m")
				d := loom.Go(ctx, "g", func(loom.Context) (int, error) { return 0, nil })
				_, e := d.Get(inner)
				return wrongs(a, b, c, e), nil
			})
			first, err := f.Get(ctx)
			if err != nil {
				return "", err
			}
			late := loom.Sleep(ended, "late", 0)
			return first + wrongs(late), nil
		})
		if err != nil || got != "''''b#1" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// wrongs names the branches of WrongBranchErrors.
func wrongs(errs ...error) (out string) {
	for _, err := range errs {
		var w *loom.WrongBranchError
		switch {
		case !errors.As(err, &w):
			out += fmt.Sprintf("[%v]", err)
		case w.Branch == "":
			out += "'"
		default:
			out += w.Branch
		}
	}
	return out
}

func TestAVerbFromAGoroutineOfTheUsersIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got, db, id, err := run1(t, func(ctx loom.Context) (string, error) {
			errs := make(chan error, 8)
			go func() {
				_, err := loom.Do(ctx, "x", func(context.Context) (int, error) { return 0, nil })
				errs <- err
				errs <- loom.Sleep(ctx, "s", 0)
				_, err = loom.Await[int](ctx, "m")
				errs <- err
				_, err = loom.Go(ctx, "g", func(loom.Context) (int, error) { return 0, nil }).Get(ctx)
				errs <- err
				close(errs)
			}()
			out := ""
			for err := range errs {
				var foreign *loom.ForeignGoroutineError
				out += fmt.Sprint(errors.As(err, &foreign), " ")
			}
			inEffect, err := loom.Do(ctx, "effect", func(context.Context) (bool, error) {
				_, err := loom.Do(ctx, "nested", func(context.Context) (int, error) { return 0, nil })
				var foreign *loom.ForeignGoroutineError
				return errors.As(err, &foreign), nil
			})
			return out + fmt.Sprint(inEffect), err
		})
		if err != nil || got != "true true true true true" {
			t.Fatalf("%q, %v", got, err)
		}
		if n := len(logOf(t, db, id)); n != 4 {
			t.Fatalf("%d events", n)
		}
	})
}
