package script

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/dump"
)

// setup is the result of the setup lines, for one cluster.
type setup struct {
	config   volsim.Config
	seed     int64 // that the script names
	backends map[string]scriptBackend
	enforced []string // the invariants whose violation is a failure
	dump     *dump.Cluster
	// standard are the components that make the objects of a real cluster.
	standard []string
	server   bool // the cluster has an API server for the command request
}

// setupLine is the contribution of one setup line.
type setupLine struct {
	line  int
	apply func(*setup) error
}

// newSetup applies the setup lines except one; -1 applies all.
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

// newCluster creates the cluster of a run that writes its log to log, if there is one, and passes the API server's warnings to warn.
func (s *Script) newCluster(seed int64, opts Options, log io.Writer, warn func(string)) (*volsim.Cluster, *setup, error) {
	u, err := s.newSetup(-1)
	if err != nil {
		return nil, nil, err
	}
	u.config.Warn, u.seed = warn, u.config.Seed
	internal := internals.Options(&u.config)
	u.config.Seed, internal.Choose, internal.Remains = seed, opts.Choose, opts.Remains
	if opts.Log != nil {
		u.config.Log, u.config.LogV, u.config.LogModules = log, opts.Log.V, opts.Log.Modules
	}
	if opts.Choose != nil && !s.HasNodes() {
		// Without nodes these controllers do nothing, but there are far fewer orders to explore without them.
		u.config.Without = append(u.config.Without, actors.NodeFailure...)
	}
	c, err := volsim.New(u.config)
	if err == nil && opts.Policies != nil {
		opts.Policies(c)
	}
	return c, u, err
}

// watch adds invariants that are not there yet.
func (u *setup) watch(names string) ([]check.Invariant, error) {
	found, err := invariants(names)
	if err != nil {
		return nil, err
	}
	if len(u.config.Check) == 0 {
		u.config.Check = found
		return found, nil
	}
	u.config.Check = slices.Grow(slices.Clip(u.config.Check), len(found))
	for _, inv := range found {
		if !slices.ContainsFunc(u.config.Check, func(other check.Invariant) bool { return other.Name == inv.Name }) {
			u.config.Check = append(u.config.Check, inv)
		}
	}
	return found, nil
}

// checkSetup creates a cluster; if that fails, it reports the line without which it would succeed.
func (s *Script) checkSetup() error {
	c, u, err := s.newCluster(0, Options{}, nil, nil)
	if err == nil {
		c.Close()
		s.seed = u.seed
		return nil
	}
	culprit := max(len(s.modifiers)-1, 0)
	for i := range s.modifiers {
		u, failed := s.newSetup(i)
		if failed != nil {
			continue
		}
		if c, failed := volsim.New(u.config); failed == nil {
			c.Close()
			culprit = i
		}
	}
	line, text := 1, ""
	if len(s.modifiers) > 0 {
		line = s.modifiers[culprit].line
	}
	for _, st := range s.statements {
		if st.line == line {
			text = st.text
		}
	}
	return s.errorAt(line, text, errors.New(asKey(err.Error())))
}

// asKey returns the text of an error about a field of volsim.Config with the key of config that sets the field.
func asKey(text string) string {
	rest, ok := strings.CutPrefix(text, "volsim: Config.")
	if !ok {
		return text
	}
	field, rest, _ := strings.Cut(rest, " ")
	var key strings.Builder
	for i, c := range field {
		if unicode.IsUpper(c) && i > 0 && field[i-1] != '.' {
			key.WriteByte('-')
		}
		key.WriteRune(unicode.ToLower(c))
	}
	return key.String() + " " + rest
}

// add adds a setup line after trying it.
func (s *Script) add(apply func(*setup) error) error {
	u := &setup{backends: make(map[string]scriptBackend)}
	if err := apply(u); err != nil {
		return err
	}
	s.modifiers = append(s.modifiers, setupLine{line: s.line, apply: apply})
	return nil
}

// seeds is the range of seeds that a script runs with.
type seeds struct {
	from, to int64
	some     bool // one passing seed is enough
}

func (s seeds) count() int { return int(s.to-s.from) + 1 }

func (s seeds) String() string { return fmt.Sprintf("%d..%d", s.from, s.to) }

// maxSeeds bounds the number of seeds of a script.
const maxSeeds = 100_000

func setupCommands() []*command {
	return []*command{
		{
			name: "config", group: setups, setup: true, usage: []string{"KEY=VALUE..."},
			help:     "Configures the cluster. The keys are:\n\n" + configHelp(),
			examples: []string{"config seed=3 lag.persistentvolume-controller=2s", "config without=kube-scheduler,kubelet"},
			read:     readConfig,
		},
		{
			name: "seeds", group: setups, setup: true, usage: []string{"FROM..TO [each|some]"},
			help: "Runs the script once for each of these seeds, each time in a new cluster. With `each`, the default, it must pass with every seed; " +
				"a line with the prefix `some` is an expectation that must hold with at least one seed, and does not end the run where " +
				"it does not hold. With `some` the whole script must pass with at least one seed; the first passing seed ends the search. " +
				"Seed 0 runs events that are due at the same time first in, first out; other seeds shuffle them and may interrupt a controller between two API calls.",
			examples: []string{"seeds 1..50", "seeds 1..200 some"},
			read:     readSeeds,
		},
		{
			name: "backend", group: setups, setup: true, usage: []string{"NAME [OPTION...]"},
			help: "Adds a storage system. A name that begins with `kubernetes.io/` is an in-tree plugin (`kubernetes.io/nfs` and `kubernetes.io/host-path` behave " +
				"as in Kubernetes, others can create and delete volumes); any other name is a CSI driver with its sidecars. The options are:\n\n" + backendHelp(),
			examples: []string{"backend disk.example.com", "backend disk.example.com quota=100Gi latency.Attach=10s lenient",
				"backend kubernetes.io/nfs"},
			read: readBackend,
		},
	}
}

func readSeeds(s *Script, args []string) (step, error) {
	mode := "each"
	if len(args) == 2 {
		mode = args[1]
	}
	if len(args) < 1 || len(args) > 2 || mode != "each" && mode != "some" {
		return nil, usageOf("seeds", "missing or invalid range")
	}
	if s.seeds != nil {
		return nil, errors.New("duplicate line seeds")
	}
	from, to, ok := strings.Cut(args[0], "..")
	if !ok {
		return nil, usageOf("seeds", fmt.Sprintf("invalid range %q", args[0]))
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return nil, usageOf("seeds", fmt.Sprintf("invalid range %q: want numbers", args[0]))
	}
	if last < first || first < 0 || last == math.MaxInt64 {
		return nil, fmt.Errorf("invalid range %s: want numbers from 0, the smaller first", args[0])
	}
	if last-first >= maxSeeds {
		return nil, fmt.Errorf("invalid range: more than %d seeds", maxSeeds)
	}
	s.seeds = &seeds{from: first, to: last, some: mode == "some"}
	return nil, nil
}
