package mount

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

func TestSupplementalGroups(t *testing.T) {
	pod := fake.Pod("p")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: []int64{5}}
	var specs []*volumes.Spec
	for _, gid := range []string{"5", "6", "wheel", "6", ""} {
		specs = append(specs, &volumes.Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi",
			fake.Annotations(volumes.GIDAnnotation, gid))}})
	}
	want(t, "MNT-386", supplementalGroups(pod, specs), []int64{6})
}
