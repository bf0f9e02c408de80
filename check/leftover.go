package check

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var nothingLeft = Invariant{
	Name:        "nothing-left-behind",
	Description: "a volume that no pod needs is unpublished, unstaged and detached within the time limit",
	Rules:       []string{"MNT-287", "ATT-064", "ATT-143"},
	Within:      15 * time.Minute,
	Exceptions: []string{
		"forced by a fault: a call that took effect although the kubelet got a final error, as every error of an in-tree plugin is",
		"forced by a restart: a device that stays mounted because no pod had the volume when the kubelet started (MNT-450)",
		"a pod that ended before the volume was mounted for it, until the pod is deleted: its kubelet still wants the volume (MNT-901)",
		"hostPath volumes: there is nothing to unmount",
		"nodes whose kubelet is down or cut off, and Node objects without a simulated node",
		"attachments whose VolumeAttachment outlives its PersistentVolume, because the external-attacher cannot detach without it (kubernetes-csi/external-attacher issue 235)",
	},
	watch: func(inv *watched, s *state) Watcher {
		due := newDeadlines(s, inv.Within)
		return Watcher{
			changed: func(id volumeID) { s.reviewUses(inv, due, id) },
			due:     due,
		}
	},
}

func useKey(id volumeID, u *use) string {
	return id.Backend + "\x00" + id.ID + "\x00" + string(u.Op) + "\x00" + u.Node + "\x00" + string(u.Pod)
}

var pastWords = map[storage.Op]string{storage.Attach: "attached to", storage.Stage: "staged on", storage.Publish: "published on"}

// reviewUses starts and ends the deadlines of the uses of a volume.
func (s *state) reviewUses(inv *watched, due *deadlines, id volumeID) {
	if len(due.items) > 0 {
		for i := range s.ended {
			due.end(useKey(id, &s.ended[i]))
		}
	}
	r := s.records[id]
	if r == nil {
		return
	}
	for i := range r.uses {
		u := &r.uses[i]
		if s.wanted(r, u) {
			if len(due.items) > 0 {
				due.end(useKey(id, u))
			}
			continue
		}
		if key := useKey(id, u); !due.begun(key) {
			late := *u
			due.begin(key, s.now, u.Node, func() { s.reportLeft(inv, id, r, &late) })
		}
	}
}

// reportLeft reports a use of a volume that no pod needs.
func (s *state) reportLeft(inv *watched, id volumeID, r *record, u *use) {
	text := fmt.Sprintf("%s is still %s %s", id, pastWords[u.Op], u.Node)
	if u.Pod != "" {
		text += " for " + s.podName(u.Pod)
	}
	v := s.about(r, fmt.Sprintf("%s, %v after the last pod needed it", text, inv.Within), u.Entry)
	if info := s.pods[u.Pod]; info != nil && info.gone {
		v.Witness = append(v.Witness, info.end)
	}
	if i := r.find(u.Op, u.Node, u.Pod); i >= 0 && r.uses[i].Lost.Seq != 0 {
		v.Forced = lostReply
		v.Witness = append(v.Witness, r.uses[i].Lost)
	}
	if start, ok := r.orphaned[u.Node]; ok && u.Op == storage.Stage {
		v.Forced = orphanedStage
		v.Witness = append(v.Witness, start)
	}
	s.report(inv, v)
}

// wanted reports whether a pod needs the use, or another use that ends first.
func (s *state) wanted(r *record, u *use) bool {
	// MNT-036: a hostPath is not mounted, and a restarted kubelet does not find it.
	if r.last != nil && r.last.Spec.HostPath != nil {
		return true
	}
	if u.Op == storage.Publish {
		info := s.pods[u.Pod]
		return info != nil && info.active()
	}
	for _, info := range s.podsOf[r.id] {
		if info.pod.Spec.NodeName == u.Node && (info.active() || info.waits(r.id)) {
			return true
		}
	}
	// Uses that must end first have their own deadline.
	if r.first(storage.Publish, u.Node) != nil || u.Op == storage.Attach && r.first(storage.Stage, u.Node) != nil {
		return true
	}
	return u.Op == storage.Attach && s.orderedOtherwise(r, u.Node)
}

// orderedOtherwise reports whether a VolumeAttachment of a user requests the attachment, or no component can end it, because the attacher
// needs the PersistentVolume.
func (s *state) orderedOtherwise(r *record, node string) bool {
	if r.last != nil && len(r.pvs) == 0 {
		return true
	}
	name := objects.AttachmentName(r.id.ID, r.id.Backend, node)
	for _, va := range s.attachments {
		if va.Name != name && va.Spec.NodeName == node && va.Spec.Source.PersistentVolumeName != nil {
			if pv := s.volumes[*va.Spec.Source.PersistentVolumeName]; pv != nil {
				if id, ok := s.idOf(pv); ok && id == r.id {
					return true
				}
			}
		}
	}
	return false
}

// reportPod reports a deleted pod that still exists.
func (s *state) reportPod(inv *watched, write trace.Entry) {
	s.report(inv, Violation{
		Objects: []api.Ref{write.Object},
		Text:    fmt.Sprintf("pod %s still exists, %v after its grace period", write.Object.Key, inv.Within),
		Witness: []trace.Entry{write},
	})
}

var podsGo = Invariant{
	Name:        "deleted-pods-go",
	Description: "a deleted pod is gone within the time limit after its grace period",
	Rules:       []string{"MNT-387"},
	Within:      15 * time.Minute,
	Exceptions:  []string{"pods with finalizers, and pods on nodes whose kubelet is down or cut off"},
	watch: func(inv *watched, s *state) Watcher {
		due := newDeadlines(s, inv.Within)
		return Watcher{
			written: func(e *trace.Entry) {
				if e.Object.Kind != api.Pod {
					return
				}
				if old, _ := e.Old.(*corev1.Pod); old != nil {
					if now, _ := e.New.(*corev1.Pod); now == nil || now.UID != old.UID || len(now.Finalizers) > 0 {
						due.end(string(old.UID))
					}
				}
				pod, _ := e.New.(*corev1.Pod)
				if pod == nil || pod.DeletionTimestamp == nil || len(pod.Finalizers) > 0 {
					return
				}
				if key := string(pod.UID); !due.begun(key) {
					write := *e
					due.begin(key, latest(e.Time, pod.DeletionTimestamp.Time), pod.Spec.NodeName, func() { s.reportPod(inv, write) })
				}
			},
			due: due,
		}
	},
}
