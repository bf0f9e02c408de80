package check

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var attachFirst = Invariant{
	Name:        "attach-before-mount",
	Description: "a volume that needs attachment is staged or published only on a node that it is attached to",
	Rules:       []string{"MNT-174", "ATT-141"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Stage) && !done(e, storage.Publish) {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil || r.last == nil || !s.attachable(r.last) || r.first(storage.Attach, e.Call.Node) != nil {
				return
			}
			v := s.about(r, fmt.Sprintf("%s: %s on %s, where it is not attached", r.id, e.Call.Verb, e.Call.Node), *e)
			if decision, ok := r.forced[e.Call.Node]; ok {
				v.Forced = decision.Detach.Why
				v.Witness = append(v.Witness, decision)
			}
			s.report(inv, v)
		}}
	},
}

var stageFirst = Invariant{
	Name:        "stage-before-publish",
	Description: "a volume of a driver that stages is published only on a node where it is staged",
	Rules:       []string{"MNT-196", "MNT-197"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Publish) {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil || r.last == nil || !s.staged(r) || r.first(storage.Stage, e.Call.Node) != nil {
				return
			}
			s.report(inv, s.about(r, fmt.Sprintf("%s is published on %s, where it is not staged", r.id, e.Call.Node), *e))
		}}
	},
}

var unpublishFirst = Invariant{
	Name:        "unpublish-before-unstage",
	Description: "a volume is unstaged only after it is unpublished from all pods of the node",
	Rules:       []string{"MNT-135", "MNT-139"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Unstage) || len(s.ended) == 0 {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil {
				return
			}
			if u := r.first(storage.Publish, e.Call.Node); u != nil {
				s.report(inv, s.about(r, fmt.Sprintf("%s is unstaged on %s while published to %s", r.id, e.Call.Node, s.podName(u.Pod)), u.Entry, *e))
			}
		}}
	},
}

var unmountFirst = Invariant{
	Name:        "unmount-before-detach",
	Description: "a volume is detached from a node only if it is neither staged nor published there, or by force",
	Rules:       []string{"ATT-064", "ATT-066", "ATT-103", "MNT-170"},
	Exceptions: []string{
		"forced by a restart: a kubelet that stops between the unmount of the last pod and that of the device leaves the device mounted, which the next one does not know (MNT-450)",
	},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Detach) {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil {
				return
			}
			for _, ended := range s.ended {
				s.checkUnmounted(inv, r, ended, e)
			}
		}}
	},
}

// checkUnmounted reports mounts of a volume that was just detached from a node.
func (s *state) checkUnmounted(inv *watched, r *record, attached use, e *trace.Entry) {
	u, how := r.first(storage.Publish, attached.Node), "published"
	if u == nil {
		u, how = r.first(storage.Stage, attached.Node), "staged"
	}
	if u == nil {
		return
	}
	to := ""
	if u.Pod != "" {
		to = " to " + s.podName(u.Pod)
	}
	v := s.about(r, fmt.Sprintf("%s is detached from %s while %s%s", r.id, attached.Node, how, to), u.Entry, *e)
	if decision, ok := r.forced[attached.Node]; ok {
		v.Forced = decision.Detach.Why
		v.Witness = append(v.Witness, decision)
	} else if start, ok := r.orphaned[attached.Node]; ok && u.Op == storage.Stage {
		v.Forced = orphanedStage
		v.Witness = append(v.Witness, start)
	}
	s.report(inv, v)
}

var inUseFirst = Invariant{
	Name:        "in-use-before-mount",
	Description: "a node reports an attachable volume as in use (status.volumesInUse) before it stages or publishes it",
	Rules:       []string{"MNT-044", "MNT-170", "MNT-173"},
	Exceptions: []string{
		"forced by a restart: a kubelet takes volumes on its disk for attached; if the status of the node does not list one, it is not reported in use, and another pod may mount it before it is (MNT-928, kubernetes/kubernetes issue 101791)",
	},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Stage) && !done(e, storage.Publish) {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil || r.last == nil || !s.attachable(r.last) {
				return
			}
			node := s.nodes[e.Call.Node]
			unique := s.uniqueName(r.last)
			if node != nil && slices.Contains(node.Status.VolumesInUse, unique) {
				return
			}
			v := s.about(r, fmt.Sprintf("%s: %s on %s, whose status.volumesInUse does not list it", r.id, e.Call.Verb, e.Call.Node), *e)
			if start, ok := r.found[e.Call.Node]; ok {
				v.Forced = "the kubelet was started and found it on its disk (MNT-928)"
				v.Witness = append(v.Witness, start)
			}
			s.report(inv, v)
		}}
	},
}

var publishToOwner = Invariant{
	Name:        "publish-to-owner",
	Description: "a volume is published only to pods of the node that name the claim it is bound to",
	Rules:       []string{"MNT-072g", "MNT-072h"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if done(e, storage.Publish) {
				s.checkOwner(inv, e)
			}
		}}
	},
}

func (s *state) checkOwner(inv *watched, e *trace.Entry) {
	r := s.records[idOfCall(e)]
	if r.uses[len(r.uses)-1].Entry.Seq != e.Seq {
		return // a repeated call
	}
	info := s.pods[podOfCall(e)]
	var wrong string
	switch {
	case info == nil:
		wrong = "no such pod ever existed"
	case info.pod.Spec.NodeName != e.Call.Node:
		wrong = fmt.Sprintf("the pod is on node %q", info.pod.Spec.NodeName)
	case slices.Contains(info.allowed, r.id):
		// Allowed, even if pod and PersistentVolume were deleted since the kubelet began.
	case r.last == nil:
		// An inline volume of the pod.
		if !hasInline(info.pod) {
			wrong = "no PersistentVolume refers to it, and the pod has no inline volume"
		}
	default:
		wrong = fmt.Sprintf("the pod's claims are %q, and none is bound to it", info.claims)
	}
	if wrong != "" {
		s.report(inv, s.about(r, fmt.Sprintf("%s is published to %s on %s: %s", r.id, s.podName(podOfCall(e)), e.Call.Node, wrong), *e))
	}
}

// staged reports whether nodes stage the volume.
func (s *state) staged(r *record) bool {
	if !s.can(r.id, storage.Stage) {
		return false
	}
	spec := objects.SpecOf(r.last)
	plugin, err := objects.PluginOf(s.backends, spec)
	return err == nil && plugin.DeviceMountable(spec)
}

// about returns a violation about a volume.
func (s *state) about(r *record, text string, witness ...trace.Entry) Violation {
	v := Violation{Backend: r.id.Backend, Volume: r.id.ID, Text: text, Witness: witness}
	for _, name := range r.pvs {
		v.Objects = append(v.Objects, api.Ref{Kind: api.PersistentVolume, Key: name})
	}
	return v
}
