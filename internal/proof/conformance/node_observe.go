package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

// observe returns the state of the cluster, and what happened since the last observation. began is the start of the step.
func (p *nodeRunner) observe(began time.Time) (NodeObservation, error) {
	o := NodeObservation{
		AtMs:   int(p.cluster.Now().Sub(p.begin).Milliseconds()),
		Nodes:  map[string]NodeState{},
		Pods:   map[string]PodState{},
		Events: p.newEvents(),
	}
	for _, c := range p.calls.read(p.cluster.Trace()) {
		o.Calls = append(o.Calls, NodeCall{Ms: int(c.at.Sub(began).Milliseconds()), What: p.what(c)})
	}
	for _, node := range p.scenario.Nodes {
		o.Nodes[node.Name] = p.nodeState(node.Name)
	}
	for _, pod := range p.cluster.Pods.List() {
		state, err := p.podState(pod)
		if err != nil {
			return o, err
		}
		o.Pods[p.podName(string(pod.UID))] = state
	}
	for _, va := range p.cluster.Attachments.List() {
		o.VolumeAttachments = append(o.VolumeAttachments, AttachmentState{
			Node: va.Spec.NodeName, PV: text(va.Spec.Source.PersistentVolumeName), Attached: va.Status.Attached,
			Deleting: va.DeletionTimestamp != nil, AttachError: va.Status.AttachError != nil, DetachError: va.Status.DetachError != nil,
		})
	}
	slices.SortFunc(o.VolumeAttachments, func(a, b AttachmentState) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PV, b.PV))
	})
	return o, nil
}

func (p *nodeRunner) nodeState(name string) NodeState {
	var s NodeState
	if node, err := p.cluster.Nodes.Get(name); err == nil {
		s.Exists = true
		s.Ready = slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		for _, volume := range node.Status.VolumesAttached {
			s.VolumesAttached = append(s.VolumesAttached, string(volume.Name))
		}
		s.VolumesInUse = texts(node.Status.VolumesInUse)
	}
	for _, m := range p.mounts(name) {
		if m.Pod == "" {
			s.Staged = append(s.Staged, m.Volume)
		} else {
			s.Published = append(s.Published, m.Volume+" "+m.Pod)
		}
	}
	for _, list := range []*[]string{&s.VolumesAttached, &s.VolumesInUse, &s.Staged, &s.Published} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}

// mounts returns the mounts of a node, with names of pods instead of uids.
func (p *nodeRunner) mounts(node string) []mount.Mount {
	machine, err := p.cluster.Node(node)
	if err != nil {
		return nil // it has none
	}
	mounts := machine.Mounts()
	for i := range mounts {
		mounts[i].Pod = p.podName(mounts[i].Pod)
	}
	return mounts
}

func (p *nodeRunner) podState(pod *corev1.Pod) (PodState, error) {
	s := PodState{Phase: string(pod.Status.Phase), Deleting: pod.DeletionTimestamp != nil, Mounted: map[string]bool{}}
	mounts := p.mounts(pod.Spec.NodeName)
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			return s, fmt.Errorf("pod %s: volume %s is not a claim: recordings have none", api.KeyOf(pod), v.Name)
		}
		handle := ""
		claim, err := p.cluster.Claims.Get(api.Key(pod.Namespace, v.PersistentVolumeClaim.ClaimName))
		if err == nil {
			if pv, err := p.cluster.Volumes.Get(claim.Spec.VolumeName); err == nil {
				handle = backends.Handle(pv)
			}
		}
		s.Mounted[v.Name] = slices.ContainsFunc(mounts, func(m mount.Mount) bool {
			return m.Volume == handle && m.Pod == p.podName(string(pod.UID))
		})
	}
	return s, nil
}

// podName returns the name of the pod with that uid, or the uid if it is unknown.
func (p *nodeRunner) podName(uid string) string { return cmp.Or(p.pods[uid], uid) }

// newEvents returns the Events created or updated since the last time, except reboot Events, which the recordings do not have.
func (p *nodeRunner) newEvents() [][]string {
	events := [][]string{}
	for _, e := range p.cluster.Events() {
		key := api.KeyOf(e)
		if e.Count == p.events[key] {
			continue
		}
		p.events[key] = e.Count
		if e.InvolvedObject.Kind == string(api.Node) && e.Reason == "Rebooted" {
			continue
		}
		about := api.Key(e.InvolvedObject.Namespace, e.InvolvedObject.Name)
		if name, ok := p.pods[string(e.InvolvedObject.UID)]; ok {
			about = name
		}
		events = append(events, []string{e.InvolvedObject.Kind, about, e.Type, e.Reason})
	}
	slices.SortFunc(events, slices.Compare)
	return slices.CompactFunc(events, slices.Equal)
}

// what describes a call as recordings do.
func (p *nodeRunner) what(c loggedCall) What {
	return What{Call: callNames[storage.Op(c.call.Verb)], Volume: c.call.Key, Node: c.call.Node, Pod: p.podName(c.call.Pod), Result: c.result}
}
