package script

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
)

// setup is what the first lines make up, for one cluster.
type setup struct {
	config   volsim.Config
	backends map[string]scriptBackend
	must     []string // the invariants whose violation is a failure
}

// modifier is what one of the first lines adds to a setup.
type modifier struct {
	line  int
	apply func(*setup) error
}

// newSetup puts the first lines together, all but one: -1 is none.
func (s *Script) newSetup(without int) (*setup, error) {
	u := &setup{backends: make(map[string]scriptBackend)}
	for i, m := range s.modifiers {
		if i == without {
			continue
		}
		if err := m.apply(u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// newCluster makes the cluster that a run begins with.
func (s *Script) newCluster(seed int64, choose func(n int) int) (*volsim.Cluster, *setup, error) {
	u, err := s.newSetup(-1)
	if err != nil {
		return nil, nil, err
	}
	u.config.Seed, u.config.Choose = seed, choose
	c, err := volsim.New(u.config)
	return c, u, err
}

// watch adds invariants, each once.
func (u *setup) watch(names string) ([]check.Invariant, error) {
	found, err := invariants(names)
	if err != nil {
		return nil, err
	}
	for _, inv := range found {
		if !slices.ContainsFunc(u.config.Check, func(other check.Invariant) bool { return other.Name == inv.Name }) {
			u.config.Check = append(u.config.Check, inv)
		}
	}
	return found, nil
}

// checkSetup sees whether a cluster can be made, and blames the line without which it could.
func (s *Script) checkSetup() error {
	c, _, err := s.newCluster(0, nil)
	if err == nil {
		c.Close()
		return nil
	}
	guilty := max(len(s.modifiers)-1, 0)
	for i := range s.modifiers {
		u, failed := s.newSetup(i)
		if failed != nil {
			continue
		}
		if c, failed := volsim.New(u.config); failed == nil {
			c.Close()
			guilty = i
		}
	}
	line, text := 1, ""
	if len(s.modifiers) > 0 {
		line = s.modifiers[guilty].line
	}
	for _, st := range s.statements {
		if st.line == line {
			text = st.text
		}
	}
	return s.errorAt(line, text, err)
}

// add keeps what a line adds to the setup, if it can be added.
func (s *Script) add(apply func(*setup) error) error {
	u := &setup{backends: make(map[string]scriptBackend)}
	if err := apply(u); err != nil {
		return err
	}
	s.modifiers = append(s.modifiers, modifier{line: s.line, apply: apply})
	return nil
}

// seeds are those that a script is to be played with.
type seeds struct {
	from, to int64
	some     bool // it is enough if it succeeds with one
}

func (s seeds) count() int { return int(s.to-s.from) + 1 }

func (s seeds) String() string { return fmt.Sprintf("%d..%d", s.from, s.to) }

// maxSeeds bounds how often a script is played.
const maxSeeds = 100_000

func setupCommands() []*command {
	return []*command{
		{
			name: "config", group: setups, setup: true, usage: []string{"KEY=VALUE..."},
			help:     "Sets up the cluster. The keys are:\n\n" + configHelp(),
			examples: []string{"config seed=3 lag.persistentvolume-controller=2s", "config without=kube-scheduler,kubelet"},
			read:     readConfig,
		},
		{
			name: "seeds", group: setups, setup: true, usage: []string{"FROM..TO [each|some]"},
			help: "Plays the script once for each of these seeds, each in a cluster of its own. With `each`, the default, it must succeed with every one; " +
				"a line that begins with the word `some` is then an expectation that must hold with at least one of them, and does not end the run where " +
				"it does not hold. With `some` the whole script must succeed with at least one seed, and the first such ends the search. " +
				"Seed 0 plays in order; all others shuffle what is due at the same instant, also in the middle of what a controller does.",
			examples: []string{"seeds 1..50", "seeds 1..200 some"},
			read:     readSeeds,
		},
		{
			name: "backend", group: setups, setup: true, usage: []string{"NAME [OPTION...]"},
			help: "Adds a storage system. A name that begins with `kubernetes.io/` is an in-tree plugin (`kubernetes.io/nfs` and `kubernetes.io/host-path` as " +
				"Kubernetes has them, any other one that can create and delete), any other name a CSI driver with its sidecars. The options are:\n\n" + backendHelp(),
			examples: []string{"backend disk.example.com", "backend disk.example.com quota=100Gi latency.Attach=10s lenient", "backend kubernetes.io/nfs"},
			read:     readBackend,
		},
	}
}

func readSeeds(s *Script, args []string) (step, error) {
	mode := "each"
	if len(args) == 2 {
		mode = args[1]
	}
	if len(args) < 1 || len(args) > 2 || mode != "each" && mode != "some" {
		return nil, usageOf("seeds", "it is not said which seeds")
	}
	if s.seeds != nil {
		return nil, errors.New("there is another line with seeds")
	}
	from, to, ok := strings.Cut(args[0], "..")
	if !ok {
		return nil, usageOf("seeds", fmt.Sprintf("%q is no range", args[0]))
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return nil, usageOf("seeds", fmt.Sprintf("%q is no range of numbers", args[0]))
	}
	if last < first || first < 0 || last == math.MaxInt64 {
		return nil, fmt.Errorf("the range %s is empty or not of numbers from 0 on: write the smaller seed first", args[0])
	}
	if last-first >= maxSeeds {
		return nil, fmt.Errorf("these are more than %d seeds", maxSeeds)
	}
	s.seeds = &seeds{from: first, to: last, some: mode == "some"}
	return nil, nil
}

// seed is the one to play without a line of seeds.
func (s *Script) seed() int64 {
	u, err := s.newSetup(-1)
	if err != nil {
		return 0
	}
	return u.config.Seed
}
