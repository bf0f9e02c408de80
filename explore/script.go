package explore

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/scenario"
	"github.com/volsim/volsim/store"
)

// Script is a script as a sweep plays it: with every invariant watched unless the script itself says which, and with a look at the storage at
// its end.
type Script struct {
	script *scenario.Script
	shift  int // by how many lines it is longer at its beginning
	last   int // the line that looks at the storage
	// Range is what a line of seeds says, as FROM..TO; "" without one.
	Range string
	// Chosen is true if the script itself says which invariants are watched. All are otherwise.
	Chosen bool
	// Some is true if the script is to succeed with one of these seeds only.
	Some bool
}

// watchLine is put in front of a script that names no invariants.
const watchLine = "config watch=all"

// ReadScript reads a script. The errors are those of scenario.Parse.
func ReadScript(name string, data []byte) (*Script, error) {
	if _, err := scenario.Parse(name, data); err != nil {
		return nil, err
	}
	return readScript(name, data)
}

// ReadManifests makes a script of manifests, as scenario.FromManifests does, whose errors it has.
func ReadManifests(name string, files ...scenario.File) (*Script, error) {
	plain, err := scenario.FromManifests(name, files...)
	if err != nil {
		return nil, err
	}
	// Its text is in what a run gives back.
	seed := int64(0)
	result, _ := scenario.Run(plain, scenario.Options{Seed: &seed})
	if result.Cluster != nil {
		result.Cluster.Close()
	}
	return readScript(name, result.Archive)
}

func readScript(name string, data []byte) (*Script, error) {
	s := &Script{}
	archive := txtar.Parse(data)
	lines := strings.Split(strings.TrimRight(string(archive.Comment), "\n"), "\n")
	// What stands below a stop is not played.
	if i := slices.IndexFunc(lines, func(text string) bool { return verb(text) == "stop" }); i >= 0 {
		lines = lines[:i]
	}
	for _, text := range lines {
		switch words := strings.Fields(text); verb(text) {
		case "seeds":
			s.Range, s.Some = words[1], len(words) > 2 && words[2] == "some"
		case "config":
			s.Chosen = s.Chosen || strings.Contains(text, " check=") || strings.Contains(text, " watch=")
		}
	}
	lines = append(lines, "backends")
	if !s.Chosen {
		lines, s.shift = append([]string{watchLine}, lines...), 1
	}
	archive.Comment = []byte(strings.Join(lines, "\n") + "\n")
	script, err := scenario.Parse(name, txtar.Format(archive))
	if err != nil {
		return nil, fmt.Errorf("explore: %s cannot be swept: %w", name, err)
	}
	s.script, s.last = script, len(lines)
	return s, nil
}

// verb is the first word of a line.
func verb(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// Line is a line of the script that did not do as it should, or an expectation that is to hold with some seed.
type Line struct {
	Line    int    `json:"line"`
	Command string `json:"command,omitempty"`
	// Text is why it failed, in a line; "" for one that held.
	Text  string `json:"text,omitempty"`
	Count int    `json:"count"` // with how many seeds
	Seed  int64  `json:"seed"`  // the smallest of them
}

// Play plays the script with one seed and counts it. Expectations that fail do not end the run; anything else that fails does, and what the
// storage then holds is not told.
func (s *Script) Play(seed int64) Report {
	result, _ := scenario.Run(s.script, scenario.Options{Seed: &seed, Continue: true})
	var r Report
	var objects []store.Object
	var violations []check.Violation
	if c := result.Cluster; c != nil {
		defer c.Close()
		objects = objectsOf(c)
		violations = c.Violations()
	}
	var rest []string
	if n := len(result.Commands); n > 0 && result.Commands[n-1].Command == "backends" && result.Commands[n-1].Line == s.last {
		if output := strings.TrimRight(result.Commands[n-1].Output, "\n"); output != "" {
			rest = strings.Split(output, "\n")
		}
	}
	for _, f := range result.Failures {
		l := Line{Line: f.Line - s.shift, Command: f.Command, Text: firstLine(f.Err.Error()), Count: 1, Seed: seed}
		r.Failed = append(r.Failed, l)
		rest = append(rest, fmt.Sprintf("failed: line %d: %s: %s", l.Line, l.Command, l.Text))
	}
	for _, some := range result.Some {
		l := Line{Line: some.Line - s.shift, Command: some.Command, Count: len(some.Seeds)}
		if l.Count > 0 {
			l.Seed = seed
		}
		r.Some = append(r.Some, l)
	}
	r.add(Sample{Seed: seed, Outcome: newOutcome(objects, rest, nil), Failed: len(result.Failures) > 0, Violations: violations})
	return r
}

// objectsOf are the objects of a cluster that an outcome tells of.
func objectsOf(c *volsim.Cluster) []store.Object {
	return slices.Concat(list(c.Volumes), list(c.Claims), list(c.Classes), list(c.AttributesClasses), list(c.Pods), list(c.Nodes),
		list(c.Attachments), list(c.CSIDrivers), list(c.CSINodes), list(c.Capacities))
}

func list[T store.Object](table volsim.Table[T]) []store.Object {
	var objs []store.Object
	for _, obj := range table.List() {
		objs = append(objs, obj)
	}
	return objs
}
