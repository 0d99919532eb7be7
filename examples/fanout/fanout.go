package main

import (
	"context"

	"github.com/loomwork/loom"
)

// Job says what is counted, and how many files of a folder are read at a time, and how many
// folders.
type Job struct {
	Dir            string
	Files, Folders int
}

// Count is what is in a file, in a folder, or in all of them.
type Count struct {
	Files, Lines, Words int
}

func sum(counts []Count) (total Count) {
	for _, c := range counts {
		total.Files += c.Files
		total.Lines += c.Lines
		total.Words += c.Words
	}
	return total
}

// NewFolder returns a flow that counts the files of one folder with read. A step a file: a
// file whose count is recorded is not read again.
func NewFolder(read func(ctx context.Context, file string) (Count, error)) *loom.Flow[Job, Count] {
	return loom.NewFlow("folder", func(ctx loom.Context, job Job) (Count, error) {
		files, err := loom.Do(ctx, "list-files", func(context.Context) ([]string, error) { return filesOf(job.Dir) })
		if err != nil {
			return Count{}, err
		}
		counts, err := forEach(ctx, job.Files, files, func(ctx loom.Context, file string) (Count, error) {
			return loom.Do(ctx, "read", func(ctx context.Context) (Count, error) { return read(ctx, file) }, loom.Args(file))
		})
		return sum(counts), err
	})
}

// NewTree returns a flow that counts a directory and all that are below it. Each is an
// execution of its own, a child: it has its own log, may run on another node, and is done
// once, whatever happens to its parent.
func NewTree(folder *loom.Flow[Job, Count]) *loom.Flow[Job, Count] {
	return loom.NewFlow("tree", func(ctx loom.Context, job Job) (Count, error) {
		folders, err := loom.Do(ctx, "list-folders", func(context.Context) ([]string, error) { return foldersBelow(job.Dir) })
		if err != nil {
			return Count{}, err
		}
		counts, err := forEach(ctx, job.Folders, folders, func(ctx loom.Context, dir string) (Count, error) {
			return folder.Child(ctx, Job{Dir: dir, Files: job.Files})
		})
		return sum(counts), err
	})
}

// forEach calls fn for each of items, at most n at a time, and returns what it returned, in
// the order of items. Each branch takes the next item as soon as it is done with one. After
// an error it takes no more; the errors of all are joined.
//
// The branches share variables without a lock: only one of them runs at a time, and control
// passes inside verbs alone.
func forEach[In, Out any](ctx loom.Context, n int, items []In, fn func(ctx loom.Context, item In) (Out, error)) ([]Out, error) {
	results, next := make([]Out, len(items)), 0
	var branches []*loom.Future[bool]
	for range min(max(n, 1), len(items)) {
		branches = append(branches, loom.Go(ctx, "branch", func(ctx loom.Context) (ok bool, err error) {
			for next < len(items) && err == nil {
				i := next
				next++
				results[i], err = fn(ctx, items[i])
			}
			return err == nil, err
		}))
	}
	_, err := loom.All(ctx, branches...)
	return results, err
}
