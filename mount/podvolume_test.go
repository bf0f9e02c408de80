package mount

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/mount/internal/disk"
)

// plainPod returns a pod with one volume that no driver provides.
func plainPod(w *fixture, source corev1.VolumeSource) types.UID {
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	w.Create(pod)
	return w.stored("p1").UID
}

// below lists what there is in the directories of volumes and plugins of a pod, mounts with a star.
func below(w *fixture, uid types.UID) (paths []string) {
	dir := w.node.kubelet.layout.Pod(uid) + "/"
	for _, path := range w.node.disk.Paths() {
		if rest, ok := strings.CutPrefix(path, dir); ok && strings.Count(rest, "/") > 1 {
			if w.node.disk.Mounted(strings.TrimSuffix(path, "/")) {
				rest += "*"
			}
			paths = append(paths, rest)
		}
	}
	return paths
}

// The volumes that the kubelet creates without a driver, and their state after a reboot (MNT-039, MNT-310, MNT-311, MNT-312).
func TestPodVolumes(t *testing.T) {
	labels := []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}
	for _, tc := range []struct {
		rule, name string
		source     corev1.VolumeSource
		want       []string
	}{
		{"MNT-310", "emptyDir", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			[]string{"plugins/kubernetes.io~empty-dir/v/", "plugins/kubernetes.io~empty-dir/v/ready", "volumes/kubernetes.io~empty-dir/v/"}},
		{"MNT-310", "emptyDir in memory", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}},
			[]string{"plugins/kubernetes.io~empty-dir/v/", "plugins/kubernetes.io~empty-dir/v/ready", "volumes/kubernetes.io~empty-dir/v/*"}},
		{"MNT-039", "configMap",
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
			[]string{"plugins/kubernetes.io~empty-dir/wrapped_v/", "plugins/kubernetes.io~empty-dir/wrapped_v/ready",
				"volumes/kubernetes.io~configmap/v/"}},
		{"MNT-310", "secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}},
			[]string{"plugins/kubernetes.io~empty-dir/wrapped_v/", "plugins/kubernetes.io~empty-dir/wrapped_v/ready",
				"volumes/kubernetes.io~secret/v/*"}},
		{"MNT-310", "downwardAPI", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: labels}},
			[]string{"plugins/kubernetes.io~empty-dir/wrapped_v/", "plugins/kubernetes.io~empty-dir/wrapped_v/ready",
				"volumes/kubernetes.io~downward-api/v/*"}},
		{"MNT-313", "image", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "example.com/x"}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.Create(&corev1.ConfigMap{ObjectMeta: meta("c")}, &corev1.Secret{ObjectMeta: meta("s")})
			uid := plainPod(w, tc.source)
			w.Advance(time.Second)
			want(t, tc.rule+": phase", w.phase("p1"), corev1.PodRunning)
			files := func() []string {
				return slices.DeleteFunc(below(w, uid), func(path string) bool { return strings.Count(strings.TrimSuffix(path, "/"), "/") < 2 })
			}
			want(t, tc.rule+": paths", files(), tc.want)
			w.node.PowerOff()
			w.node.Start()
			want(t, "MNT-311: mounts after a reboot", w.node.disk.Mounts(), []disk.Mount(nil))
			w.Advance(3 * time.Second)
			want(t, "MNT-311: paths after a reboot", files(), tc.want)
			w.deletePod("p1")
			w.Advance(2 * time.Second)
			want(t, "MNT-312: paths afterwards", files(), []string(nil))
		})
	}
}

// A repository is not cloned any more (MNT-313).
func TestGitRepo(t *testing.T) {
	w := newFixture(t)
	plainPod(w, corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://example.com/x"}})
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-313: events", w.events(), []string{
		"FailedMount default/p1: MountVolume.SetUp failed for volume \"v\" : git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`",
	})
}
