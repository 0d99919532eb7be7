package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// peers are the engines that have a program below -peers, by the name of their directory.
var peers = []string{"dbos", "go-workflows"}

// peerFigure is what a peer's program prints, a JSON array of them.
type peerFigure struct {
	Work  string  `json:"work"`
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// askPeers runs the peers' programs once, as a part of this run. One that cannot be built
// or fails is noted, and not asked again.
func (r *report) askPeers(ctx context.Context, dir string) {
	for _, name := range peers {
		if _, failed := r.NoPeers[name]; failed {
			continue
		}
		figures, err := r.askPeer(ctx, name, dir)
		if err != nil {
			if r.NoPeers == nil {
				r.NoPeers = map[string]string{}
			}
			r.NoPeers[name] = err.Error()
			continue
		}
		for _, f := range figures {
			r.sheet.add(name, f.Work, f.Name, f.Unit, f.Value)
		}
	}
}

func (r *report) askPeer(ctx context.Context, name, dir string) ([]peerFigure, error) {
	program := filepath.Join(dir, "peer-"+name)
	if _, err := os.Stat(program); err != nil {
		// A module of its own, outside of the workspace: its versions are its own.
		build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
		build.Dir, build.Env = filepath.Join(r.cfg.peers, name), append(os.Environ(), "GOWORK=off")
		if said, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("not built: %v: %s", err, lastLine(said))
		}
	}
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-dir", dir)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %s", err, lastLine(complaint.Bytes()))
	}
	var figures []peerFigure
	return figures, json.Unmarshal(out, &figures)
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
