package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/drain"
)

func metadataCommands() []*command {
	return []*command{
		{
			name: "label", group: writing, usage: []string{"KIND/NAME | KIND NAME KEY=VALUE... KEY-..."},
			help:     "Sets labels (`KEY=VALUE`) and removes them (`KEY-`). Unlike kubectl it overwrites without `--overwrite`.",
			examples: []string{"label node n1 zone=a", "label pv/pv1 zone-"},
			read:     readMetadata("label", "labels", "labeled"),
		},
		{
			name: "annotate", group: writing, usage: []string{"KIND/NAME | KIND NAME KEY=VALUE... KEY-..."},
			help:     "Sets annotations (`KEY=VALUE`) and removes them (`KEY-`).",
			examples: []string{"annotate pvc/data volume.kubernetes.io/selected-node-"},
			read:     readMetadata("annotate", "annotations", "annotated"),
		},
		{
			name: "scale", group: writing, usage: []string{"KIND/NAME... | KIND NAME... --replicas=N"},
			help:     "Sets the number of replicas of a workload.",
			examples: []string{"scale statefulset/db --replicas=1"},
			read:     readScale,
		},
		{
			name: "rollout", group: writing,
			usage: []string{"restart | pause | resume KIND/NAME...", "undo KIND/NAME [--to-revision=N]", "status KIND/NAME [--timeout=15m] [--watch=false]"},
			help: "Handles the rollout of a workload. `restart` replaces its pods: it sets the annotation kubectl.kubernetes.io/restartedAt of the " +
				"template. `undo` returns to an earlier revision, without `--to-revision` to the previous one. `status` advances time until the " +
				"rollout is complete. `pause` and `resume` are for Deployments.",
			examples: []string{"rollout restart statefulset/db", "rollout status deployment/web --timeout=2m"},
			read:     readRollout,
		},
		{
			name: "taint", group: writing, usage: []string{"node NAME KEY[=VALUE]:EFFECT... KEY[:EFFECT]-..."},
			help: "Adds taints to a node, and removes those followed by a dash.",
			examples: []string{"taint node n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
				"taint node n1 node.kubernetes.io/out-of-service-"},
			read: readTaint,
		},
		{
			name: "cordon", group: writing, usage: []string{"NODE"},
			help:     "Marks a node unschedulable.",
			examples: []string{"cordon n1"},
			read:     readCordon("cordon", true),
		},
		{
			name: "uncordon", group: writing, usage: []string{"NODE"},
			help:     "Marks a node schedulable.",
			examples: []string{"uncordon n1"},
			read:     readCordon("uncordon", false),
		},
		{
			name: "drain", group: writing, usage: []string{"NODE [--ignore-daemonsets] [--timeout=DURATION]"},
			help: "Cordons a node and evicts its pods. Their controllers replace them. While a PodDisruptionBudget forbids an eviction, virtual time " +
				"advances and the command tries again every 5 s, until the timeout. Pods of DaemonSets tolerate a cordon: they stay with " +
				"`--ignore-daemonsets`, and without it the command fails before it evicts a pod, as kubectl does. It does not wait until " +
				"the pods are gone.",
			examples: []string{"drain n1 --ignore-daemonsets"},
			read:     readDrain,
		},
	}
}

// readMetadata reads label and annotate.
func readMetadata(name, where, verb string) func(*Script, []string) (step, error) {
	return func(s *Script, args []string) (step, error) {
		a, err := readArguments(args, namespaceOption, option{long: "overwrite"})
		if err != nil {
			return nil, err
		}
		isPair := func(w string) bool { return strings.Contains(w, "=") || strings.HasSuffix(w, "-") }
		first := slices.IndexFunc(a.rest, isPair)
		if first < 1 {
			return nil, usageOf(name, "missing object, or KEY=VALUE or KEY- to set or remove")
		}
		refs, err := s.refsOf(a.rest[:first], a.get("namespace", ""))
		if err != nil {
			return nil, err
		}
		values := make(map[string]any)
		for _, w := range a.rest[first:] {
			key, value, isSet := strings.Cut(w, "=")
			switch {
			case isSet && key != "":
				values[key] = value
			case !isSet && strings.HasSuffix(w, "-"):
				values[strings.TrimSuffix(w, "-")] = nil
			default:
				return nil, usageOf(name, fmt.Sprintf("invalid argument %q: want KEY=VALUE or KEY-", w))
			}
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{where: values}})
		if err != nil {
			return nil, err
		}
		return func(r *runner) error {
			for _, ref := range refs {
				if err := r.patch(ref, string(patch), false, verb); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
}

func nodeRef(name string) api.Ref { return api.Ref{Kind: api.Node, Key: name} }

// taintChange is one word of the command taint.
type taintChange struct {
	taint  corev1.Taint
	remove bool
}

func readTaint(s *Script, args []string) (step, error) {
	a, err := readArguments(args, option{long: "overwrite"})
	if err != nil {
		return nil, err
	}
	words := a.rest
	if len(words) > 0 && strings.Contains(words[0], "/") && !strings.Contains(words[0], ":") {
		kind, name, _ := strings.Cut(words[0], "/")
		words = append([]string{kind, name}, words[1:]...)
	}
	if len(words) < 3 {
		return nil, usageOf("taint", "missing node or taints")
	}
	if kind, err := s.kindOf(words[0]); err != nil || kind != api.Node {
		return nil, usageOf("taint", "invalid object: only nodes have taints")
	}
	var changes []taintChange
	for _, w := range words[2:] {
		change, err := readTaintChange(w)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	ref := nodeRef(words[1])
	return func(r *runner) error {
		obj, err := r.get(ref)
		if err != nil {
			return err
		}
		taints := obj.(*corev1.Node).Spec.Taints
		for _, c := range changes {
			found := func(t corev1.Taint) bool {
				return t.Key == c.taint.Key && (c.taint.Effect == "" || t.Effect == c.taint.Effect)
			}
			if c.remove && !slices.ContainsFunc(taints, found) {
				return fmt.Errorf("taint %q not found", c.taint.Key)
			}
			taints = slices.DeleteFunc(taints, found)
			if !c.remove {
				taints = append(taints, c.taint)
			}
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
		if err != nil {
			return err
		}
		return r.patch(ref, string(patch), false, "tainted")
	}, nil
}

func readTaintChange(w string) (c taintChange, err error) {
	rest, remove := strings.CutSuffix(w, "-")
	c.remove = remove
	pair, effect, hasEffect := strings.Cut(rest, ":")
	c.taint.Key, c.taint.Value, _ = strings.Cut(pair, "=")
	c.taint.Effect = corev1.TaintEffect(effect)
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	switch {
	case c.taint.Key == "" || !hasEffect && !remove:
		return c, usageOf("taint", fmt.Sprintf("invalid taint %q", w))
	case hasEffect && !slices.Contains(effects, c.taint.Effect):
		return c, fmt.Errorf("unknown taint effect %q: want one of %v", effect, effects)
	}
	return c, nil
}

func readCordon(name string, unschedulable bool) func(*Script, []string) (step, error) {
	return func(s *Script, args []string) (step, error) {
		if len(args) != 1 {
			return nil, usageOf(name, "want one node")
		}
		return func(r *runner) error { return r.cordon(args[0], unschedulable, name+"ed") }, nil
	}
}

func (r *runner) cordon(node string, unschedulable bool, verb string) error {
	patch := `{"spec":{"unschedulable":null}}`
	if unschedulable {
		patch = `{"spec":{"unschedulable":true}}`
	}
	return r.patch(nodeRef(node), patch, false, verb)
}

func readDrain(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, option{long: "ignore-daemonsets"}, option{long: "force"}, option{long: "delete-emptydir-data"},
		timeoutOption)
	if err != nil {
		return nil, err
	}
	if len(a.rest) != 1 {
		return nil, usageOf("drain", "want one node")
	}
	node := a.rest[0]
	ignore, err := a.flag("ignore-daemonsets")
	if err != nil {
		return nil, err
	}
	timeout := maxDrain
	if a.has("timeout") {
		if timeout, err = positiveDuration(a.get("timeout", "")); err != nil {
			return nil, err
		}
	}
	return func(r *runner) error {
		if err := r.cordon(node, true, "cordoned"); err != nil {
			return err
		}
		leave, daemons := drain.Pods(r.cluster, node)
		if names := keysOf(daemons); len(daemons) > 0 && !ignore {
			return fmt.Errorf("unable to drain node %q: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): %s", node, names)
		} else if len(daemons) > 0 {
			r.printf("Warning: ignoring DaemonSet-managed Pods: %s\n", names)
		}
		d := drain.Drain{Cluster: r.cluster, Advance: r.cluster.Advance, Timeout: timeout, Print: r.printf}
		if err := d.Evict(leave); err != nil {
			return err
		}
		r.printf("%s drained\n", displayName(nodeRef(node)))
		return nil
	}, nil
}

// maxDrain is the time after which a drain without --timeout gives up.
const maxDrain = 24 * time.Hour

// keysOf lists the keys of pods.
func keysOf(pods []*corev1.Pod) string {
	keys := make([]string, len(pods))
	for i, pod := range pods {
		keys[i] = api.KeyOf(pod)
	}
	return strings.Join(keys, ", ")
}
