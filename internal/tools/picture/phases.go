package picture

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// tone is a colour of bars; the style sheet defines it.
type tone string

const (
	toneWaiting tone = "waiting" // it waits
	toneFree    tone = "free"    // it may be taken
	toneBound   tone = "bound"   // it is taken
	toneRuns    tone = "runs"    // it works
	toneLeaving tone = "leaving" // it is being given back
	toneBad     tone = "bad"     // it needs attention
	toneDone    tone = "done"    // it has ended well
	toneThere   tone = "there"   // it exists and has no phases
)

// outOfService is the taint of a node that is known to be off.
const outOfService = "node.kubernetes.io/out-of-service"

// phaseOf returns the state of an object, as a bar shows it.
func phaseOf(obj api.Object) phase {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return volumePhase(cmp.Or(obj.Status.Phase, corev1.VolumePending))
	case *corev1.PersistentVolumeClaim:
		return claimPhase(cmp.Or(obj.Status.Phase, corev1.ClaimPending))
	case *corev1.Pod:
		return podPhase(cmp.Or(obj.Status.Phase, corev1.PodPending))
	case *corev1.Node:
		return nodePhase(obj)
	case *storagev1.VolumeAttachment:
		return attachmentPhase(obj)
	}
	return phase{"Exists", toneThere}
}

func volumePhase(p corev1.PersistentVolumePhase) phase {
	tones := map[corev1.PersistentVolumePhase]tone{
		corev1.VolumePending: toneWaiting, corev1.VolumeAvailable: toneFree, corev1.VolumeBound: toneBound,
		corev1.VolumeReleased: toneLeaving, corev1.VolumeFailed: toneBad,
	}
	return phase{string(p), cmp.Or(tones[p], toneThere)}
}

func claimPhase(p corev1.PersistentVolumeClaimPhase) phase {
	tones := map[corev1.PersistentVolumeClaimPhase]tone{
		corev1.ClaimPending: toneWaiting, corev1.ClaimBound: toneBound, corev1.ClaimLost: toneBad,
	}
	return phase{string(p), cmp.Or(tones[p], toneThere)}
}

func podPhase(p corev1.PodPhase) phase {
	tones := map[corev1.PodPhase]tone{
		corev1.PodPending: toneWaiting, corev1.PodRunning: toneRuns, corev1.PodSucceeded: toneDone,
		corev1.PodFailed: toneBad, corev1.PodUnknown: toneBad,
	}
	return phase{string(p), cmp.Or(tones[p], toneThere)}
}

// nodePhase returns the status of a node as kubectl shows it, and whether the node is out of service.
func nodePhase(node *corev1.Node) phase {
	for _, taint := range node.Spec.Taints {
		if taint.Key == outOfService {
			return phase{"Out of service", toneBad}
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		switch c.Status {
		case corev1.ConditionTrue:
			return phase{"Ready", toneRuns}
		case corev1.ConditionFalse:
			return phase{"NotReady", toneBad}
		}
		return phase{"Unknown", toneBad}
	}
	return phase{"No status", toneWaiting}
}

func attachmentPhase(va *storagev1.VolumeAttachment) phase {
	switch {
	case va.DeletionTimestamp != nil:
		return phase{"Detaching", toneLeaving}
	case va.Status.Attached:
		return phase{"Attached", toneBound}
	case va.Status.AttachError != nil:
		return phase{"Attach failed", toneBad}
	}
	return phase{"Attaching", toneWaiting}
}

// bar starts a bar for the state of an object from now on; nil ends the bars.
func (b *builder) bar(lane int, at int64, obj api.Object, entry int) {
	if objects.IsNil(obj) {
		b.bars(lane, at, -1, false, entry)
		return
	}
	deleting := obj.GetDeletionTimestamp() != nil
	p := phaseOf(obj)
	if pod, ok := obj.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning && b.off[pod.Spec.NodeName] {
		p = phase{p.Name + ", node is off", toneBad}
	}
	b.bars(lane, at, b.phase(p), deleting, entry)
}

// bars records a state of a lane, unless it is the current one.
func (b *builder) bars(lane int, at int64, phase int, deleting bool, entry int) {
	s := b.states[lane]
	if s.phase == phase && s.deleting == deleting {
		return
	}
	s.phase, s.deleting = phase, deleting
	flag := int64(0)
	if deleting {
		flag = 1
	}
	l := b.doc.Lanes[lane]
	l.Bars = append(l.Bars, at, int64(phase), flag, int64(entry))
}

// phase returns the index of a phase in the document.
func (b *builder) phase(p phase) int {
	i, ok := b.phases[p]
	if !ok {
		i = len(b.doc.Phases)
		b.doc.Phases = append(b.doc.Phases, p)
		b.phases[p] = i
	}
	return i
}
