package schedule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// podClaims are the claims of a pod, sorted by VolumeBinding (SCHED-047).
type podClaims struct {
	skip  bool
	bound []*corev1.PersistentVolumeClaim
	// volumes are those of the bound claims, nil for those that do not exist. They are read when the first node is checked.
	volumes []*corev1.PersistentVolume
	read    bool
	delayed []*corev1.PersistentVolumeClaim
	// offers are the volumes that each delayed claim may be given, by the claim's key; they are the same for all nodes (SCHED-052).
	offers map[string]*offer
}

// emptied returns no claims, with the memory of the lists.
func (p podClaims) emptied() podClaims { return podClaims{bound: p.bound[:0], volumes: p.volumes[:0]} }

// nodeVolumes has the volumes for the delayed claims of a pod on one node (SCHED-114).
type nodeVolumes struct {
	bindings   []pairing
	provisions []*corev1.PersistentVolumeClaim // claims to provision for the node
}

// pairing is a claim with the volume chosen for it.
type pairing struct {
	pv    *corev1.PersistentVolume
	claim *corev1.PersistentVolumeClaim
}

// fullyBound reports whether the binding of a claim is complete. Its phase does not matter.
func fullyBound(claim *corev1.PersistentVolumeClaim) bool {
	// SCHED-002: the PersistentVolume controller sets the annotation last.
	_, completed := claim.Annotations[objects.AnnBindCompleted]
	return claim.Spec.VolumeName != "" && completed
}

// preFilterBinding checks that the pod's claims exist and sorts them (SCHED-040 to SCHED-052).
func (c *cycle) preFilterBinding() status {
	c.binding = c.binding.emptied()
	c.binding.skip = true
	for i, key := range c.keys {
		if key == "" {
			continue
		}
		c.binding.skip = false
		// SCHED-046: the first unusable claim, in the order of the pod's volumes, decides.
		if s := c.checkClaim(&c.pod.Spec.Volumes[i], key); s.code != success {
			return s
		}
	}
	// SCHED-040: a pod without claims skips the plugin.
	if c.binding.skip {
		return status{code: skipped}
	}
	if c.sortClaims() {
		// SCHED-050: claims of immediate binding have to be bound before.
		return rejectFor(immediate...).by("SCHED-050")
	}
	if len(c.binding.delayed) > 0 {
		c.binding.offers = map[string]*offer{}
	}
	for _, claim := range c.binding.delayed {
		// SCHED-052: the volumes are read once, for all nodes.
		key := api.KeyOf(claim)
		c.binding.offers[key] = newOffer(claim, c.look.candidates(objects.ClassOf(claim), key))
	}
	return status{}
}

// immediate are the reasons for the most frequent rejection.
var immediate = []string{reasonImmediate}

// checkClaim rejects the pod if it cannot use the claim of that key for a volume.
func (c *cycle) checkClaim(volume *corev1.Volume, key string) status {
	_, name := objects.SplitKey(key)
	claim, ok := c.look.claim(key)
	switch {
	case !ok && volume.Ephemeral != nil:
		// SCHED-042: the ephemeral volume controller has not created it yet.
		return rejectFor(fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)).by("SCHED-042")
	case !ok:
		// SCHED-041: the claim does not exist.
		return rejectFor(noClaim(name).Error()).by("SCHED-041")
	case claim.Status.Phase == corev1.ClaimLost:
		// SCHED-043: its volume is gone.
		return rejectFor(fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name,
			claim.Spec.VolumeName)).by("SCHED-043")
	case claim.DeletionTimestamp != nil:
		// SCHED-044: a claim that is being deleted is not usable.
		return rejectFor(fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)).by("SCHED-044")
	case volume.Ephemeral != nil && !objects.OwnsClaim(c.pod, claim):
		// SCHED-045: a claim of that name belongs to another owner.
		return rejectFor(notOwner(c.pod, claim).Error()).by("SCHED-045")
	}
	return status{}
}

// sortClaims sorts the pod's claims into bound and delayed ones. It reports whether a claim is neither.
func (c *cycle) sortClaims() (immediate bool) {
	// SCHED-051: a claim that two volumes name counts twice.
	for _, key := range c.keys {
		if key == "" {
			continue
		}
		claim, ok := c.look.assumedClaim(key)
		switch {
		case !ok:
		case fullyBound(claim):
			// SCHED-047: bound.
			c.binding.bound = append(c.binding.bound, claim)
		case c.waits(claim) && claim.Spec.VolumeName == "":
			// SCHED-047: delayed, because its class waits for the first consumer.
			c.binding.delayed = append(c.binding.delayed, claim)
		default:
			// SCHED-049: a claim that names its volume is bound by the PersistentVolume controller.
			immediate = true
		}
	}
	return immediate
}

// waits reports whether the claim's class has the binding mode WaitForFirstConsumer.
func (c *cycle) waits(claim *corev1.PersistentVolumeClaim) bool {
	// SCHED-048: a claim without a class, or whose class does not exist, does not wait.
	class, ok := c.look.class(objects.ClassOf(claim))
	return ok && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// filterBinding checks that the node reaches the bound volumes, and finds volumes or provisioners for the other claims (SCHED-060 to
// SCHED-114).
func (c *cycle) filterBinding(at *nodeState) status {
	if c.binding.skip {
		return status{}
	}
	var reasons []string
	missing, unreachable, err := c.checkBound(at)
	if err != nil {
		return failure(err)
	}
	if unreachable {
		reasons = append(reasons, reasonNodeConflict)
	}
	// SCHED-060: delayed claims are checked even if the bound ones do not fit.
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
	// SCHED-114: the reasons come in this order, and evictions resolve none of them.
	if len(reasons) > 0 {
		return rejectFor(reasons...)
	}
	if len(found.bindings)+len(found.provisions) > 0 {
		if c.found == nil {
			c.found = map[string]nodeVolumes{}
		}
		c.found[at.node.Name] = found
	}
	return status{}
}

// checkBound checks the volumes of the bound claims. The first one that does not fit decides (SCHED-060).
func (c *cycle) checkBound(at *nodeState) (missing, unreachable bool, err error) {
	c.readBound()
	for _, pv := range c.binding.volumes {
		if pv == nil {
			// SCHED-060, SCHED-064: the volume does not exist.
			return true, false, nil
		}
		// SCHED-063: a volume that cannot be translated fails the attempt.
		if pv, err = translatedFor(pv, c.csiNodeOf(at)); err != nil {
			return false, false, fmt.Errorf("could not translate pv: %w", err)
		}
		// SCHED-061, SCHED-062: node affinity is matched with the labels of the node.
		if !objects.AdmitsNode(pv, at.node.Labels) {
			return false, true, nil
		}
	}
	return false, false, nil
}

// readBound reads the volumes of the bound claims, which are the same for all nodes.
func (c *cycle) readBound() {
	if c.binding.read {
		return
	}
	c.binding.read = true
	for _, claim := range c.binding.bound {
		pv, _ := c.look.assumedVolume(claim.Spec.VolumeName)
		c.binding.volumes = append(c.binding.volumes, pv)
	}
}

// findVolumes finds a volume or a provisioner for every delayed claim on a node, or returns why it cannot (SCHED-070 to SCHED-072).
func (c *cycle) findVolumes(node *corev1.Node) (found nodeVolumes, why string, err error) {
	if len(c.binding.delayed) == 0 {
		return nodeVolumes{}, "", nil
	}
	var provision, open []*corev1.PersistentVolumeClaim
	for _, claim := range c.binding.delayed {
		selected, ok := claim.Annotations[objects.AnnSelectedNode]
		switch {
		case !ok:
			// SCHED-072: no node was selected for it yet.
			open = append(open, claim)
		case selected != node.Name:
			// SCHED-070, SCHED-071: the claim is provisioned for another node, even one that is gone; the other claims do not matter.
			return nodeVolumes{}, reasonBindConflict, nil
		default:
			// SCHED-070: a claim with a selected node is not matched with existing volumes again.
			provision = append(provision, claim)
		}
	}
	// SCHED-080: the smallest claims choose first.
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
			// SCHED-072, SCHED-087: it is provisioned, even if a volume elsewhere is reserved for it.
			provision = append(provision, claim)
		default:
			// SCHED-081: one volume cannot serve two claims.
			taken[pv.Name] = true
			found.bindings = append(found.bindings, pairing{pv, claim})
		}
	}
	// SCHED-100: claims without a volume may be provisioned; those with a selected node are checked first.
	found.provisions = provision
	why, err = c.provisionable(provision, node)
	return found, why, err
}
