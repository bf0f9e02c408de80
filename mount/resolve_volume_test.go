package mount

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

func TestResolve(t *testing.T) {
	now := metav1.Now()
	const prefix = "error processing PVC default/c1: "
	for _, tc := range []struct {
		rule, name string
		claim      func(*corev1.PersistentVolumeClaim)
		volume     func(*corev1.PersistentVolume)
		options    []fake.Option
		gone       string
		want       string
	}{
		{rule: "MNT-072a", name: "no claim of an ephemeral volume", options: []fake.Option{fake.Ephemeral("x", "1Gi", "")},
			want: "error processing PVC default/p-x: failed to fetch PVC from API server: persistentvolumeclaims \"p-x\" not found"},
		{rule: "MNT-072a", name: "no claim", gone: "claim",
			want: prefix + `failed to fetch PVC from API server: persistentvolumeclaims "c1" not found`},
		{rule: "MNT-072b", name: "a claim that goes", claim: func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = &now,
				[]string{"x"}
		}, want: prefix + "PVC is being deleted"},
		{rule: "MNT-072c", name: "a claim that waits", claim: func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending },
			want: prefix + "PVC is not bound"},
		{rule: "MNT-072d", name: "a claim without a volume", claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "" },
			want: prefix + "PVC has empty pvc.Spec.VolumeName"},
		{rule: "MNT-072f", name: "no volume", gone: "volume",
			want: prefix + `failed to fetch PV pv1 from API server: persistentvolumes "pv1" not found`},
		{rule: "MNT-072g", name: "a volume without a claim", volume: func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil },
			want: prefix + "found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"},
		{rule: "MNT-072h", name: "a volume of another claim", volume: func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "x" },
			want: prefix + "found PV object pv1 but its pv.Spec.ClaimRef.UID x does not point to claim.UID uid-c1"},
		{rule: "MNT-072i", name: "a volume that cannot be translated", volume: func(v *corev1.PersistentVolume) {
			kind := corev1.AzureDedicatedBlobDisk
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "u",
				Kind: &kind}}
		}, want: "failed to translate in-tree pv to CSI: kind(Dedicated) is not supported in csi migration"},
		{rule: "MNT-072k", name: "a device is mounted",
			volume: func(v *corev1.PersistentVolume) { mode := corev1.PersistentVolumeBlock; v.Spec.VolumeMode = &mode },
			want:   "volume data has volumeMode Block, but is specified in volumeMounts"},
		{rule: "MNT-072l", name: "a file system as a device", options: []fake.Option{fake.BlockClaims("c1")},
			want: "volume c1 has volumeMode Filesystem, but is specified in volumeDevices"},
		{rule: "MNT-073", name: "a volume in another phase", volume: func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.ClaimRef.Name = corev1.VolumeAvailable, "other"
		}, want: ""},
		{rule: "MNT-047", name: "a source that no plugin supports", volume: func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Glusterfs: &corev1.GlusterfsPersistentVolumeSource{EndpointsName: "e",
				Path: "/"}}
		}, want: `failed to get Plugin from volumeSpec for volume "pv1" err=no volume plugin matched`},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t)
			if tc.claim != nil {
				w.setClaim("c1", tc.claim)
			}
			if tc.volume != nil {
				w.setVolume("pv1", tc.volume)
			}
			pod := fake.Pod("p", tc.options...)
			if len(tc.options) == 0 {
				addClaim(pod, "data", "c1")
			}
			use := volumes.UseOf(pod, pod.Spec.Volumes[0].Name)
			w.node.kubeletActor.Go("test", func(p *engine.Process) {
				switch tc.gone {
				case "claim":
					w.Faults.Fail(fake.Match{Verb: "get", Kind: "PersistentVolumeClaim"}, errors.New(`persistentvolumeclaims "c1" not found`))
				case "volume":
					w.Faults.Fail(fake.Match{Verb: "get", Kind: "PersistentVolume"}, errors.New(`persistentvolumes "pv1" not found`))
				}
				_, err := w.node.kubelet.populator.resolve(p, pod, &pod.Spec.Volumes[0], use)
				got := ""
				if err != nil {
					got = err.Error()
				}
				want(t, tc.rule, got, tc.want)
			})
			w.Advance(0)
		})
	}
	// MNT-072j: only an API server without defaults has such a volume.
	if err := checkMode("data", &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}, volumes.Use{}); err == nil ||
		err.Error() != "cannot get volumeMode for volume: pv" {
		t.Errorf("MNT-072j: checkMode = %v", err)
	}
}

// MNT-020: a volume that two plugins support is an error.
func TestTwoPlugins(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.backends = []storage.Backend{fake.InTree("kubernetes.io/a"), fake.InTree("kubernetes.io/b")}
	})
	pod := fake.Pod("p", fake.OnNode(nodeName))
	pod.Spec.Volumes = []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "x", MountPath: "/x"}}
	w.Create(pod)
	w.Advance(400 * time.Millisecond)
	want(t, "MNT-020", w.events(),
		[]string{"FailedMount default/p: Unable to attach or mount volumes: unmounted volumes=[x], unattached volumes=[], failed to process volumes=[x]: " +
			`failed to get Plugin from volumeSpec for volume "x" err=multiple volume plugins matched: kubernetes.io/a,kubernetes.io/b`})
}
