package conformance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

// do runs one step.
func (p *nodeRunner) do(step NodeStep) error {
	switch step.Op {
	case "create":
		objects := step.Objects
		if step.Object != nil {
			objects = append(objects, step.Object)
		}
		for _, data := range objects {
			if err := p.create(data); err != nil {
				return err
			}
		}
		return nil
	case "delete":
		obj, err := namedObject(step.Kind, step.Namespace, step.Name)
		if err != nil {
			return err
		}
		return p.cluster.DeleteWith(obj, api.DeleteOptions{GracePeriodSeconds: step.GraceSeconds})
	case "patch":
		return p.patch(step)
	case "backend":
		return p.addOutcome(step)
	case "clearBackend":
		return p.clearOutcomes(step)
	case "stopNode":
		return p.onNode(step.Node, (*mount.Node).Stop)
	case "startNode":
		return p.startingNode(step.Node)
	case "rebootNode":
		if err := p.onNode(step.Node, (*mount.Node).PowerOff); err != nil {
			return err
		}
		return p.startingNode(step.Node)
	case "stopController":
		return p.cluster.Crash(actors.AttachDetach)
	case "startController":
		return p.starting(p.offsets.controller, func() error { return p.cluster.Restart(actors.AttachDetach) })
	case "exitPod":
		return p.exit(step)
	case "advance":
		return p.cluster.Advance(seconds(step.Seconds))
	}
	return fmt.Errorf("there is no op %q", step.Op)
}

// onNode calls do with a node.
func (p *nodeRunner) onNode(name string, do func(*mount.Node)) error {
	node, err := p.cluster.Node(name)
	if err != nil {
		return err
	}
	do(node)
	return nil
}

// startingNode starts the kubelet of a node.
func (p *nodeRunner) startingNode(name string) error {
	offset, err := p.kubeletOffset(name)
	if err != nil {
		return err
	}
	return p.starting(offset, func() error { return p.startNode(name) })
}

// starting waits for the offset, calls fn, and waits for the rest of startTime.
func (p *nodeRunner) starting(offset time.Duration, fn func() error) error {
	if err := p.cluster.Advance(offset); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	return p.cluster.Advance(startTime - offset)
}

// create stores an object with its status, like the API server of the recordings.
func (p *nodeRunner) create(data []byte) error {
	obj, err := readObject(data)
	if err != nil {
		return err
	}
	pod, isPod := obj.(*corev1.Pod)
	if isPod && pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	if _, err := stored(p.cluster, obj); err == nil {
		return fmt.Errorf("%s: there is one already", api.RefTo(obj))
	}
	if err := p.cluster.Load(obj); err != nil || !isPod {
		return err
	}
	key := api.KeyOf(pod)
	created, err := p.cluster.Pods.Get(key)
	if err != nil {
		return err
	}
	p.created[key]++
	p.pods[string(created.UID)] = key
	if n := p.created[key]; n > 1 {
		p.pods[string(created.UID)] = fmt.Sprintf("%s#%d", key, n)
	}
	return nil
}

func (p *nodeRunner) patch(step NodeStep) error {
	obj, err := namedObject(step.Kind, step.Namespace, step.Name)
	if err != nil {
		return err
	}
	switch {
	case step.Subresource == "status":
		return p.cluster.PatchStatus(obj, string(step.Patch))
	case step.Subresource != "":
		return fmt.Errorf("there is no subresource %q", step.Subresource)
	case step.Kind != string(api.Pod):
		return p.cluster.Patch(obj, string(step.Patch))
	}
	// The API server of the recordings did not validate pod updates, so a patch may assign a node.
	current, err := p.cluster.Pods.Get(api.KeyOf(obj))
	if err != nil {
		return err
	}
	next, err := patched(current, step.Patch)
	if err != nil {
		return err
	}
	next.(*corev1.Pod).Status = current.Status
	return p.cluster.Load(next)
}

// addOutcome sets the result of the next calls.
func (p *nodeRunner) addOutcome(step NodeStep) error {
	var ops []storage.Op
	for op, name := range callNames {
		if step.Call == "" || step.Call == name {
			ops = append(ops, op)
		}
	}
	if len(ops) != 1 {
		// Several rules would have to share the count.
		return fmt.Errorf("an outcome for %d sorts of calls", len(ops))
	}
	b, ok := p.backends[step.Backend]
	if !ok {
		return fmt.Errorf("there is no backend %q", step.Backend)
	}
	fault := api.Fault{Effect: step.Effect}
	if step.Error != "" {
		if backends.CodeNumber(storage.Code(step.Error)) < 0 {
			return fmt.Errorf("there is no code %q", step.Error)
		}
		fault.Err = storage.Errorf(storage.Code(step.Error), "as the scenario has it")
	}
	if step.LatencyMs != nil {
		fault.Delay = time.Duration(*step.LatencyMs)*time.Millisecond - backends.Delay(b, ops[0], step.Volume)
	}
	rule := p.cluster.Faults.Add(fake.Match{Target: b.Name(), Verb: string(ops[0]), Key: step.Volume, Node: step.Node}, fault)
	rule.Times(step.Times)
	return p.cluster.Faults.Err()
}

// clearOutcomes removes the results set for a call, or for all calls.
func (p *nodeRunner) clearOutcomes(step NodeStep) error {
	if step.Call == "" {
		p.cluster.Faults.Clear()
		return nil
	}
	op, err := opOf(step.Call)
	if err != nil {
		return err
	}
	p.cluster.Faults.Clear(string(op))
	return nil
}

// exit lets the containers of a pod exit.
func (p *nodeRunner) exit(step NodeStep) error {
	key := api.Key(step.Namespace, step.Name)
	pod, err := p.cluster.Pods.Get(key)
	if err != nil {
		return err
	}
	machine, err := p.cluster.Node(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	return machine.Exit(key, corev1.PodPhase(step.Phase))
}
