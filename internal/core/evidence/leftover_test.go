package evidence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
)

// TestLeftover: a volume that is in use on a node that does not respond, although no pod of the dump uses it there.
func TestLeftover(t *testing.T) {
	inUse := with(heartbeat(time.Hour), func(node *corev1.Node) {
		node.Status.VolumesInUse = []corev1.UniqueVolumeName{objects.CSIVolumeName(driver, "h1")}
	})
	attached := with(attachment(""), func(va *storagev1.VolumeAttachment) { va.Status.Attached = true })
	other := fake.Pod("other", fake.OnNode("n2"), fake.Claims("data"))
	many := with(bound(time.Hour), func(pv *corev1.PersistentVolume) {
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	})
	for _, tt := range []struct {
		rule, name string
		objs       []api.Object
		assume     []string
		want       int
	}{
		{"ATT-064", "a pod was deleted by force", []api.Object{inUse, bound(time.Hour), attached, other}, nil, 1},
		{"ATT-064", "a pod uses it there", []api.Object{inUse, bound(time.Hour), attached, fake.Pod("p", fake.OnNode("n1"), fake.Claims("data"))}, nil, 0},
		{"ATT-064", "the node responds", []api.Object{with(inUse.DeepCopy(), func(node *corev1.Node) {
			node.Status.Conditions = heartbeat(time.Minute).Status.Conditions
		}), bound(time.Hour), attached, other}, nil, 0},
		{"ATT-064", "the user says that the node responds", []api.Object{inUse, bound(time.Hour), attached, other}, []string{"node/n1=healthy"}, 0},
		{"ATT-064", "a dump without pods", []api.Object{inUse, bound(time.Hour), attached}, nil, 0},
		{"ATT-043", "it is not in use", []api.Object{heartbeat(time.Hour), bound(time.Hour), attached, other}, nil, 0},
		{"ATT-070", "it allows many nodes", []api.Object{inUse, many, attached, other}, nil, 0},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			set, err := evidence.Read(tt.objs, now).Override(tt.assume...)
			require.NoError(t, err)
			require.Len(t, set.Leftover(), tt.want)
			_, ok := set.LeftoverOn("pv", "n1")
			require.Equal(t, tt.want > 0, ok)
		})
	}
}
