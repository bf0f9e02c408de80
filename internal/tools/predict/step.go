package predict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/store"
)

// Step is one thing that is done to the cluster.
type Step struct {
	// Text is the step as it was written.
	Text string
	do   func(*run) error
}

// verbs are the steps there are. Each takes the words after it.
var verbs = []struct {
	name, usage string
	does        string
	parse       func(args []string) (func(*run) error, error)
}{
	{"delete", "delete [--force] OBJECT...", "delete objects as kubectl does; --force leaves no grace period", parseDelete},
	{"apply", "apply FILE", "create or update the objects of a manifest", nil}, // parseApply, which reads the file
	{"patch", "patch OBJECT JSON", "apply a JSON merge patch", parsePatch},
	{"drain", "drain NODE", "cordon a node and delete its pods", onNode((*run).drain)},
	{"cordon", "cordon NODE", "have no pods placed on a node", onNode(func(r *run, node string) error { return r.cordon(node, true) })},
	{"uncordon", "uncordon NODE", "have pods placed on it again", onNode(func(r *run, node string) error { return r.cordon(node, false) })},
	{"lose", "lose NODE", "turn a machine off for good", onNode((*run).lose)},
	{"cut", "cut NODE", "cut a machine off from the API server; its containers run on", onNode((*run).cut)},
	{"recover", "recover NODE", "bring a machine back that was lost or cut off", onNode((*run).recover)},
	{"reboot", "reboot NODE", "turn a machine off and on", onNode((*run).reboot)},
	{"out-of-service", "out-of-service NODE", "taint a node as out of service, for its volumes to be detached", onNode((*run).outOfService)},
	{"wait", "wait DURATION", "let time pass", parseWait},
	{"nothing", "nothing", "look at what happens anyway", func(args []string) (func(*run) error, error) {
		if len(args) > 0 {
			return nil, fmt.Errorf("nothing takes no words")
		}
		return func(*run) error { return nil }, nil
	}},
}

// Usage lists the steps there are, one each.
func Usage() []string {
	lines := make([]string, len(verbs))
	for i, v := range verbs {
		lines[i] = v.usage
	}
	return lines
}

// Help lists the steps there are with what they do, one each.
func Help() []string {
	lines := make([]string, len(verbs))
	for i, v := range verbs {
		lines[i] = fmt.Sprintf("%-28s %s", v.usage, v.does)
	}
	return lines
}

// Then divides steps.
const Then = "then"

// Parse reads steps, divided by the word then: delete pvc/shop/data, lose node/n1 then wait 10m then out-of-service node/n1. Files that
// they name are read by readFile.
func Parse(words []string, readFile func(name string) ([]byte, error)) ([]Step, error) {
	var steps []Step
	for len(words) > 0 {
		end := slices.Index(words, Then)
		rest := []string(nil)
		step := words
		if end >= 0 {
			step, rest = words[:end], words[end+1:]
			if len(rest) == 0 {
				return nil, fmt.Errorf("nothing comes after %q", Then)
			}
		}
		parsed, err := parseStep(step, readFile)
		if err != nil {
			return nil, err
		}
		steps = append(steps, parsed)
		words = rest
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("no step is given: write one of: %s", strings.Join(Usage(), "; "))
	}
	return steps, nil
}

func parseStep(words []string, readFile func(name string) ([]byte, error)) (Step, error) {
	if len(words) == 0 {
		return Step{}, fmt.Errorf("a step is empty: write one of: %s", strings.Join(Usage(), "; "))
	}
	for _, v := range verbs {
		if v.name != words[0] {
			continue
		}
		parse := v.parse
		if parse == nil {
			parse = func(args []string) (func(*run) error, error) { return parseApply(args, readFile) }
		}
		do, err := parse(words[1:])
		if err != nil {
			return Step{}, fmt.Errorf("%s: %w: write %s", strings.Join(words, " "), err, v.usage)
		}
		return Step{Text: strings.Join(words, " "), do: do}, nil
	}
	return Step{}, fmt.Errorf("there is no step %q: write one of: %s", words[0], strings.Join(Usage(), "; "))
}

// onNode makes the parser of a step that takes a node.
func onNode(do func(r *run, node string) error) func([]string) (func(*run) error, error) {
	return func(args []string) (func(*run) error, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("%d nodes are given", len(args))
		}
		kind, name, ok := strings.Cut(args[0], "/")
		if !ok {
			name = kind
		} else if kind != "node" && kind != "no" && kind != "nodes" || name == "" {
			return nil, fmt.Errorf("%q is no node", args[0])
		}
		return func(r *run) error {
			if _, err := r.Nodes.Get(name); err != nil {
				return err
			}
			return do(r, name)
		}, nil
	}
}

func parseDelete(args []string) (func(*run) error, error) {
	force := slices.Contains(args, "--force")
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--force" })
	if len(args) == 0 {
		return nil, fmt.Errorf("no object is given")
	}
	var refs []api.Ref
	for _, arg := range args {
		ref, err := explain.ParseRef(arg)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return func(r *run) error {
		for _, ref := range refs {
			var opts api.DeleteOptions
			if force {
				opts.GracePeriodSeconds = new(int64)
			}
			if err := r.DeleteWith(named(ref), opts); err != nil {
				return err
			}
			r.touched = append(r.touched, ref)
		}
		return nil
	}, nil
}

func parseApply(args []string, readFile func(name string) ([]byte, error)) (func(*run) error, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%d files are given", len(args))
	}
	manifest, err := readFile(args[0])
	if err != nil {
		return nil, err
	}
	objs, err := store.ReadManifests(manifest)
	if err != nil {
		return nil, err
	}
	return func(r *run) error {
		for _, obj := range objs {
			r.touched = append(r.touched, api.RefTo(obj))
		}
		return r.Apply(manifest)
	}, nil
}

func parsePatch(args []string) (func(*run) error, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("an object and a JSON merge patch are wanted")
	}
	ref, err := explain.ParseRef(args[0])
	if err != nil {
		return nil, err
	}
	return func(r *run) error {
		r.touched = append(r.touched, ref)
		return r.Patch(named(ref), args[1])
	}, nil
}

// maxWait bounds what may be waited for: a day of virtual time.
const maxWait = 24 * time.Hour

func parseWait(args []string) (func(*run) error, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("a duration is wanted")
	}
	d, err := time.ParseDuration(args[0])
	switch {
	case err != nil:
		return nil, err
	case d < 0 || d > maxWait:
		return nil, fmt.Errorf("a duration from 0 to %v is wanted", maxWait)
	}
	return func(r *run) error { return r.play(d) }, nil
}

func (r *run) cordon(node string, on bool) error {
	return r.Patch(named(api.Ref{Kind: api.Node, Key: node}), fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, on))
}

// drain cordons a node and deletes its pods, as kubectl drain --ignore-daemonsets --delete-emptydir-data does when no disruption
// budget objects.
func (r *run) drain(node string) error {
	if err := r.cordon(node, true); err != nil {
		return err
	}
	for _, pod := range r.Pods.List() {
		if pod.Spec.NodeName != node || controllerKind(pod) == "DaemonSet" || pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
			continue
		}
		if err := r.Delete(pod); err != nil {
			return err
		}
		r.touched = append(r.touched, api.RefTo(pod))
	}
	return nil
}

// lose turns the machine off for good.
func (r *run) lose(node string) error {
	r.stop(node, "stops with its machine")
	r.outside.lost[node] = r.Now()
	return r.Faults.PowerOff(node)
}

// reboot turns the machine off and on.
func (r *run) reboot(node string) error {
	r.stop(node, "stops, and starts again when its machine is back")
	return r.Faults.Reboot(node)
}

// stop notes that the containers on a node stop.
func (r *run) stop(node, what string) {
	for _, pod := range r.Pods.List() {
		if pod.Spec.NodeName == node && running(pod) {
			r.outcome(Outcome{Kind: Stops, Object: explain.Name(api.RefTo(pod)), What: what})
		}
	}
}

// cut cuts the machine off from the API server; its containers run on.
func (r *run) cut(node string) error {
	r.outside.lost[node] = r.Now()
	return r.Faults.Partition(node, true)
}

// recover brings a machine back.
func (r *run) recover(node string) error {
	delete(r.outside.lost, node)
	if err := r.Faults.Partition(node, false); err != nil {
		return err
	}
	return r.Faults.Start(node)
}

// outOfService adds the taint that says that the machine is off for good.
func (r *run) outOfService(name string) error {
	return r.taint(name, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
}
