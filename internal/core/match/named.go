package match

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// namedChecks are the predicates for a volume that a claim names, with the text that ends the VolumeMismatch Event.
// MATCH-030: six tests in this order.
var namedChecks = [...]struct {
	*predicate
	why string
}{
	{notTerminating, ""}, // its text has the name of the volume
	{wholeBytes, "requested PV is too small"},
	{sameClass, "storageClassName does not match"},
	{sameAttributesClass, "volumeAttributesClassName does not match"},
	{sameVolumeMode, "incompatible volumeMode"},
	{namedModes, "incompatible accessMode"},
}

// Named reports whether the volume can serve a claim that names it in volumeName (MATCH-030). If not, why is the text that ends the
// VolumeMismatch Event, and r explains it. Phase, claimRef, selector and node affinity do not count.
func Named(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (ok bool, why string, r Rejection) {
	request := newRequest(claim)
	for _, check := range namedChecks {
		if check.holds(&request, pv) {
			continue
		}
		why = check.why
		if check.predicate == notTerminating {
			why = fmt.Sprintf("the volume is marked for deletion %q", pv.Name)
		}
		got, needed := check.explain(&request, pv)
		return false, why, Rejection{Volume: pv.Name, Rule: "MATCH-030", Got: got, Needed: needed}
	}
	return true, "", Rejection{}
}
