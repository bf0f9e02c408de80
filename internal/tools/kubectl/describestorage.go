package kubectl

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

func (d *description) claim(pvc *corev1.PersistentVolumeClaim) {
	d.field("StorageClass", "%s", objects.ClassOf(pvc))
	d.terminating(pvc, string(pvc.Status.Phase))
	d.field("Volume", "%s", pvc.Spec.VolumeName)
	d.meta(pvc)
	d.field("Finalizers", "%v", pvc.Finalizers)
	d.claimSpec("", pvc)
	d.lines("Used By", d.users(pvc))
	if len(pvc.Status.Conditions) > 0 {
		d.printf("Conditions:\n  Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage\n" +
			"  ----\t------\t-----------------\t------------------\t------\t-------\n")
	}
	for _, c := range pvc.Status.Conditions {
		d.printf("  %s \t%s \t%s \t%s \t%s \t%s\n", c.Type, c.Status, timeOf(c.LastProbeTime), timeOf(c.LastTransitionTime), c.Reason, c.Message)
	}
}

// claimSpec writes what a claim and the template of one have in common.
func (d *description) claimSpec(indent string, pvc *corev1.PersistentVolumeClaim) {
	capacity, modes := "", ""
	if pvc.Spec.VolumeName != "" {
		capacity, modes = storage(pvc.Status.Capacity), AccessModes(pvc.Status.AccessModes)
	}
	d.printf("%sCapacity:\t%s\n%[1]sAccess Modes:\t%[3]s\n", indent, capacity, modes)
	if mode := pvc.Spec.VolumeMode; mode != nil {
		d.printf("%sVolumeMode:\t%s\n", indent, *mode)
	}
	source := pvc.Spec.DataSource
	if source == nil {
		return
	}
	d.printf("%sDataSource:\n", indent)
	if source.APIGroup != nil {
		d.printf("%s  APIGroup:\t%s\n", indent, *source.APIGroup)
	}
	d.printf("%s  Kind:\t%s\n%[1]s  Name:\t%[3]s\n", indent, source.Kind, source.Name)
}

// users returns the names of the pods that use a claim: those that name it, and the pod that owns it. A pod that names it in two volumes is
// there twice.
func (d *description) users(pvc *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, pod := range d.pods(pvc.Namespace) {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == pvc.Name {
				names = append(names, pod.Name)
			}
		}
	}
	for _, owner := range pvc.OwnerReferences {
		isOwner := func(p *corev1.Pod) bool { return p.Namespace == pvc.Namespace && p.UID == owner.UID }
		if owner.Kind == string(api.Pod) && !slices.Contains(names, owner.Name) && slices.ContainsFunc(d.around.Pods, isOwner) {
			names = append(names, owner.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *description) volume(pv *corev1.PersistentVolume) {
	d.meta(pv)
	d.field("Finalizers", "%v", pv.Finalizers)
	d.field("StorageClass", "%s", objects.ClassOfVolume(pv))
	d.terminating(pv, string(pv.Status.Phase))
	d.field("Claim", "%s", claimOf(pv))
	d.field("Reclaim Policy", "%s", pv.Spec.PersistentVolumeReclaimPolicy)
	d.field("Access Modes", "%s", AccessModes(pv.Spec.AccessModes))
	if mode := pv.Spec.VolumeMode; mode != nil {
		d.field("VolumeMode", "%s", *mode)
	}
	d.field("Capacity", "%s", storage(pv.Spec.Capacity))
	d.affinity(pv.Spec.NodeAffinity)
	d.field("Message", "%s", pv.Status.Message)
	d.printf("Source:\n")
	d.source(volumeSource(&pv.Spec.PersistentVolumeSource))
}

func (d *description) affinity(affinity *corev1.VolumeNodeAffinity) {
	if affinity == nil || affinity.Required == nil {
		d.field("Node Affinity", "<none>")
		return
	}
	d.printf("Node Affinity:\t\n  Required Terms:\t")
	if len(affinity.Required.NodeSelectorTerms) == 0 {
		d.printf("<none>")
	}
	d.printf("\n")
	for i, term := range affinity.Required.NodeSelectorTerms {
		var texts []string
		for _, e := range term.MatchExpressions {
			text := e.Key + " " + strings.ToLower(string(e.Operator))
			if len(e.Values) > 0 {
				text += " [" + strings.Join(e.Values, ", ") + "]"
			}
			texts = append(texts, text)
		}
		d.linesUnder("    ", fmt.Sprintf("Term %d", i), texts)
	}
}

func (d *description) class(c *storagev1.StorageClass) {
	isDefault := "No"
	if c.Annotations[objects.AnnDefaultClass] == "true" || c.Annotations[objects.AnnBetaDefaultClass] == "true" {
		isDefault = "Yes"
	}
	d.field("IsDefaultClass", "%s", isDefault)
	d.field("Annotations", "%s", inOneLine(c.Annotations))
	d.field("Provisioner", "%s", c.Provisioner)
	d.field("Parameters", "%s", inOneLine(c.Parameters))
	d.field("AllowVolumeExpansion", "%s", optional(c.AllowVolumeExpansion))
	if len(c.MountOptions) == 0 {
		d.field("MountOptions", "<none>")
	} else {
		d.printf("MountOptions:\n  %s\n", strings.Join(c.MountOptions, "\n  "))
	}
	if c.ReclaimPolicy != nil {
		d.field("ReclaimPolicy", "%s", *c.ReclaimPolicy)
	}
	if c.VolumeBindingMode != nil {
		d.field("VolumeBindingMode", "%s", *c.VolumeBindingMode)
	}
	if c.AllowedTopologies == nil {
		return
	}
	d.printf("AllowedTopologies:\t\n")
	for i, term := range c.AllowedTopologies {
		var texts []string
		for _, e := range term.MatchLabelExpressions {
			texts = append(texts, e.Key+" in ["+strings.Join(e.Values, ", ")+"]")
		}
		d.linesUnder("  ", fmt.Sprintf("Term %d", i), texts)
	}
}

func (d *description) attributesClass(c *storagev1.VolumeAttributesClass) {
	d.field("Annotations", "%s", inOneLine(c.Annotations))
	d.field("DriverName", "%s", c.DriverName)
	d.field("Parameters", "%s", inOneLine(c.Parameters))
}

func (d *description) csiNode(n *storagev1.CSINode) {
	d.meta(n)
	d.field("CreationTimestamp", "%s", timeOf(n.CreationTimestamp))
	d.printf("Spec:\n")
	if n.Spec.Drivers != nil {
		d.printf("  Drivers:\n")
	}
	for _, driver := range n.Spec.Drivers {
		d.printf("    %s:\n      Node ID:\t%s\n", driver.Name, driver.NodeID)
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			d.printf("      Allocatables:\n        Count:\t%d\n", *driver.Allocatable.Count)
		}
		if driver.TopologyKeys != nil {
			d.printf("      Topology Keys:\t%s\n", driver.TopologyKeys)
		}
	}
}
