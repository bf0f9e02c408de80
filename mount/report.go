package mount

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// ManagedAttachAnnotation is on a Node whose volumes the attach/detach controller attaches.
const ManagedAttachAnnotation = kubeletstatus.ManagedAttachAnnotation

// report is what the kubelet remembers of its reports.
type report struct {
	registered bool
	sent       time.Time
	// fed is the list that was last reported, or found to be so; known says that there was one.
	fed   []corev1.UniqueVolumeName
	known bool
	// awaited says that somebody waits for a report, whatever it says.
	awaited bool
	// until is how long after the last change of a pod or an attachment unchanged reports are made.
	until time.Time
}

// register creates the Node, or marks the one that is there as one whose volumes a controller attaches.
func (k *kubelet) register(p *engine.Proc) {
	node, err := k.getNode(p)
	switch {
	case apierrors.IsNotFound(err):
		_, err = reach(k, func() (*corev1.Node, error) {
			return p.API().Nodes.Create(p, kubeletstatus.NewNode(k.node.name, p.Now()))
		})
	case err == nil && node.Annotations[ManagedAttachAnnotation] != "true":
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{ManagedAttachAnnotation: "true"}}})
		_, err = reach(k, func() (*corev1.Node, error) { return p.API().Nodes.Patch(p, k.node.name, patch, api.Main) })
	}
	k.report.registered = err == nil
}

// inUse is what the node has in use, in order (MNT-170).
func (k *kubelet) inUse() []corev1.UniqueVolumeName {
	set := map[corev1.UniqueVolumeName]bool{}
	var names []corev1.UniqueVolumeName
	add := func(name corev1.UniqueVolumeName) {
		if !set[name] {
			set[name] = true
			names = append(names, name)
		}
	}
	for _, v := range k.desired.Volumes() {
		// MNT-170: a desired volume, if it has to be attached.
		if v.Attachable {
			add(v.Name)
		}
	}
	for _, v := range k.actual.Volumes() {
		// MNT-170, MNT-928: a recorded volume, if it is known to be attached.
		if v.Attachable == volumes.Attachable {
			add(v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// watchInUse has the status reported if the volumes in use are not those of the last report.
func (k *kubelet) watchInUse() {
	if !k.statesSynced {
		return
	}
	inUse := k.inUse()
	if !k.report.known || !slices.Equal(inUse, k.report.fed) || k.object != nil && !slices.Equal(k.object.Status.VolumesInUse, inUse) {
		k.status.Arm()
	}
}

// reportStatus is a round of the node's status (MNT-172). Rounds that would find and write nothing make no requests, and are left out.
func (k *kubelet) reportStatus(p *engine.Proc) {
	var err error
	for try := range statusTries {
		if err = k.tryReport(p, try > 0); err == nil {
			k.nextReport()
			if !k.report.registered {
				k.status.Rest()
			}
			return
		}
	}
	if !apierrors.IsNotFound(err) {
		// MNT-160: the next round tries again.
		k.status.Rest()
		return
	}
	// Its coming back brings the next round that finds it.
	k.missNode()
}

// missNode has a round come that looks for a Node that is gone, if a fault waits for that.
func (k *kubelet) missNode() {
	if k.object == nil && k.awaited("get", api.Node, k.node.name) {
		k.status.RestAt(k.actor.Engine().Now().Add(1))
	}
}

// seenNode is the Node as the watch has shown it.
func (k *kubelet) seenNode() (*corev1.Node, error) {
	if k.object == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), k.node.name)
	}
	return k.object, nil
}

// tryReport computes the status, writes it if there is reason to, and feeds back what is reported. again says that a try of this round has
// failed.
func (k *kubelet) tryReport(p *engine.Proc, again bool) error {
	if !k.report.registered {
		k.register(p)
	}
	// MNT-172, MNT-934: the watch is asked first, and the API server only when what it told was of no use.
	node, err := k.seenNode()
	if again {
		node, err = k.getNode(p)
	}
	if err != nil {
		return err
	}
	inUse := node.Status.VolumesInUse
	if k.statesSynced {
		// MNT-171, MNT-462: until then the list is that of the kubelet before.
		inUse = k.inUse()
	}
	k.noteReboot(p, node)
	now := p.Now()
	// MNT-008, MNT-172
	if kubeletstatus.Changed(node, inUse, k.bootID()) || now.Sub(k.report.sent) > k.cfg.ReportPeriod {
		patch, err := kubeletstatus.Patch(node, inUse, k.bootID(), now)
		if err != nil {
			return err
		}
		// Who begins to wait while it is written may have seen it already.
		awaited := k.report.awaited
		k.report.awaited = false
		node, err = reach(k, func() (*corev1.Node, error) { return p.API().Nodes.Patch(p, k.node.name, patch, api.Status) })
		if err != nil {
			// MNT-172: nothing is fed back.
			k.report.awaited = k.report.awaited || awaited
			return err
		}
		k.report.sent = now
		// MNT-172: what the API server made of it counts.
		inUse = node.Status.VolumesInUse
	}
	k.report.fed, k.report.known = slices.Clone(inUse), true
	if k.desired.MarkReportedInUse(inUse) {
		k.reconciler.Arm()
	}
	return nil
}

// noteReboot tells of a reboot when the status still has the boot before (MNT-485).
func (k *kubelet) noteReboot(p *engine.Proc, node *corev1.Node) {
	// MNT-485
	if text := kubeletstatus.Rebooted(node, k.bootID()); text != "" {
		k.event(p, node, corev1.EventTypeWarning, "Rebooted", "%s", text)
	}
}

// lingering is for how many reports after a change of its pods and attachments a node goes on to make unchanged ones: an operation of the
// attach/detach controller that was under way may end, and assume something, that much later.
const lingering = 3

// heartbeat has unchanged reports made for a while: something happened that the attach/detach controller may draw conclusions from.
func (k *kubelet) heartbeat() {
	k.report.awaited = true
	k.report.until = k.actor.Engine().Now().Add(lingering * (k.cfg.ReportPeriod + k.cfg.StatusPeriod))
	k.nextReport()
}

// mayBeRead reports whether a report that says nothing new could tell the attach/detach controller anything. All that it can learn from
// one is that a volume is not in use that it assumes to be (ATT-044). What it assumes nobody sees, but it does so at the end of an
// attachment, and at its start of each VolumeAttachment: so as long as there is one for a volume that the node does not have in use, and
// for a while after changes. And a fault may wait for the report.
func (k *kubelet) mayBeRead() bool {
	now := k.actor.Engine().Now()
	return k.cfg.EveryReport || k.report.awaited || now.Before(k.report.until) || k.node.nodes.unsettled(k.node.name, k.report.fed) ||
		k.awaited("patch-status", api.Node, k.node.name)
}

// nextReport has an unchanged status reported when it is due (MNT-008). One that nobody could learn anything from but the time is left
// out.
func (k *kubelet) nextReport() {
	if !k.watching || !k.report.known || !k.mayBeRead() {
		return
	}
	now := k.actor.Engine().Now()
	// The reports that were left out came every so many rounds.
	every := (k.cfg.ReportPeriod/k.cfg.StatusPeriod + 1) * k.cfg.StatusPeriod
	if late := now.Sub(k.report.sent) / every; late > 0 {
		k.report.sent = k.report.sent.Add(late * every)
	}
	k.status.RestAt(k.report.sent.Add(k.cfg.ReportPeriod + 1))
}

// bootID tells the boots of the machine apart.
func (k *kubelet) bootID() string {
	if k.node.bootID != "" {
		return k.node.bootID
	}
	return k.node.name + "-boot-" + strconv.Itoa(k.node.boots)
}
