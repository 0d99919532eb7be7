package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	if isChild() {
		os.Exit(child(os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the flags say.
type config struct {
	runs   int
	stores []*kind
	only   []string // names of workloads, nil for all
	dir    string   // where the database files go
	peers  string   // directory of the peers' programs, "" for none
	json   bool
	size   sizes

	cpuprofile, blockprofile, mutexprofile string
}

// run measures what args ask for and prints it. It returns the exit code: 0, 1 for a
// count that is wrong or a failure, 2 for bad flags.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	cfg, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	rep, err := measure(ctx, cfg, errs)
	if err != nil {
		fmt.Fprintln(errs, "bench:", err)
		return 1
	}
	if cfg.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(rep)
	} else {
		err = rep.print(out)
	}
	if err != nil {
		fmt.Fprintln(errs, "bench:", err)
		return 1
	}
	if len(rep.Wrong) > 0 {
		for _, w := range rep.Wrong {
			fmt.Fprintln(errs, "bench: wrong:", w)
		}
		return 1
	}
	return 0
}

// parse reads the flags.
func parse(args []string, errs io.Writer) (*config, error) {
	cfg := &config{size: fullSizes()}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(errs)
	stores := fs.String("stores", "memory,sqlite-full,sqlite-normal", "stores to measure, by name")
	only := fs.String("only", "", "workloads to measure, as in W1,W2; empty for all: "+strings.Join(workloadNames(), ","))
	fs.IntVar(&cfg.runs, "runs", 3, "runs of everything; medians are printed")
	scale := fs.Int("scale", 1, "do so many times the work of W1 and W2, for a profile")
	fs.StringVar(&cfg.dir, "dir", "", "directory for the database files, on a real disk; empty for a temporary one")
	fs.StringVar(&cfg.peers, "peers", "", "directory of the programs that measure peers; empty for none")
	fs.BoolVar(&cfg.json, "json", false, "print JSON instead of the table")
	fs.StringVar(&cfg.cpuprofile, "cpuprofile", "", "write a CPU profile of all runs to this file")
	fs.StringVar(&cfg.blockprofile, "blockprofile", "", "write a profile of waiting to this file; slows everything")
	fs.StringVar(&cfg.mutexprofile, "mutexprofile", "", "write a profile of locks to this file")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	complain := func(format string, args ...any) (*config, error) {
		err := fmt.Errorf(format, args...)
		fmt.Fprintln(errs, "bench:", err)
		return nil, err
	}
	if fs.NArg() > 0 {
		return complain("unexpected argument %q", fs.Arg(0))
	}
	if cfg.runs < 1 {
		return complain("-runs is %d", cfg.runs)
	}
	if *scale < 1 {
		return complain("-scale is %d", *scale)
	}
	cfg.size.executions *= *scale
	cfg.size.steps *= *scale
	cfg.size.readOnly *= *scale
	for name := range strings.SplitSeq(*stores, ",") {
		k := kindOf(name)
		if k == nil {
			return complain("there is no store %q", name)
		}
		cfg.stores = append(cfg.stores, k)
	}
	if *only != "" {
		for name := range strings.SplitSeq(*only, ",") {
			i := slices.IndexFunc(workloadNames(), func(n string) bool { return strings.EqualFold(n, name) })
			if i < 0 {
				return complain("there is no workload %q", name)
			}
			cfg.only = append(cfg.only, workloadNames()[i])
		}
	}
	return cfg, nil
}

// wants reports whether a workload was asked for.
func (c *config) wants(workload string) bool {
	return c.only == nil || slices.Contains(c.only, workload)
}
