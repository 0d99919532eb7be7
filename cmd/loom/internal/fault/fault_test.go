package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/event"
	"github.com/loomwork/loom/fold"
	"github.com/loomwork/loom/sqlite"
	"github.com/loomwork/loom/store"
)

func TestAMessageReadsAsOneSentence(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("loom: execution many: %w", loom.ErrEnded), "execution many: it has ended and takes no message"},
		{fmt.Errorf("loom: execution many: %w", loom.ErrNotFound), "execution many: it is not there"},
		{fmt.Errorf("loom: start of many: %w", loom.ErrDeleting), "start of many: it is being deleted; try again later"},
		{loom.ErrNotFound, "the execution is not there"},
		{&loom.InputValidationError{What: "message go", Err: &loom.TooLargeError{What: "it", Bytes: 2, Limit: 1}}, "message go: it has 2 bytes, the limit is 1"},
		{loom.ErrClosed, "closed"},
		{errors.New("loom: execution many: ended early"), "execution many: ended early"},
	} {
		if e := Of(c.err, ""); e.Message != c.want || !errors.Is(e, c.err) {
			t.Errorf("%q is said as %q, want %q", c.err, e.Message, c.want)
		}
	}
}

func TestEveryErrorHasItsCodeAndExit(t *testing.T) {
	failed := &loom.ExecutionError{ID: "x", Status: fold.Failed}
	for _, c := range []struct {
		err  error
		code string
		exit Exit
	}{
		{errors.New("anything"), "unexpected", 1},
		{&loom.IDError{}, "invalid_id", 2},
		{&loom.NameError{}, "invalid_name", 2},
		{&loom.InputValidationError{Err: errors.New("x")}, "invalid_input", 2},
		{&loom.TooLargeError{}, "too_large", 2},
		{&sqlite.Error{Code: sqlite.ErrNotADatabase}, "not_a_database", 2},
		{loom.ErrNotFound, "not_found", 3},
		{&sqlite.Error{Code: store.ErrVanished}, "vanished", 3},
		{fs.ErrNotExist, "not_found", 3},
		{fs.ErrPermission, "not_permitted", 4},
		{&sqlite.Error{Code: store.ErrReadOnly}, "read_only", 4},
		{&loom.ExecutionAlreadyExistsError{}, "already_exists", 5},
		{loom.ErrEnded, "ended", 5},
		{loom.ErrDeleting, "deleting", 5},
		{failed, "error", 6},
		{&event.DecodeError{Err: errors.New("x")}, "undecodable", 7},
		{&fold.LogError{}, "impossible_log", 7},
		{&sqlite.Error{Code: store.ErrCorrupt}, "corrupt", 7},
		{context.DeadlineExceeded, "timed_out", 124},
		{context.Canceled, "interrupted", 130},
		{ErrInterrupted, "interrupted", 130},
		{&sqlite.Error{Code: sqlite.ErrBusy}, "busy", 1},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			e := Of(err, "loom ls")
			if c.err == failed {
				e.Code = "error" // the code of an execution's end is the verb's to say
			}
			if e.Code != c.code || e.Exit != c.exit || e.Message == "" || e.Try != "loom ls" || !errors.Is(e, c.err) {
				t.Errorf("%v: %s, exit %d, %q, try %q; want %s, exit %d", err, e.Code, e.Exit, e.Message, e.Try, c.code, c.exit)
			}
			if Of(fmt.Errorf("again: %w", e), "other") != e {
				t.Errorf("%v: an error of ours was changed", err)
			}
		}
	}
}
