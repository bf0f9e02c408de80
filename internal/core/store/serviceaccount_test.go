package store

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServiceAccounts checks what a new pod gets from its service account: account, secrets for images, mounts of each container with the
// sources of the volume.
func TestServiceAccounts(t *testing.T) {
	account := func(name string, change ...func(*corev1.ServiceAccount)) *corev1.ServiceAccount {
		a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		for _, c := range change {
			c(a)
		}
		return a
	}
	pulls := func(a *corev1.ServiceAccount) { a.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}} }
	quiet := func(a *corev1.ServiceAccount) { a.AutomountServiceAccountToken = new(false) }
	strict := func(a *corev1.ServiceAccount) {
		a.Annotations, a.Secrets = map[string]string{ownSecretsOnly: "true"}, []corev1.ObjectReference{{Name: "mine"}}
	}
	secret := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
		}
	}
	named := func(account string, change ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = account
			for _, c := range change {
				c(p)
			}
		}
	}
	says := func(automount bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = &automount }
	}
	mounts := func(volume string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: tokenPath}}
		}
	}
	owns := func(volume string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
	}
	mirror := func(p *corev1.Pod) {
		p.Annotations, p.Spec.NodeName = map[string]string{corev1.MirrorPodAnnotationKey: "x"}, "n1"
	}
	const token = "kube-api-access-?{token 3607 kube-root-ca.crt metadata.namespace}"
	for _, tt := range []struct {
		rule, name string
		account    *corev1.ServiceAccount
		pod        func(*corev1.Pod)
		want, err  string
	}{
		{"API-512", "the default one", account("default"), named(""), "default [] " + token, ""},
		{"API-512", "the default one does not exist yet", nil, named(""), "default [] " + token, ""},
		{"API-512", "another one", account("builder", pulls), named("builder"), "builder [pull] " + token, ""},
		{"API-512", "the pod has secrets for images", account("builder", pulls),
			named("builder", func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}} }), "builder [own] " + token, ""},
		{"API-512", "one that does not exist", nil, named("builder"), "", `pods "p" is forbidden: error looking up service account ns/builder: serviceaccount "builder" not found`},
		{"API-512", "a pod without a name", nil, named("builder", func(p *corev1.Pod) { p.Name, p.GenerateName = "", "web-" }), "", `pods "web-" is forbidden: error looking up`},
		{"API-513", "the account wants no token", account("default", quiet), named(""), "default []", ""},
		{"API-513", "the pod comes first", account("default", quiet), named("", says(true)), "default [] " + token, ""},
		{"API-513", "the pod wants no token", account("default"), named("", says(false)), "default []", ""},
		{"API-513", "another mount at the path", account("default"), named("", mounts("v")), "default [] v{}", ""},
		{"API-513", "a volume of that name", account("default"), named("", owns("kube-api-access-own")), "default [] kube-api-access-own{}", ""},
		{"API-514", "a Secret in the list", account("default", strict), named("", says(false), secret("mine")), "default []", ""},
		{"API-514", "a Secret that is not", account("default", strict), named("", secret("other")), "",
			`volume with secret.secretName="other" is not allowed because service account default does not reference that secret`},
		{"API-515", "a mirror pod", nil, named("", mirror), " []", ""},
		{"API-515", "a mirror pod with an account", account("default"), named("default", mirror), "", "a mirror pod may not reference service accounts"},
		{"API-515", "a mirror pod with a Secret", nil, named("", mirror, secret("mine")), "", "a mirror pod may not reference secrets"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			s := New(Config{})
			s.AdmitServiceAccounts()
			if tt.account != nil {
				_, err := s.Load(tt.account)
				require.NoError(t, err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x"}}}}
			tt.pod(pod)
			given := pod.DeepCopy()
			stored, err := s.Pods.CreateWith(pod, CreateOptions{})
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, given.Spec.Containers, pod.Spec.Containers, "the caller's object")
			require.Equal(t, tt.want, describeAccount(stored))
		})
	}
}

// describeAccount returns the service account of a pod, its secrets for images, and what its first container mounts at the path of tokens.
func describeAccount(pod *corev1.Pod) string {
	text := pod.Spec.ServiceAccountName + " ["
	for _, secret := range pod.Spec.ImagePullSecrets {
		text += secret.Name
	}
	text += "]"
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name != mount.Name || mount.MountPath != tokenPath {
				continue
			}
			var sources []string
			if v.Projected != nil {
				for _, source := range v.Projected.Sources {
					switch {
					case source.ServiceAccountToken != nil && *source.ServiceAccountToken.ExpirationSeconds == tokenSeconds && mount.ReadOnly:
						sources = append(sources, source.ServiceAccountToken.Path+" 3607")
					case source.ConfigMap != nil:
						sources = append(sources, source.ConfigMap.Name)
					case source.DownwardAPI != nil:
						sources = append(sources, source.DownwardAPI.Items[0].FieldRef.FieldPath)
					}
				}
				v.Name = v.Name[:len(v.Name)-5] + "?"
			}
			text += " " + v.Name + "{" + strings.Join(sources, " ") + "}"
		}
	}
	return text
}
