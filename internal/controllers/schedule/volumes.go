package schedule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// podClaims are the claims of a pod as VolumeBinding sorts them (SCHED-047).
type podClaims struct {
	skip    bool
	bound   []*corev1.PersistentVolumeClaim
	delayed []*corev1.PersistentVolumeClaim
	// offers are the volumes that each delayed claim may be given, by the claim's key; they are the same for all nodes (SCHED-052).
	offers map[string]*offer
}

// nodeVolumes is what the delayed claims of a pod would get on one node (SCHED-114).
type nodeVolumes struct {
	bindings   []pairing
	provisions []*corev1.PersistentVolumeClaim
}

// pairing is a volume for a claim.
type pairing struct {
	pv    *corev1.PersistentVolume
	claim *corev1.PersistentVolumeClaim
}

// fullyBound reports whether a claim has its volume for good. Its phase does not matter.
func fullyBound(claim *corev1.PersistentVolumeClaim) bool {
	// SCHED-002
	_, completed := claim.Annotations[objects.AnnBindCompleted]
	return claim.Spec.VolumeName != "" && completed
}

// preFilterBinding checks that the claims are there and sorts them (SCHED-040 to SCHED-052).
func (c *cycle) preFilterBinding() status {
	c.binding = podClaims{skip: true}
	for i := range c.pod.Spec.Volumes {
		volume := &c.pod.Spec.Volumes[i]
		name := objects.ClaimOf(c.pod, volume)
		if name == "" {
			continue
		}
		c.binding.skip = false
		// SCHED-046: volume by volume, the first that is not right decides.
		if why := c.unusable(volume, name); why != nil {
			return rejectFor(why.Error())
		}
	}
	// SCHED-040
	if c.binding.skip {
		return status{code: skipped}
	}
	if c.sortClaims() {
		// SCHED-050: what does not wait for the scheduler has to be bound before.
		return rejectFor(reasonImmediate)
	}
	c.binding.offers = map[string]*offer{}
	for _, claim := range c.binding.delayed {
		// SCHED-052: once for all nodes.
		key := api.KeyOf(claim)
		c.binding.offers[key] = newOffer(claim, c.look.candidates(objects.ClassOf(claim), key))
	}
	return status{}
}

// unusable says why the pod cannot use the claim of that name for a volume; nil if it can.
func (c *cycle) unusable(volume *corev1.Volume, name string) error {
	claim, ok := c.look.claim(api.Key(c.pod.Namespace, name))
	switch {
	case !ok && volume.Ephemeral != nil:
		// SCHED-042: its controller is not that fast.
		return fmt.Errorf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
	case !ok:
		// SCHED-041
		return noClaim(name)
	case claim.Status.Phase == corev1.ClaimLost:
		// SCHED-043
		return fmt.Errorf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		// SCHED-044
		return fmt.Errorf("persistentvolumeclaim %q is being deleted", name)
	case volume.Ephemeral != nil && !objects.OwnsClaim(c.pod, claim):
		// SCHED-045
		return notOwner(c.pod, claim)
	}
	return nil
}

// sortClaims sorts the pod's claims into bound and delayed ones. It reports whether there are others.
func (c *cycle) sortClaims() (immediate bool) {
	// SCHED-051: a claim that two volumes name is there twice.
	for _, key := range objects.ClaimsOf(c.pod) {
		claim, ok := c.look.assumedClaim(key)
		switch {
		case !ok:
		case fullyBound(claim):
			// SCHED-047
			c.binding.bound = append(c.binding.bound, claim)
		case c.waits(claim) && claim.Spec.VolumeName == "":
			// SCHED-047
			c.binding.delayed = append(c.binding.delayed, claim)
		default:
			// SCHED-049: one that names its volume already is for the PersistentVolume controller to bind.
			immediate = true
		}
	}
	return immediate
}

// waits reports whether the claim's class leaves the binding to the scheduler.
func (c *cycle) waits(claim *corev1.PersistentVolumeClaim) bool {
	// SCHED-048: no class, or none that exists, waits for nobody.
	class, ok := c.look.class(objects.ClassOf(claim))
	return ok && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// filterBinding checks that bound volumes can be reached from the node, and finds volumes or provisioners for the other claims
// (SCHED-060 to SCHED-114).
func (c *cycle) filterBinding(at place) status {
	if c.binding.skip {
		return status{}
	}
	var reasons []string
	missing, unreachable := c.checkBound(at.node)
	if unreachable {
		reasons = append(reasons, reasonNodeConflict)
	}
	// SCHED-060: whatever became of the bound ones.
	found, why, err := c.findVolumes(at.node)
	switch {
	case err != nil:
		return failure(err)
	case why != "":
		reasons = append(reasons, why)
	}
	if missing {
		reasons = append(reasons, reasonNoVolume)
	}
	// SCHED-114: in this order, and none of it is cured by removing pods.
	if len(reasons) > 0 {
		return rejectFor(reasons...)
	}
	c.found[at.node.Name] = found
	return status{}
}

// checkBound looks at the volumes that the pod's claims have; the first that is not right ends it (SCHED-060).
func (c *cycle) checkBound(node *corev1.Node) (missing, unreachable bool) {
	for _, claim := range c.binding.bound {
		pv, ok := c.look.assumedVolume(claim.Spec.VolumeName)
		if !ok {
			// SCHED-060, SCHED-064
			return true, false
		}
		// SCHED-061, SCHED-062: by the labels of the node.
		if !objects.AdmitsNode(pv, node.Labels) {
			return false, true
		}
	}
	return false, false
}

// findVolumes finds something for every delayed claim on a node, or says why it cannot (SCHED-070 to SCHED-072).
func (c *cycle) findVolumes(node *corev1.Node) (found nodeVolumes, why string, err error) {
	var provision, open []*corev1.PersistentVolumeClaim
	for _, claim := range c.binding.delayed {
		selected, ok := claim.Annotations[objects.AnnSelectedNode]
		switch {
		case !ok:
			// SCHED-072
			open = append(open, claim)
		case selected != node.Name:
			// SCHED-070, SCHED-071: the claim goes elsewhere, if only to a node that is gone; the others do not matter then.
			return nodeVolumes{}, reasonBindConflict, nil
		default:
			// SCHED-070: what was given to a provisioner once is not looked for among the volumes again.
			provision = append(provision, claim)
		}
	}
	// SCHED-080: the small first.
	slices.SortStableFunc(open, func(a, b *corev1.PersistentVolumeClaim) int {
		x, y := requestOf(a), requestOf(b)
		return x.Cmp(y)
	})
	taken := map[string]bool{}
	for _, claim := range open {
		pv, err := c.binding.offers[api.KeyOf(claim)].on(node, taken)
		switch {
		case err != nil:
			return nodeVolumes{}, "", err
		case pv == nil:
			// SCHED-072, SCHED-087: even if a volume is reserved for it somewhere else.
			provision = append(provision, claim)
		default:
			// SCHED-081
			taken[pv.Name] = true
			found.bindings = append(found.bindings, pairing{pv, claim})
		}
	}
	// SCHED-100: what has no volume is not lost yet, and those with a node come first.
	found.provisions = provision
	why, err = c.provisionable(provision, node)
	return found, why, err
}
