# Loom's own tasks. "make" or "make help" lists them; each is safe to run at any
# time and leaves nothing behind but what its line says.

SHELL := /bin/bash

# Every directory with a go.mod, the root first.
MODULES := . $(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod))

# Seconds of simulation for "make test": over memory; a third of that over SQLite;
# and the search for the planted defects. 3 minutes in all.
SIM_SECONDS ?= 90
SABOTAGE_SECONDS ?= 60
# What "make sim" replays (the failure says it), and how long "make sim-long" searches.
SEED ?= 1
RUN ?= Sim
SHRINK ?=
LONG_SECONDS ?= 1800
# How many seeds "make sim-pr" runs.
PR_SEEDS ?= 10000
# Interruptions of a run that "make explore" enumerates.
BOUND ?= 4
# Time for each fuzz target.
FUZZ_TIME ?= 20s
# How often an input is tried smaller. A simulated story takes a thousand times as long as
# a codec, and the tool would spend its time on that.
FUZZ_MINIMIZE ?= 4x

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# What the race detector looks at: everything with concurrency of its own.
RACE := ./event/... ./fold/... ./store/... ./internal/kernel/... ./internal/rt/... ./loomtest/... .
# The engine under package sqlite is twenty times slower under the race detector.
# These of its tests hold it against the kit and the simulator, with one goroutine
# most of the time; "make test" runs them.
RACE_SLOW := TestConformance|TestModel|TestSim|TestManySleepers|TestReplayOfManyEvents
# These are many runs of what other tests run too, most of them of one
# goroutine at a time; "make test" runs them.
RACE_MANY := TestSimExplore|Everywhere|NodesWithoutTheFlow|MailModel|NodesAreEnough|Shrinking|TestAPausedExecutionDoesNothing

SIMULATING := ./internal/sim/... $(if $(wildcard sqlite/go.mod),./sqlite/...)

TALLY := go run ./internal/tally

.PHONY: help
help: ## list these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: test
test: ## all tests of all modules, about 3 minutes of simulation, and the counts
	@LOOM_SIM_SECONDS=$(SIM_SECONDS) $(TALLY) test $(if $(V),-v) -flags "-count=1 -timeout=20m" $(MODULES)
	@$(MAKE) --no-print-directory sabotage

.PHONY: sabotage
sabotage: ## plant each known defect, and see that the tests find it
	@LOOM_SABOTAGE_SECONDS=$(SABOTAGE_SECONDS) $(TALLY) test $(if $(V),-v) -packages ./internal/sim \
		-flags "-count=1 -timeout=20m -tags=loomsabotage -run=EveryDefect"

.PHONY: race
race: ## the race detector on everything that has concurrency of its own
	@CGO_ENABLED=1 LOOM_SIM_SECONDS=5 go test -race -count=1 -timeout=20m -skip '$(RACE_MANY)' $(RACE) ./internal/sim/...
	@GOMAXPROCS=1 go test -count=1 -run SimDigests ./internal/sim
	@$(if $(wildcard sqlite/go.mod),CGO_ENABLED=1 go test -race -count=1 -timeout=20m -skip '$(RACE_SLOW)' ./sqlite/...)

.PHONY: lint
lint: ## gofmt, go vet and staticcheck, in every module
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@set -e; for m in $(MODULES); do echo "# go vet and staticcheck in module $$m"; \
		(cd $$m && go vet ./... && go run $(STATICCHECK) ./...); done

.PHONY: floors
floors: ## the rules of the house: imports, sizes, banned calls, comments
	@go test -count=1 ./internal/floors ./internal/promise ./internal/tally

.PHONY: verify
verify: lint floors ## lint, the rules of the house, and that docs and go.mod files are up to date
	@$(TALLY) promises
	@set -e; for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy -diff); done

.PHONY: promises
promises: ## write the "shown by" columns of docs/spec from the tests
	@$(TALLY) promises -write

.PHONY: sim
sim: ## replay one seed of the simulation: make sim SEED=1, and SHRINK=1 to shrink it if it fails
	@LOOM_SIM_SEED=$(SEED) LOOM_SIM_SHRINK=$(SHRINK) $(TALLY) test -v -packages "$(SIMULATING)" -flags "-count=1 -run $(RUN)"

.PHONY: sim-long
sim-long: ## search for failing seeds: make sim-long LONG_SECONDS=1800
	@LOOM_SIM_SECONDS=$(LONG_SECONDS) $(TALLY) test -packages "$(SIMULATING)" -flags "-count=1 -timeout=0 -run Sim"

.PHONY: explore
explore: ## every order of the small stories, with more interruptions than "make test": make explore BOUND=4
	@LOOM_EXPLORE_BOUND=$(BOUND) $(TALLY) test -v -packages ./internal/sim -flags "-count=1 -timeout=0 -run SimExplore|WithoutTheFlow"

.PHONY: sim-pr
sim-pr: ## 10,000 random stories and the races, each run twice, on all cores, with counts
	@LOOM_SIM_SEEDS=$(PR_SEEDS) $(TALLY) test -v -packages ./internal/sim -flags "-count=1 -timeout=60m -run SimCluster$$|SimRich|SimFamily"

.PHONY: determinism
determinism: ## the same logs with one processor, with two, and under the race detector
	@GOMAXPROCS=1 go test -count=1 -run SimDigests ./internal/sim
	@GOMAXPROCS=2 go test -count=1 -run SimDigests ./internal/sim
	@CGO_ENABLED=1 GOMAXPROCS=2 go test -race -count=1 -run SimDigests ./internal/sim

.PHONY: corpus
corpus: ## write a script for each planted defect that has none, or none that shows it any more
	@go test -count=1 -timeout=60m -tags=loomsabotage -v -run EveryDefectOfTheCorpus ./internal/sim -update

.PHONY: sleepers
sleepers: ## let N executions sleep on one SQLite file, and print what they cost and how late they wake: make sleepers N=1000000
	@cd sqlite && LOOM_SLEEPERS=$(or $(N),1000000) go test -count=1 -timeout=0 -v -run 'TestManySleepers' .

.PHONY: fuzz
fuzz: ## every fuzz target of every module for FUZZ_TIME
	@set -e; for m in $(MODULES); do cd $(CURDIR)/$$m; for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "# $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime $(FUZZ_MINIMIZE) $$p; done; done; done

.PHONY: bench
bench: ## the workloads of the speed goals, each beside the raw store of the same run
	@cd bench && go run .

.PHONY: bench-peers
bench-peers: ## the same with other engines beside it, in the same runs
	@$(MAKE) -C bench peers

.PHONY: demo
demo: ## audit a directory tree, killed and resumed on the way
	@go run ./cmd/loom demo
