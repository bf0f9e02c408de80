package warnings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/strategy"
)

// newPod adds those of a new Pod.
func (l *list) newPod(pod *corev1.Pod) {
	l.hostname(pod.Name, "the Pod's hostname")
	l.podSpec(nil, &pod.ObjectMeta, &pod.Spec, false)
}

// template adds those of a template for pods.
func (l *list) template(path *field.Path, template *corev1.PodTemplateSpec) {
	l.podSpec(path, &template.ObjectMeta, &template.Spec, true)
}

// podSpec adds those of a pod or a template, which is at path (API-321 to API-326).
func (l *list) podSpec(path *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec, template bool) {
	specPath, annotations := specPath, annotationsPath
	if path != nil {
		specPath, annotations = path.Child("spec"), path.Child("metadata", "annotations")
	}
	l.placement(specPath, spec)
	for _, a := range []struct{ key, since, by string }{
		{key: "scheduler.alpha.kubernetes.io/critical-pod", since: "v1.16+", by: "priorityClassName"},
		{key: "security.alpha.kubernetes.io/sysctls", since: "v1.11+", by: "sysctls"},
		{key: "security.alpha.kubernetes.io/unsafe-sysctls", since: "v1.11+", by: "sysctls"},
	} {
		// API-320: annotations that fields have replaced.
		if _, ok := meta.Annotations[a.key]; ok {
			l.addf(annotations.Key(a.key), "non-functional in %s; use the %q field instead", a.since, a.by)
		}
	}
	for i, v := range spec.Volumes {
		l.podVolume(specPath.Child("volumes").Index(i), v)
	}
	l.overlaps(spec.Volumes)
	l.duplicates(specPath, spec)
	l.wholeBytes(specPath, spec.Overhead, corev1.ResourceMemory, "overhead")
	l.wholeBytes(specPath, spec.Overhead, corev1.ResourceEphemeralStorage, "overhead")
	if spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil {
		l.seccomp(annotations, meta, corev1.SeccompPodAnnotationKey)
	}
	containers := containersOf(specPath, spec)
	for _, c := range containers {
		l.container(annotations, meta, spec, c, template)
	}
	l.ports(containers)
	// API-323: such a grace period counts as one second.
	if s := spec.TerminationGracePeriodSeconds; s != nil && *s < 0 {
		l.addf(specPath.Child("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	if spec.Affinity != nil {
		l.podAffinity(specPath.Child("affinity"), spec.Affinity)
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			l.ip(specPath.Child("dnsConfig", "nameservers").Index(i), server)
		}
	}
	for i, alias := range spec.HostAliases {
		l.ip(specPath.Child("hostAliases").Index(i).Child("ip"), alias.IP)
	}
}

// runtimeClass adds those of the labels of nodes that a RuntimeClass selects (API-324).
func (l *list) runtimeClass(class *nodev1.RuntimeClass) {
	if class.Scheduling == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		if msg, ok := deprecatedLabels[key]; ok {
			l.addf(field.NewPath("scheduling", "nodeSelector"), "%s", msg)
		}
	}
}

// placement adds those of the fields that select nodes (API-324).
func (l *list) placement(path *field.Path, spec *corev1.PodSpec) {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if msg, ok := deprecatedLabels[key]; ok {
			l.addf(path.Child("nodeSelector").Key(key), "%s", msg)
		}
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		n, at := spec.Affinity.NodeAffinity, path.Child("affinity", "nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			for i, term := range n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				l.nodeSelectorTerm(at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i), term, false)
			}
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			l.nodeSelectorTerm(at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"), term.Preference, true)
		}
	}
	for i, c := range spec.TopologySpreadConstraints {
		at := path.Child("topologySpreadConstraints").Index(i)
		if msg, ok := deprecatedLabels[c.TopologyKey]; ok {
			l.addf(at.Child("topologyKey"), "%s is %s", c.TopologyKey, msg)
		}
		l.nullSelector(at, c.LabelSelector)
	}
}

// nullSelector warns of a missing selector (API-324).
func (l *list) nullSelector(path *field.Path, selector *metav1.LabelSelector) {
	if selector == nil {
		l.addf(path.Child("labelSelector"), "a null labelSelector results in matching no pod")
	}
}

func (l *list) podAffinity(path *field.Path, affinity *corev1.Affinity) {
	terms := func(path *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i, t := range required {
			l.nullSelector(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), t.LabelSelector)
		}
		for i, t := range preferred {
			l.nullSelector(path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"), t.PodAffinityTerm.LabelSelector)
		}
	}
	if a := affinity.PodAffinity; a != nil {
		terms(path.Child("podAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		terms(path.Child("podAntiAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// podVolume adds those of a volume in a pod (API-321, API-323).
func (l *list) podVolume(path *field.Path, v corev1.Volume) {
	for _, source := range []struct {
		used        bool
		name, since string
	}{
		{v.PhotonPersistentDisk != nil, "photonPersistentDisk", noPhoton},
		{v.GitRepo != nil, "gitRepo", noGitRepo},
		{v.ScaleIO != nil, "scaleIO", noScaleIO},
		{v.Flocker != nil, "flocker", noStorageOS},
		{v.StorageOS != nil, "storageOS", noStorageOS},
		{v.Quobyte != nil, "quobyte", noStorageOS},
		{v.Glusterfs != nil, "glusterfs", noGlusterfs},
	} {
		if source.used {
			l.addf(path.Child(source.name), "%s", source.since)
		}
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		l.claimSpec(path.Child("ephemeral", "volumeClaimTemplate", "spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.CephFS != nil {
		l.addf(path.Child("cephfs"), noCeph)
	}
	if v.RBD != nil {
		l.addf(path.Child("rbd"), noCeph)
	}
}

// duplicates warns of list entries of which only one counts (API-323).
func (l *list) duplicates(path *field.Path, spec *corev1.PodSpec) {
	seen := map[string]bool{}
	for i, alias := range spec.HostAliases {
		if seen[alias.IP] {
			l.addf(path.Child("hostAliases").Index(i).Child("ip"), "duplicate ip %q", alias.IP)
		}
		seen[alias.IP] = true
	}
	seen = map[string]bool{}
	for i, secret := range spec.ImagePullSecrets {
		if seen[secret.Name] {
			l.addf(path.Child("imagePullSecrets").Index(i).Child("name"), "duplicate name %q", secret.Name)
		}
		seen[secret.Name] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			l.addf(path.Child("imagePullSecrets").Index(i).Child("name"), "invalid empty name %q", secret.Name)
		}
	}
}

// seccomp warns of an annotation that a field has replaced (API-320).
func (l *list) seccomp(annotations *field.Path, meta *metav1.ObjectMeta, key string) {
	if _, ok := meta.Annotations[key]; ok {
		l.addf(annotations.Key(key), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
}

// podContainer is a container of any sort, and where it is.
type podContainer struct {
	path      *field.Path
	container *corev1.Container
}

// containersOf lists the containers of a pod: init, ordinary, ephemeral.
func containersOf(path *field.Path, spec *corev1.PodSpec) []podContainer {
	var all []podContainer
	for i := range spec.InitContainers {
		all = append(all, podContainer{path.Child("initContainers").Index(i), &spec.InitContainers[i]})
	}
	for i := range spec.Containers {
		all = append(all, podContainer{path.Child("containers").Index(i), &spec.Containers[i]})
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		all = append(all, podContainer{path.Child("ephemeralContainers").Index(i), &c})
	}
	return all
}

func (l *list) container(annotations *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec, c podContainer, template bool) {
	context := c.container.SecurityContext
	if context == nil || context.SeccompProfile == nil {
		l.seccomp(annotations, meta, corev1.SeccompContainerAnnotationKeyPrefix+c.container.Name)
	}
	if template {
		l.appArmor(annotations, meta, spec, c.container)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		l.wholeBytes(c.path, c.container.Resources.Limits, name, "resources", "limits")
		l.wholeBytes(c.path, c.container.Resources.Requests, name, "resources", "requests")
	}
	// API-323: a later variable of the same name that does not contain the earlier one.
	seen := map[string]bool{}
	for i, v := range c.container.Env {
		ref := fmt.Sprintf("$(%s)", v.Name)
		if seen[v.Name] && (v.ValueFrom != nil || v.Value == ref || !strings.Contains(v.Value, ref)) {
			l.addf(c.path.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply", v.Name)
		}
		seen[v.Name] = true
	}
}

// appArmor warns of an annotation of a template that a field has replaced (API-320). That of a pod becomes the field: see strategy.Pod.
func (l *list) appArmor(annotations *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec, c *corev1.Container) {
	key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
	annotation, ok := meta.Annotations[key]
	if !ok || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return
	}
	if context := spec.SecurityContext; context != nil && context.AppArmorProfile != nil &&
		equality.Semantic.DeepEqual(context.AppArmorProfile, strategy.AppArmorOf(annotation)) {
		return
	}
	l.addf(annotations.Key(key), strategy.DeprecatedAppArmor)
}
