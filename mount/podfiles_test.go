package mount

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

// Sources of volumes, by the name of an object and the keys that items name.
func secretSource(name string, keys ...string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Items: itemsOf(keys)}}
}

func configMapSource(name string, keys ...string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: itemsOf(keys)}}
}

func itemsOf(keys []string) (items []corev1.KeyToPath) {
	for _, key := range keys {
		items = append(items, corev1.KeyToPath{Key: key, Path: key})
	}
	return items
}

func projectedSource(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

func limitOf(container string) []corev1.DownwardAPIVolumeFile {
	return []corev1.DownwardAPIVolumeFile{{Path: "limit",
		ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: container, Resource: "limits.memory"}}}
}

// TestPodFiles checks what volumes of Secrets and ConfigMaps need: error is that of the first attempt, "" if the pod runs.
func TestPodFiles(t *testing.T) {
	optional := func(source corev1.VolumeSource) corev1.VolumeSource {
		if source.Secret != nil {
			source.Secret.Optional = new(true)
		} else {
			source.ConfigMap.Optional = new(true)
		}
		return source
	}
	secret := func(name string) corev1.VolumeProjection {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	configMap := func(name string, keys ...string) corev1.VolumeProjection {
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: itemsOf(keys)}}
	}
	downward := corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: limitOf("other")}}
	for _, tc := range []struct {
		rule, name string
		source     corev1.VolumeSource
		err        string
	}{
		{"MNT-316", "secret", secretSource("key"), ""},
		{"MNT-316", "secret with a key", secretSource("key", "token"), ""},
		{"MNT-316", "no secret", secretSource("none"), `secret "none" not found`},
		{"MNT-316", "secret of another namespace", secretSource("elsewhere"), `secret "elsewhere" not found`},
		{"MNT-316", "secret without a key", secretSource("key", "token", "none"), `references non-existent secret key: none`},
		{"MNT-316", "no secret, optional", optional(secretSource("none")), ""},
		{"MNT-316", "secret without a key, optional", optional(secretSource("key", "none")), ""},
		{"MNT-316", "configMap", configMapSource("settings"), ""},
		{"MNT-316", "configMap with a key", configMapSource("settings", "a"), ""},
		{"MNT-316", "configMap with binary data", configMapSource("settings", "b"), ""},
		{"MNT-316", "configMap with an empty value", configMapSource("settings", "empty"), ""},
		{"MNT-316", "no configMap", configMapSource("none"), `configmap "none" not found`},
		{"MNT-316", "configMap without a key", configMapSource("settings", "none"), `configmap references non-existent config key: none`},
		{"MNT-316", "no configMap, optional", optional(configMapSource("none")), ""},
		{"MNT-316", "authority of the cluster", configMapSource("kube-root-ca.crt", "ca.crt"), ""},
		{"MNT-317", "projected", projectedSource(secret("key"), configMap("settings", "a")), ""},
		{"MNT-317", "projected, one is missing", projectedSource(secret("none"), configMap("settings")), `secret "none" not found`},
		{"MNT-317", "projected, all are missing", projectedSource(secret("none"), configMap("none"), secret("none"), configMap("settings", "c"), downward),
			`[secret "none" not found, configmap "none" not found, configmap references non-existent config key: c, container other not found]`},
		{"MNT-318", "token", projectedSource(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}), ""},
		{"MNT-319", "downwardAPI", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: limitOf("main")}}, ""},
		{"MNT-319", "downwardAPI of no container", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: limitOf("other")}}, `container other not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.Create(&corev1.Secret{ObjectMeta: meta("key"), Data: map[string][]byte{"token": []byte("t")}})
			w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "elsewhere"}})
			w.Create(&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"a": "1", "empty": ""}, BinaryData: map[string][]byte{"b": {0}}})
			uid := plainPod(w, tc.source)
			w.Advance(300 * time.Millisecond)
			if tc.err == "" {
				want(t, tc.rule+": phase", w.phase("p1"), corev1.PodRunning)
				return
			}
			want(t, tc.rule+": events", w.events(), []string{`FailedMount default/p1: MountVolume.SetUp failed for volume "v" : ` + tc.err})
			want(t, tc.rule+": directories", below(w, uid), []string(nil))
		})
	}
}

// A pod starts once its ConfigMap is there, at the next attempt, and goes on when it is gone: only remounts fail (MNT-316).
func TestLateConfigMap(t *testing.T) {
	w := newFixture(t)
	plainPod(w, configMapSource("settings"))
	w.Advance(10 * time.Second)
	want(t, "phase without the ConfigMap", w.phase("p1"), corev1.PodPending)
	w.Create(&corev1.ConfigMap{ObjectMeta: meta("settings")})
	w.Advance(10 * time.Second)
	want(t, "phase with it", w.phase("p1"), corev1.PodRunning)
	w.Mark()
	w.Delete(objects.ConfigMapKind, "default/settings")
	w.Advance(2 * time.Minute)
	want(t, "phase after it", w.phase("p1"), corev1.PodRunning)
	if events := w.events(); len(events) == 0 || !strings.Contains(events[0], `configmap "settings" not found`) {
		t.Errorf("MNT-316: events of remounts: got %q", events)
	}
}

// A projected token is requested with its audience, and again when 80 % of its time are over. Without one the pod waits (MNT-318).
func TestProjectedToken(t *testing.T) {
	requests, down := 0, true
	w := newFixtureWith(t, engine.InjectorFunc(func(c api.Call) api.Fault {
		if c.Kind != "TokenRequest" {
			return api.Fault{}
		}
		requests++
		if down {
			return api.Fault{Err: errors.New("no route to host")}
		}
		return api.Fault{}
	}))
	plainPod(w, projectedSource(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
		Path: "token", Audience: "vault", ExpirationSeconds: new(int64(3600))}}))
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-318: events", w.events(), []string{
		`FailedMount default/p1: MountVolume.SetUp failed for volume "v" : failed to fetch token: no route to host`})
	requests, down = 0, false
	w.Advance(10 * time.Minute)
	want(t, "MNT-318: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-318: requests in 10 minutes", requests, 1)
	w.Advance(time.Hour)
	want(t, "MNT-318: requests in 70 minutes", requests, 2)
}
