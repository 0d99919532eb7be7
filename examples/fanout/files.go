package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// foldersBelow returns the paths of dir and of all folders below it, in the order of names.
func foldersBelow(dir string) (folders []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != dir && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			folders = append(folders, path)
		}
		return nil
	})
	return folders, err
}

// filesOf returns the paths of the files in dir, in the order of names.
func filesOf(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, err
}

// readFile counts what is in a file.
func readFile(_ context.Context, file string) (Count, error) {
	text, err := os.ReadFile(file)
	return Count{Files: 1, Lines: strings.Count(string(text), "\n"), Words: len(strings.Fields(string(text)))}, err
}
