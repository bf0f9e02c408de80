package mount

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// keeper is a driver that records its requests.
type keeper struct {
	*fake.Memory
	staged, published []storage.NodeRequest
}

func (k *keeper) Stage(req storage.NodeRequest) error {
	k.staged = append(k.staged, req)
	return k.Memory.Stage(req)
}

func (k *keeper) Publish(req storage.NodeRequest) error {
	k.published = append(k.published, req)
	return k.Memory.Publish(req)
}

// kept makes the driver of a fixture record its requests.
func kept(k *keeper) func(*setup) {
	return func(s *setup) {
		s.wrap = func(driver *fake.Memory) storage.Backend {
			k.Memory = driver
			return k
		}
	}
}

func (w *fixture) secret(namespace, name string) {
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"key": namespace + "/" + name}})
}

func withSecrets(pv *corev1.PersistentVolume) {
	pv.Spec.CSI.NodeStageSecretRef = &corev1.SecretReference{Namespace: "storage", Name: "stage"}
	pv.Spec.CSI.NodePublishSecretRef = &corev1.SecretReference{Namespace: "storage", Name: "publish"}
}

// MNT-314: secrets are read from the API before the call; while one is missing, the driver is not called, and the mount is retried.
func TestSecrets(t *testing.T) {
	k := &keeper{}
	w := newFixture(t, kept(k))
	w.setVolume("pv1", withSecrets)
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	want(t, "MNT-314: staged", len(k.staged), 0)
	want(t, "MNT-314: state", w.state(pod.UID), "VolumeNotMounted DeviceNotMounted")
	want(t, "MNT-314: event", w.events()[0], `FailedMount default/p1: MountVolume.MountDevice failed for volume "pv1" : `+
		`fetching NodeStageSecretRef storage/stage failed: kubernetes.io/csi: failed to find the secret stage in the namespace storage with error: secrets "stage" not found`)
	w.secret("storage", "stage")
	w.Advance(10 * time.Second)
	want(t, "MNT-314: staged", k.staged[0].Secrets, map[string]string{"key": "storage/stage"})
	want(t, "MNT-314: published", len(k.published), 0)
	want(t, "MNT-314: state", w.state(pod.UID), "VolumeNotMounted DeviceGloballyMounted")
	w.secret("storage", "publish")
	w.Advance(20 * time.Second)
	want(t, "MNT-314: published", k.published[0].Secrets, map[string]string{"key": "storage/publish"})
	want(t, "MNT-314: phase", w.phase("p1"), corev1.PodRunning)
}

// MNT-314: a driver that does not stage needs no secret for it.
func TestSecretWithoutStaging(t *testing.T) {
	k := &keeper{}
	w := newFixture(t, kept(k), func(s *setup) { s.driver = []fake.MemoryOption{fake.Without(storage.Stage)} })
	w.setVolume("pv1", withSecrets)
	w.secret("storage", "publish")
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(2 * time.Second)
	want(t, "MNT-314: published", len(k.published), 1)
}

// MNT-314: block volumes.
func TestSecretsOfDevices(t *testing.T) {
	k := &keeper{}
	w := newFixture(t, kept(k), func(s *setup) { s.volume = []fake.Option{fake.Block()} })
	w.setVolume("pv1", withSecrets)
	w.pod("p1", fake.BlockClaims("c1"))
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	if !strings.Contains(w.events()[0], "kubernetes.io/csi: failed to get NodeStageSecretRef storage/stage: ") {
		t.Errorf("MNT-314: events %q", w.events())
	}
	w.secret("storage", "stage")
	w.Advance(10 * time.Second)
	want(t, "MNT-314: staged", k.staged[0].Secrets, map[string]string{"key": "storage/stage"})
	if last := w.events()[len(w.events())-1]; !strings.Contains(last, "failed to get NodePublishSecretRef storage/publish: ") {
		t.Errorf("MNT-314: last event %q", last)
	}
	w.secret("storage", "publish")
	w.Advance(20 * time.Second)
	want(t, "MNT-314: published", k.published[0].Secrets, map[string]string{"key": "storage/publish"})
}

// MNT-303, MNT-314: the secret of an inline volume is in the namespace of its pod.
func TestSecretOfInlineVolume(t *testing.T) {
	k := &keeper{}
	w := newFixture(t, kept(k), func(s *setup) {
		s.driver = []fake.MemoryOption{fake.Lenient()}
		s.object = func(d *storagev1.CSIDriver) {
			d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}
		}
	})
	w.secret("default", "inline")
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		CSI: &corev1.CSIVolumeSource{Driver: driverName, NodePublishSecretRef: &corev1.LocalObjectReference{Name: "inline"}}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/x"}}
	w.Create(pod)
	w.Advance(time.Second)
	want(t, "MNT-314: published", k.published[0].Secrets, map[string]string{"key": "default/inline"})
}

// MNT-315: the tokens that the driver asks for are in the volume context, or in the secrets. A cached token is used until 80 % of its time
// are over.
func TestTokens(t *testing.T) {
	for _, inSecrets := range []bool{false, true} {
		k := &keeper{}
		w := newFixture(t, kept(k), func(s *setup) {
			s.object = func(d *storagev1.CSIDriver) {
				d.Spec.TokenRequests = []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(1000))}, {}}
				d.Spec.RequiresRepublish, d.Spec.ServiceAccountTokenInSecrets = new(true), new(inSecrets)
			}
		})
		pod := fake.Pod("p1", fake.OnNode(nodeName))
		pod.Spec.ServiceAccountName = "builder"
		addClaim(pod, "data", "c1")
		w.Create(pod)
		w.Advance(11 * time.Second)
		w.attach(handle)
		w.Advance(time.Second)
		tokens := func(req storage.NodeRequest) map[string]map[string]string {
			in, other := req.Context, req.Secrets
			if inSecrets {
				in, other = other, in
			}
			want(t, "MNT-315: elsewhere", other["csi.storage.k8s.io/serviceAccount.tokens"], "")
			var all map[string]map[string]string
			w.OK(json.Unmarshal([]byte(in["csi.storage.k8s.io/serviceAccount.tokens"]), &all))
			return all
		}
		first := tokens(k.published[0])
		want(t, "MNT-315: audiences", len(first), 2)
		want(t, "MNT-315: token", first["vault"]["token"], "token-1.default.builder.vault")
		expires, err := time.Parse(time.RFC3339, first["vault"]["expirationTimestamp"])
		w.OK(err)
		w.Advance(700 * time.Second)
		if last := tokens(k.published[len(k.published)-1]); len(k.published) < 2 || last["vault"]["token"] != first["vault"]["token"] {
			t.Errorf("MNT-315: %d calls, and the last one has %v, want the first token", len(k.published), last)
		}
		w.Advance(250 * time.Second)
		fresh := tokens(k.published[len(k.published)-1])
		want(t, "MNT-315: refreshed", fresh["vault"]["token"], "token-3.default.builder.vault")
		want(t, "MNT-315: the other one", fresh[""]["token"], first[""]["token"])
		want(t, "MNT-315: expires", expires.Sub(w.Now()) < 1000*time.Second, true)
	}
}
