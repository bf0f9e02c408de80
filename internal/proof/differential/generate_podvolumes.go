package differential

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

// GeneratePodVolumes returns the scenario of a seed with volumes without a driver, and containers that mount subPaths.
func GeneratePodVolumes(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 12)
	g.plain = true
	return g.scenario()
}

// plainVolumes adds volumes without a driver to a pod, or replaces its claims by them.
func (g *kubeletGenerator) plainVolumes(pod *corev1.Pod) {
	main := &pod.Spec.Containers[0]
	if g.chance(4) {
		pod.Spec.Volumes, main.VolumeMounts = nil, nil
	}
	for _, v := range g.plainSources()[:1+g.IntN(3)] {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	if g.chance(6) {
		first := main.VolumeMounts[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: first.Name, MountPath: "/again"})
	}
	for i := range main.VolumeMounts {
		if m := &main.VolumeMounts[i]; m.Name != "image" && g.chance(3) {
			m.SubPath = "part"
		}
	}
}

// plainSources returns sources of volumes without a driver, in random order.
func (g *kubeletGenerator) plainSources() []corev1.Volume {
	labels := []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}
	from := []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: g.items(), Optional: g.optional()}}},
		{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key", Items: g.items(), Optional: g.optional()}}},
		{Name: "mixed", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: g.sources(labels)}}},
		{Name: "me", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: labels}}},
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv/data"}}},
	}
	if g.chance(6) {
		from = append(from, corev1.Volume{Name: "image",
			VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "example.com/files"}}})
	}
	if g.chance(12) {
		from = append(from, corev1.Volume{Name: "repo",
			VolumeSource: corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://example.com/files"}}})
	}
	g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from
}

// items returns what a volume takes of a Secret or a ConfigMap, mostly all.
func (g *kubeletGenerator) items() []corev1.KeyToPath {
	if !g.chance(3) {
		return nil
	}
	return []corev1.KeyToPath{{Key: pick(g.generator, "a", "a", "b"), Path: "file"}}
}

func (g *kubeletGenerator) optional() *bool {
	return pick(g.generator, nil, nil, nil, new(true), new(false))
}

// sources returns sources of a projected volume.
func (g *kubeletGenerator) sources(labels []corev1.DownwardAPIVolumeFile) []corev1.VolumeProjection {
	limit := []corev1.DownwardAPIVolumeFile{{Path: "limit", ResourceFieldRef: &corev1.ResourceFieldSelector{
		ContainerName: pick(g.generator, "main", "main", "other"), Resource: "limits.memory"}}}
	all := []corev1.VolumeProjection{
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: labels}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: limit}},
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Items: g.items(), Optional: g.optional()}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: g.items(), Optional: g.optional()}},
	}
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+g.IntN(3)]
}

// files creates, changes or deletes the Secret or the ConfigMap that volumes are made of.
func (g *kubeletGenerator) files() Step {
	meta, key := metav1.ObjectMeta{Namespace: "default", Name: "settings"}, pick(g.generator, "a", "a", "b")
	config, secret := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{key: "1"}}, &corev1.Secret{Data: map[string][]byte{key: {'1'}}}
	secret.Namespace, secret.Name = "default", "key"
	object, ref := api.Object(config), api.Ref{Kind: objects.ConfigMapKind, Key: "default/settings"}
	if g.chance(2) {
		object, ref = secret, api.Ref{Kind: objects.SecretKind, Key: "default/key"}
	}
	switch g.IntN(4) {
	case 0:
		return Step{Op: Delete, Ref: ref}
	case 1:
		return Step{Op: Patch, Ref: ref, Patch: `{"data":{"` + key + `":` + pick(g.generator, "null", `"Mg=="`) + `}}`}
	}
	return Step{Op: Create, Object: object}
}

// volumeGroup returns the pv.beta.kubernetes.io/gid of a volume, mostly none.
func (g *kubeletGenerator) volumeGroup() []fake.Option {
	if !g.plain || !g.chance(3) {
		return nil
	}
	return []fake.Option{fake.Annotations("pv.beta.kubernetes.io/gid", pick(g.generator, "5", "7", "none"))}
}
