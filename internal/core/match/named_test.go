package match

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestNamed(t *testing.T) {
	annotated := func(v *corev1.PersistentVolume) { v.Annotations = map[string]string{objects.AnnStorageClass: "fast"} }
	for _, tt := range []struct {
		rule  string
		name  string
		claim *corev1.PersistentVolumeClaim
		pv    *corev1.PersistentVolume
		want  string // "" if the volume satisfies the claim
	}{
		{"MATCH-030", "satisfies", pvc("1Gi"), pv("a", "1Gi"), ""},
		{"MATCH-030", "terminating comes first", pvc("2Gi", pvcClass("x")), pv("a", "1Gi", terminating), `the volume is marked for deletion "a"`},
		{"MATCH-030", "size comes second", pvc("2Gi", pvcClass("x")), pv("a", "1Gi"), "requested PV is too small"},
		{"MATCH-030", "sizes are compared in whole bytes, rounded up", pvc("1999m"), pv("a", "1001m"), ""},
		{"MATCH-030", "class comes third", pvc("1Gi", pvcClass("x"), pvcGold), pv("a", "1Gi"), "storageClassName does not match"},
		{"MATCH-030", "the legacy annotation is a class", pvc("1Gi", pvcClass("fast")), pv("a", "1Gi", annotated), ""},
		{"MATCH-030", "VAC comes fourth", pvc("1Gi", pvcGold, pvcBlock), pv("a", "1Gi"), "volumeAttributesClassName does not match"},
		{"MATCH-030", "an empty VAC is none", pvc("1Gi"), pv("a", "1Gi", pvEmptyVAC), ""},
		{"MATCH-030", "volumeMode comes fifth", pvc("1Gi", pvcBlock, pvcModes("RWX")), pv("a", "1Gi", pvFS), "incompatible volumeMode"},
		{"MATCH-030", "access modes come last", pvc("1Gi", pvcModes("RWO,RWX")), pv("a", "1Gi", pvModes("RWO,ROX")), "incompatible accessMode"},
		{"MATCH-030", "more modes than asked for are fine", pvc("1Gi", pvcModes("RWX,RWO")), pv("a", "1Gi", pvModes("RWO,ROX,RWX")), ""},
		{"MATCH-030", "trap 6: phase does not count", pvc("1Gi"), pv("a", "1Gi", pvPhase(corev1.VolumeFailed)), ""},
		{"MATCH-030", "nor do selector and node affinity", pvc("1Gi", pvcSelector(tierOne)), pv("a", "1Gi", pvZone("nowhere")), ""},
		{"MATCH-030", "not even a malformed selector", pvc("1Gi", pvcSelector(malformed)), pv("a", "1Gi"), ""},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			ok, why, rejection := Named(tt.claim, tt.pv)
			if ok != (tt.want == "") || why != tt.want {
				t.Errorf("Named = %v, %q, want %q", ok, why, tt.want)
			}
			if ok != (rejection.Rule == "") {
				t.Errorf("Named = %v, rejected: %v", ok, rejection)
			}
		})
	}
}
