package mount

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// Parts of the environment of a container.
func envFromSecret(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func envFromConfigMap(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func secretKey(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}}
}

func configMapKey(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "B", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}}
}

// optionally makes all parts of an environment optional.
func optionally(c corev1.Container) corev1.Container {
	for i := range c.EnvFrom {
		if s := c.EnvFrom[i].SecretRef; s != nil {
			s.Optional = new(true)
		} else {
			c.EnvFrom[i].ConfigMapRef.Optional = new(true)
		}
	}
	for i := range c.Env {
		if s := c.Env[i].ValueFrom.SecretKeyRef; s != nil {
			s.Optional = new(true)
		} else {
			c.Env[i].ValueFrom.ConfigMapKeyRef.Optional = new(true)
		}
	}
	return c
}

// TestEnvironment checks what the environment of a container needs: err is the message of the container, "" if the pod runs.
func TestEnvironment(t *testing.T) {
	from := func(sources ...corev1.EnvFromSource) corev1.Container { return corev1.Container{EnvFrom: sources} }
	env := func(vars ...corev1.EnvVar) corev1.Container { return corev1.Container{Env: vars} }
	for _, tc := range []struct {
		rule, name string
		container  corev1.Container
		err        string
	}{
		{"MNT-378", "secret", from(envFromSecret("key")), ""},
		{"MNT-378", "no secret", from(envFromSecret("none")), `secret "none" not found`},
		{"MNT-378", "no secret, optional", optionally(from(envFromSecret("none"))), ""},
		{"MNT-378", "configMap", from(envFromConfigMap("settings")), ""},
		{"MNT-378", "no configMap", from(envFromConfigMap("none")), `configmap "none" not found`},
		{"MNT-378", "no configMap, optional", optionally(from(envFromConfigMap("none"))), ""},
		{"MNT-378", "key of a secret", env(secretKey("key", "token")), ""},
		{"MNT-378", "key of no secret", env(secretKey("none", "token")), `secret "none" not found`},
		{"MNT-378", "no key of a secret", env(secretKey("key", "none")), `couldn't find key none in Secret default/key`},
		{"MNT-378", "no key of a secret, optional", optionally(env(secretKey("key", "none"))), ""},
		{"MNT-378", "key of a configMap", env(configMapKey("settings", "a")), ""},
		{"MNT-378", "no key of a configMap", env(configMapKey("settings", "none")), `couldn't find key none in ConfigMap default/settings`},
		{"MNT-378", "binary data are no variable", env(configMapKey("settings", "b")), `couldn't find key b in ConfigMap default/settings`},
		{"MNT-378", "no configMap, the key is optional", optionally(env(configMapKey("none", "a"))), ""},
		{"MNT-378", "sources of many variables come first", corev1.Container{Env: []corev1.EnvVar{secretKey("none", "a")},
			EnvFrom: []corev1.EnvFromSource{envFromConfigMap("missing")}}, `configmap "missing" not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.Create(&corev1.Secret{ObjectMeta: meta("key"), Data: map[string][]byte{"token": []byte("t")}})
			w.Create(&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {0}}})
			w.environment("p1", tc.container)
			w.Advance(300 * time.Millisecond)
			status := w.stored("p1").Status
			if tc.err == "" {
				want(t, tc.rule+": phase", status.Phase, corev1.PodRunning)
				return
			}
			want(t, tc.rule+": phase", status.Phase, corev1.PodPending)
			want(t, tc.rule+": container", *status.ContainerStatuses[0].State.Waiting, corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: tc.err})
			want(t, tc.rule+": events", w.events(), []string{"Failed default/p1: Error: " + tc.err})
		})
	}
}

// TestSubPathExpressions checks the paths in volumes that containers mount, as variables make them (MNT-402).
func TestSubPathExpressions(t *testing.T) {
	value := func(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	field := func(path string) corev1.EnvVar {
		return corev1.EnvVar{Name: "F", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	named := func(name string, v corev1.EnvVar) corev1.EnvVar {
		v.Name = name
		return v
	}
	optional := func(v corev1.EnvVar) corev1.EnvVar {
		return optionally(corev1.Container{Env: []corev1.EnvVar{v}}).Env[0]
	}
	for _, tc := range []struct {
		rule, name, path string
		env              []corev1.EnvVar
		from             []corev1.EnvFromSource
		err              string
	}{
		{"MNT-402", "name of the pod", "$(F)", []corev1.EnvVar{field("metadata.name")}, nil, ""},
		{"MNT-402", "no variable", "logs", nil, nil, ""},
		{"MNT-402", "unknown variables", "$(B)/$(A)/$(B)", nil, nil, "missing value for A, B"},
		{"MNT-402", "empty variable", "a/$(A)", []corev1.EnvVar{value("A", "")}, nil, "missing value for A"},
		{"MNT-402", "label that the pod lacks", "$(F)", []corev1.EnvVar{field("metadata.labels['zone']")}, nil, "missing value for F"},
		{"MNT-402", "annotation", "$(F)", []corev1.EnvVar{field("metadata.annotations['path']")}, nil, ""},
		{"MNT-402", "escaped reference", "$$(A)", nil, nil, ""},
		{"MNT-402", "absolute path", "$(A)", []corev1.EnvVar{value("A", "/tmp")}, nil, "error SubPath `/tmp` must not be an absolute path"},
		{"MNT-402", "leaves the volume", "a/$(A)", []corev1.EnvVar{value("A", "../b")}, nil, "unable to provision SubPath `a/../b`: must not contain '..'"},
		{"MNT-402", "the last entry of a name counts", "$(A)", []corev1.EnvVar{value("A", "/tmp"), value("A", "b")}, nil, ""},
		{"MNT-402", "variable of a variable", "$(B)", []corev1.EnvVar{value("A", "/tmp"), value("B", "$(A)")}, nil, "error SubPath `/tmp` must not be an absolute path"},
		{"MNT-402", "of one that comes later", "$(B)", []corev1.EnvVar{value("B", "$(A)"), value("A", "/tmp")}, nil, ""},
		{"MNT-402", "key of a ConfigMap", "$(A)", []corev1.EnvVar{named("A", configMapKey("settings", "path"))}, nil, "error SubPath `/etc` must not be an absolute path"},
		{"MNT-402", "key of a Secret", "$(A)", []corev1.EnvVar{named("A", secretKey("key", "path"))}, nil, "error SubPath `/var` must not be an absolute path"},
		{"MNT-402", "optional key", "$(A)", []corev1.EnvVar{optional(named("A", secretKey("key", "none")))}, nil, "missing value for A"},
		{"MNT-402", "all keys of a Secret", "$(path)", nil, []corev1.EnvFromSource{envFromSecret("key")}, "error SubPath `/var` must not be an absolute path"},
		{"MNT-402", "with a prefix", "$(X_path)", nil, []corev1.EnvFromSource{{Prefix: "X_", ConfigMapRef: envFromConfigMap("settings").ConfigMapRef}},
			"error SubPath `/etc` must not be an absolute path"},
		{"MNT-402", "the service of the API server", "$(KUBERNETES_SERVICE_HOST)", nil, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.Create(&corev1.Secret{ObjectMeta: meta("key"), Data: map[string][]byte{"path": []byte("/var")}})
			w.Create(&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"path": "/etc"}})
			pod := fake.Pod("p1", fake.OnNode("n1"))
			pod.Annotations = map[string]string{"path": "a/b"}
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			c := &pod.Spec.Containers[0]
			c.Env, c.EnvFrom = tc.env, tc.from
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: tc.path}}
			w.Create(pod)
			w.Advance(400 * time.Millisecond)
			status, message := w.stored("p1").Status, ""
			if waiting := status.ContainerStatuses[0].State.Waiting; waiting != nil {
				message = waiting.Message
			}
			want(t, tc.rule+": message", message, tc.err)
			want(t, tc.rule+": runs", status.Phase == corev1.PodRunning, tc.err == "")
		})
	}
}

// environment creates a pod on the node whose container has an environment.
func (w *fixture) environment(name string, c corev1.Container) {
	pod := fake.Pod(name, fake.OnNode("n1"))
	pod.Spec.Containers[0].Env, pod.Spec.Containers[0].EnvFrom = c.Env, c.EnvFrom
	w.Create(pod)
}

// A container that cannot be created is tried again every ten seconds, and the pod runs once its Secret is there. Settle does not wait for it (MNT-378).
func TestLateSecret(t *testing.T) {
	w := newFixture(t)
	w.environment("p1", corev1.Container{EnvFrom: []corev1.EnvFromSource{envFromSecret("late")}})
	w.Advance(300 * time.Millisecond)
	begin := w.Now()
	w.Settle(time.Hour)
	want(t, "MNT-378: time that Settle takes", w.Now().Sub(begin), 0*time.Second)
	w.Advance(30 * time.Second)
	want(t, "MNT-378: events of four attempts", len(w.events()), 4)
	w.Create(&corev1.Secret{ObjectMeta: meta("late")})
	w.Settle(time.Hour)
	want(t, "MNT-378: phase with the Secret", w.phase("p1"), corev1.PodRunning)
	w.Delete("Secret", "default/late")
	w.Advance(3 * time.Minute)
	want(t, "MNT-378: phase without it", w.phase("p1"), corev1.PodRunning)
}

// TestDeadline: a pod ends at its deadline, whatever it does (MNT-401).
func TestDeadline(t *testing.T) {
	for _, tc := range []struct {
		rule, name    string
		prepare       func(*fixture, *corev1.Pod)
		after         time.Duration
		phase         corev1.PodPhase
		reason, event string
	}{
		{"MNT-401", "before", func(*fixture, *corev1.Pod) {}, 59 * time.Second, corev1.PodRunning, "", ""},
		{"MNT-401", "at the deadline", func(*fixture, *corev1.Pod) {}, time.Minute, corev1.PodFailed, "DeadlineExceeded",
			"DeadlineExceeded default/p1: Pod was active on the node longer than the specified deadline"},
		{"MNT-401", "it has ended before", func(w *fixture, _ *corev1.Pod) {
			w.Advance(10 * time.Second)
			w.node.Exit("default/p1", corev1.PodSucceeded)
		}, time.Minute, corev1.PodSucceeded, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			pod := fake.Pod("p1", fake.OnNode("n1"))
			pod.Spec.ActiveDeadlineSeconds = new(int64(60))
			begin := w.Now()
			w.Create(pod)
			tc.prepare(w, pod)
			w.Advance(tc.after - w.Now().Sub(begin) + 100*time.Millisecond)
			status := w.stored("p1").Status
			want(t, tc.rule+": phase", status.Phase, tc.phase)
			want(t, tc.rule+": reason", status.Reason, tc.reason)
			var events []string
			if tc.event != "" {
				events = []string{tc.event}
			}
			want(t, tc.rule+": events", w.events(), events)
		})
	}
}
