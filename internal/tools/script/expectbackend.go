package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

var (
	backendFields = []string{"volumes", "deleted", "problems", "problem"}
	volumeFields  = []string{"there", "size", "usable", "attached", "staged", "published", "writes", "writer", "segment"}
	booleanFields = []string{"there", "running", "partitioned"} // those of the fields in this file that are booleans
	kubeletFields = []string{"running", "partitioned", "containers", "mounts", "reads", "writes", "failures"}
)

func readExpectBackend(s *Script, words []string) (step, error) {
	if len(words) < 2 {
		return nil, usageOf("expect", "missing backend or condition")
	}
	name := words[0]
	if err := knownBackend(s, name); err != nil {
		return nil, err
	}
	if id, ok := strings.CutPrefix(words[1], "volume="); ok {
		conditions, err := readConditions("volume of a backend", volumeFields, words[2:])
		return func(r *runner) error {
			m, err := r.backendNamed(name)
			if err != nil {
				return err
			}
			v, there := m.Volume(id)
			return requireAll(conditions, func(field string) string { return volumeField(v, there, field) })
		}, err
	}
	conditions, err := readConditions("backend", backendFields, words[1:])
	return func(r *runner) error {
		m, err := r.backendNamed(name)
		if err != nil {
			return err
		}
		report := m.Report(r.volumes())
		err = requireAll(conditions, func(field string) string { return backendField(m, report, field) })
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

func readExpectKubelet(words []string) (step, error) {
	if len(words) < 2 {
		return nil, usageOf("expect", "missing node or condition")
	}
	node := words[0]
	conditions, err := readConditions("kubelet", kubeletFields, words[1:])
	return func(r *runner) error {
		m, err := r.cluster.Node(node)
		if err != nil {
			return err
		}
		return requireAll(conditions, func(field string) string { return kubeletField(m, field) })
	}, err
}

func kubeletField(m *mount.Node, field string) string {
	switch field {
	case "running":
		return strconv.FormatBool(m.Running())
	case "partitioned":
		return strconv.FormatBool(m.Partitioned())
	case "containers":
		return strconv.Itoa(len(internals.Node(m).Containers()))
	case "mounts":
		return strconv.Itoa(len(m.Mounts()))
	}
	counts := map[string]int{}
	for _, a := range m.Accesses() {
		switch {
		case a.Err != nil:
			counts["failures"]++
		case a.Wrote:
			counts["writes"]++
		default:
			counts["reads"]++
		}
	}
	return strconv.Itoa(counts[field])
}

func readBackends(s *Script, args []string) (step, error) {
	u, err := s.newSetup(-1)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return nil, usageOf("backends", "want at most one name")
	}
	if len(args) == 1 && u.backends[args[0]] == nil {
		return nil, fmt.Errorf("unknown backend %s; begin the script with a line backend %s", args[0], args[0])
	}
	return func(r *runner) error {
		if r.quiet && !r.last() {
			return nil
		}
		var names []string
		for name := range r.backends {
			if len(args) == 0 || name == args[0] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			r.printBackend(name, r.backends[name], r.volumes())
		}
		return nil
	}, nil
}

func (r *runner) printBackend(name string, m scriptBackend, pvs []*corev1.PersistentVolume) {
	volumes := m.Volumes()
	r.printf("%s: %d volumes, %d deleted\n", name, len(volumes), len(m.Deleted()))
	for _, v := range volumes {
		r.printf("  %s", v.ID)
		for _, field := range []string{"attached", "staged", "published", "writes", "writer", "segment"} {
			if text := volumeField(v, true, field); text != "" && text != "0" {
				r.printf(" %s=%s", field, text)
			}
		}
		r.printf("\n")
	}
	for _, problem := range m.Report(pvs) {
		r.printf("  problem: %s\n", problem)
	}
}
