package mount

import (
	"testing"
	"time"

	"github.com/volsim/volsim/mount/internal/disk"
	corev1 "k8s.io/api/core/v1"
)

// A pod that was deleted while no kubelet ran goes as soon as the volumes that cannot be reconstructed are unmounted (MNT-387, MNT-453,
// MNT-461).
func TestFailedReconstructionOfDeletedPod(t *testing.T) {
	w := newFixture(t)
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/x"}}
	})
	uid := w.pod("p1").UID
	w.Advance(time.Second)
	want(t, "MNT-035: phase", w.phase("p1"), corev1.PodRunning)
	w.node.Stop()
	w.deletePod("p1")
	w.Advance(time.Second)
	w.node.Start()
	w.Advance(3 * time.Second)
	want(t, "MNT-461: mounts", w.node.disk.Mounts(), []disk.Mount(nil))
	_, there := w.Store().Pods.Lookup("default/p1")
	want(t, "MNT-387: the pod is there", there, false)
	w.Advance(3 * time.Second)
	want(t, "MNT-480: directory", w.node.disk.Exists(w.node.kubelet.layout.Pod(uid)), false)
}
