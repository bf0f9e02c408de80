package predict

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// startsContainers marks an assumption about new containers on a node. assumptions makes one of all.
const startsContainers = "containers"

// rely records an assumption that the prediction rests on, once.
func (r *run) rely(a evidence.Assumption) {
	at := slices.IndexFunc(r.relied, func(b evidence.Assumption) bool {
		return a.Subject == b.Subject && a.Object == b.Object && a.Operation == b.Operation
	})
	if at < 0 {
		r.relied = append(r.relied, a)
	} else {
		r.relied[at] = a
	}
}

// relyOnCall records that a driver or plugin is assumed to do what it did in the simulation. Only effects count, and no repeated call.
func (r *run) relyOnCall(e *trace.Entry) {
	op := storage.Op(e.Call.Verb)
	switch op {
	case storage.Create, storage.Expand, storage.NodeExpand:
		return // with the size, once it is known
	case storage.Recycle:
		if pv := r.volumeOf(e.Call); pv != nil {
			r.rely(r.Evidence.Recycles(pv))
		}
		return
	case storage.Attach, storage.Detach, storage.Delete, storage.Stage, storage.Publish, storage.Modify, storage.CreateSnapshot, storage.DeleteSnapshot:
	default:
		return
	}
	if strings.HasPrefix(e.Call.Target, backends.InTreePrefix) {
		return
	}
	sized := slices.ContainsFunc(r.relied, func(a evidence.Assumption) bool { return a.Subject == "driver/"+e.Call.Target })
	if !sized {
		r.rely(r.Evidence.Driver(e.Call.Target))
	}
}

// relyOnSize records that the driver of a volume is assumed to accept a size that it did not have before.
func (r *run) relyOnSize(before, after *corev1.PersistentVolume) {
	csi := objects.CSIOf(after)
	if csi == nil {
		return
	}
	size := after.Spec.Capacity[corev1.ResourceStorage]
	if before != nil && size.Cmp(before.Spec.Capacity[corev1.ResourceStorage]) <= 0 || before == nil && after.Annotations[objects.AnnProvisionedBy] == "" {
		return
	}
	a := r.Evidence.Accepts(csi.Driver, size)
	r.relied = slices.DeleteFunc(r.relied, func(b evidence.Assumption) bool { return b.Subject == a.Subject && b.Operation == "" && b.Object == "" })
	if ref := after.Spec.ClaimRef; ref != nil && !a.Requested {
		a.Object = "pvc/" + api.Key(ref.Namespace, ref.Name)
	}
	r.rely(a)
}

// relyOnContainers records that the containers of a new pod are assumed to start.
func (r *run) relyOnContainers(pod *corev1.Pod) {
	r.rely(evidence.Assumption{Subject: "node/" + pod.Spec.NodeName, Operation: startsContainers})
}

// volumeOf returns the volume that a call is about; nil if there is none.
func (r *run) volumeOf(call api.Call) *corev1.PersistentVolume {
	for _, name := range sortedKeys(r.volumes) {
		if pv := r.volumes[name]; handleOf(pv) == call.Key && backendOf(pv) == call.Target {
			return pv
		}
	}
	return nil
}

// assumptions returns those of the evidence and, unless they repeat them, those that the prediction rests on. Assumptions about containers of
// several nodes are one.
func (r *run) assumptions() []evidence.Assumption {
	all := slices.Clone(r.Evidence.All())
	known := map[string]bool{}
	for _, a := range all {
		known[a.String()] = true
	}
	var nodes []string
	for _, a := range r.relied {
		if a.Operation == startsContainers {
			nodes = append(nodes, strings.TrimPrefix(a.Subject, "node/"))
			continue
		}
		if !known[a.String()] {
			known[a.String()] = true
			all = append(all, a)
		}
	}
	if len(nodes) > 0 {
		slices.Sort(nodes)
		all = append(all, evidence.Assumption{Subject: "node/" + strings.Join(slices.Compact(nodes), ", "), Behaviour: evidence.Healthy,
			Evidence: "new containers have to start, and images and programs are not simulated"})
	}
	return all
}
