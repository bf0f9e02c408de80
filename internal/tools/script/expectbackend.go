package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

var (
	backendFields = []string{"volumes", "deleted", "problems", "problem"}
	volumeFields  = []string{"there", "size", "usable", "attached", "staged", "published", "writes", "writer", "segment"}
	booleanFields = []string{"there", "running", "partitioned"} // of those here
	machineFields = []string{"running", "partitioned", "containers", "mounts", "reads", "writes", "failures"}
)

func readExpectBackend(s *Script, words []string) (step, error) {
	if len(words) < 2 {
		return nil, usageOf("expect", "a backend and what holds of it are needed")
	}
	name := words[0]
	if err := knownBackend(s, name); err != nil {
		return nil, err
	}
	if id, ok := strings.CutPrefix(words[1], "volume="); ok {
		conditions, err := readConditions("volume of a backend", volumeFields, words[2:])
		return func(p *player) error {
			m, err := p.backendNamed(name)
			if err != nil {
				return err
			}
			v, there := m.Volume(id)
			return holdsOrWhy(conditions, func(field string) string { return volumeField(v, there, field) })
		}, err
	}
	conditions, err := readConditions("backend", backendFields, words[1:])
	return func(p *player) error {
		m, err := p.backendNamed(name)
		if err != nil {
			return err
		}
		report := m.Report(p.cluster.Volumes.List())
		err = holdsOrWhy(conditions, func(field string) string { return backendField(m, report, field) })
		if err != nil && len(report) > 0 {
			return fmt.Errorf("%w (problems: %s)", err, listed(problemTexts(report), ", "))
		}
		return err
	}, err
}

func problemTexts(report []fake.Problem) []string {
	texts := make([]string, len(report))
	for i, problem := range report {
		texts[i] = problem.String()
	}
	return texts
}

func backendField(m scriptBackend, report []fake.Problem, field string) string {
	switch field {
	case "volumes":
		return strconv.Itoa(len(m.Volumes()))
	case "deleted":
		return strconv.Itoa(len(m.Deleted()))
	case "problems":
		return strconv.Itoa(len(report))
	default:
		var kinds []string
		for _, problem := range report {
			kinds = append(kinds, string(problem.Kind))
		}
		slices.Sort(kinds)
		return strings.Join(slices.Compact(kinds), ",")
	}
}

func volumeField(v fake.VolumeState, there bool, field string) string {
	var texts []string
	switch field {
	case "there":
		return strconv.FormatBool(there)
	case "size":
		return strconv.FormatInt(v.Size, 10)
	case "usable":
		return strconv.FormatInt(v.Usable, 10)
	case "writes":
		return strconv.Itoa(len(v.Writes))
	case "writer":
		if v.Content.Version == 0 {
			return ""
		}
		return v.Content.Pod.String()
	case "attached":
		for _, a := range v.Attached {
			texts = append(texts, a.Node)
		}
	case "staged":
		for _, s := range v.Staged {
			texts = append(texts, s.Node)
		}
	case "published":
		for _, p := range v.Published {
			texts = append(texts, p.Pod.String())
		}
	case "segment":
		for _, s := range v.Topology {
			texts = append(texts, segmentText(s))
		}
	}
	return strings.Join(texts, ",")
}

func segmentText(s storage.Segment) string {
	var pairs []string
	for key, value := range s {
		pairs = append(pairs, key+":"+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func readExpectMachine(words []string) (step, error) {
	if len(words) < 2 {
		return nil, usageOf("expect", "a node and what holds of its machine are needed")
	}
	node := words[0]
	conditions, err := readConditions("machine", machineFields, words[1:])
	return func(p *player) error {
		m, err := p.cluster.Machine(node)
		if err != nil {
			return err
		}
		return holdsOrWhy(conditions, func(field string) string { return machineField(m, field) })
	}, err
}

func machineField(m *mount.Node, field string) string {
	reads, writes, failures := 0, 0, 0
	for _, a := range m.Accesses() {
		switch {
		case a.Err != nil:
			failures++
		case a.Wrote:
			writes++
		default:
			reads++
		}
	}
	switch field {
	case "running":
		return strconv.FormatBool(m.Running())
	case "partitioned":
		return strconv.FormatBool(m.Partitioned())
	case "containers":
		return strconv.Itoa(len(m.Containers()))
	case "mounts":
		return strconv.Itoa(len(m.Disk().Mounts()))
	case "reads":
		return strconv.Itoa(reads)
	case "writes":
		return strconv.Itoa(writes)
	default:
		return strconv.Itoa(failures)
	}
}

func readBackends(s *Script, args []string) (step, error) {
	u, err := s.newSetup(-1)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, usageOf("backends", "one name is enough")
	}
	if len(args) == 1 && u.backends[args[0]] == nil {
		return nil, fmt.Errorf("there is no backend %s: begin the script with a line backend %s", args[0], args[0])
	}
	return func(p *player) error {
		var names []string
		for name := range p.backends {
			if len(args) == 0 || name == args[0] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			p.printBackend(name, p.backends[name], p.cluster.Volumes.List())
		}
		return nil
	}, nil
}

func (p *player) printBackend(name string, m scriptBackend, pvs []*corev1.PersistentVolume) {
	volumes := m.Volumes()
	p.printf("%s: %d volumes, %d deleted\n", name, len(volumes), len(m.Deleted()))
	for _, v := range volumes {
		p.printf("  %s", v.ID)
		for _, field := range []string{"attached", "staged", "published", "writes", "writer", "segment"} {
			if text := volumeField(v, true, field); text != "" && text != "0" {
				p.printf(" %s=%s", field, text)
			}
		}
		p.printf("\n")
	}
	for _, problem := range m.Report(pvs) {
		p.printf("  problem: %s\n", problem)
	}
}
