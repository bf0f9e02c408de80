// Command traces writes the traces of all lessons, of all known problems and of random histories to a folder, one file for each run.
// Two versions of volsim behave the same if they write the same files: scripts/trace-compare runs it on two commits.
//
//	go run ./internal/proof/traces -dump DIR
package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/proof/history"
	"github.com/volsim/volsim/scenario"
)

var (
	dir       = flag.String("dump", "", "folder to write to")
	histories = flag.Int("histories", 200, "number of random histories")
	seeds     = flag.Int("seeds", 3, "number of seeds of each script; seed 0 is one of them")
	from      = flag.String("root", ".", "root of the module, which contains the scripts")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "traces:", err)
		os.Exit(1)
	}
}

func run() error {
	if *dir == "" {
		return fmt.Errorf("-dump is not set; name a folder")
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	var scripts []string
	for _, pattern := range []string{"examples/*/*.txtar", "problems/*.txtar"} {
		found, err := filepath.Glob(filepath.Join(*from, pattern))
		if err != nil {
			return err
		}
		scripts = append(scripts, found...)
	}
	for _, file := range scripts {
		for seed := range *seeds {
			if err := runScript(file, int64(seed)); err != nil {
				return fmt.Errorf("run %s with seed %d: %w", file, seed, err)
			}
		}
	}
	for seed := range *histories {
		if err := runHistory(int64(seed)); err != nil {
			return fmt.Errorf("run history %d: %w", seed, err)
		}
	}
	fmt.Printf("%d scripts with %d seeds each, %d histories\n", len(scripts), *seeds, *histories)
	return nil
}

// runScript writes the output, the result and the trace of a script. A script that fails is a result like any other.
func runScript(file string, seed int64) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(*from, file)
	if err != nil {
		return err
	}
	s, err := scenario.Parse(filepath.ToSlash(name), data)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	result, err := scenario.Run(s, scenario.Options{Seed: &seed, Out: &out})
	if result == nil || result.Cluster == nil {
		return err
	}
	defer result.Cluster.Close()
	fmt.Fprintf(&out, "error: %v\n", err)
	return write(fmt.Sprintf("%s.%d", strings.ReplaceAll(filepath.ToSlash(name), "/", "_"), seed), result.Cluster, &out)
}

// runHistory writes the trace of a random history with faults; every other one has nodes.
func runHistory(seed int64) error {
	cfg, _ := history.Config(seed)
	c, err := volsim.New(cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	rng := rand.New(rand.NewPCG(uint64(seed), 42))
	opts := history.Options{Steps: 60, UserEdits: true, Faults: true, Nodes: seed%2 == 1, Growth: seed%4 == 3}
	if err := history.Run(c, rng.IntN, opts, nil); err != nil {
		return err
	}
	if err := history.Recover(c, history.SettleTime); err != nil {
		return err
	}
	return write(fmt.Sprintf("history.%d", seed), c, &bytes.Buffer{})
}

// write adds the trace to out and writes all of it to a file.
func write(name string, c *volsim.Cluster, out *bytes.Buffer) error {
	if err := c.Trace().WriteText(out); err != nil {
		return err
	}
	if err := c.Trace().WriteJSON(out); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*dir, name), out.Bytes(), 0o644)
}
