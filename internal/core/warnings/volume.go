package warnings

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
)

// These are the paths in objects without a template. Most objects have no warnings, so what is below a path is added for a warning only.
var (
	specPath        = field.NewPath("spec")
	annotationsPath = field.NewPath("metadata", "annotations")
)

const storageClassAnnotation = "deprecated since v1.8; use \"storageClassName\" attribute instead"

// volume adds those of a PersistentVolume.
func (l *list) volume(pv *corev1.PersistentVolume) {
	// API-320: annotations that fields have replaced.
	if _, ok := pv.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.addf(annotationsPath.Key(corev1.BetaStorageClassAnnotation), storageClassAnnotation)
	}
	if _, ok := pv.Annotations["volume.beta.kubernetes.io/mount-options"]; ok {
		l.addf(annotationsPath.Key("volume.beta.kubernetes.io/mount-options"), "deprecated since v1.31; use \"mountOptions\" attribute instead")
	}
	// API-320: recycling is deprecated.
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		l.addf(specPath.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if affinity := pv.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		for i, term := range affinity.Required.NodeSelectorTerms {
			l.nodeSelectorTerm(specPath.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i), term, false)
		}
	}
	for _, source := range []struct {
		used        bool
		name, since string
	}{
		{pv.Spec.CephFS != nil, "cephfs", noCeph},
		{pv.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", noPhoton},
		{pv.Spec.ScaleIO != nil, "scaleIO", noScaleIO},
		{pv.Spec.StorageOS != nil, "storageOS", noStorageOS},
		{pv.Spec.Glusterfs != nil, "glusterfs", noGlusterfs},
		{pv.Spec.RBD != nil, "rbd", noCeph},
	} {
		// API-321: plugins that no longer exist.
		if source.used {
			l.addf(specPath.Child(source.name), "%s", source.since)
		}
	}
}

// The warnings about volume plugins that no longer exist.
const (
	noPhoton    = "deprecated in v1.11, non-functional in v1.16+"
	noScaleIO   = "deprecated in v1.16, non-functional in v1.22+"
	noStorageOS = "deprecated in v1.22, non-functional in v1.25+"
	noGlusterfs = "deprecated in v1.25, non-functional in v1.26+"
	noCeph      = "deprecated in v1.28, non-functional in v1.31+"
	noGitRepo   = "deprecated in v1.11, and disabled by default in v1.33+"
)

// claim adds those of a PersistentVolumeClaim.
func (l *list) claim(pvc *corev1.PersistentVolumeClaim) {
	// API-320: the annotation that storageClassName has replaced.
	if _, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.addf(annotationsPath.Key(corev1.BetaStorageClassAnnotation), storageClassAnnotation)
	}
	l.claimSpec(specPath, &pvc.Spec)
}

// claimSpec adds those of the spec of a claim or of a template for claims.
func (l *list) claimSpec(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) {
	l.wholeBytes(path, spec.Resources.Requests, corev1.ResourceStorage, "resources", "requests")
	l.wholeBytes(path, spec.Resources.Limits, corev1.ResourceStorage, "resources", "limits")
}

// wholeBytes warns of a number of bytes that is not an integer (API-323). The amounts are at these fields below path.
func (l *list) wholeBytes(path *field.Path, amounts corev1.ResourceList, name corev1.ResourceName, first string, more ...string) {
	amount, ok := amounts[name]
	if ok && fractional(amount) {
		l.addf(path.Child(first, more...).Key(string(name)), "fractional byte value %q is invalid, must be an integer", amount.String())
	}
}

func fractional(q resource.Quantity) bool { return q.MilliValue()%1000 != 0 }

// class adds those of a StorageClass.
func (l *list) class(class *storagev1.StorageClass) {
	for i, term := range class.AllowedTopologies {
		for j, expression := range term.MatchLabelExpressions {
			// API-324: labels of nodes that others have replaced.
			if msg, ok := deprecatedLabels[expression.Key]; ok {
				l.addf(field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key"), "%s", msg)
			}
		}
	}
}

// driver adds those of a CSIDriver.
func (l *list) driver(driver *storagev1.CSIDriver, old api.Object) {
	if len(driver.Spec.TokenRequests) == 0 || driver.Spec.ServiceAccountTokenInSecrets != nil {
		return
	}
	if before, ok := old.(*storagev1.CSIDriver); ok && before != nil &&
		equality.Semantic.DeepEqual(before.Spec.TokenRequests, driver.Spec.TokenRequests) {
		return
	}
	// API-325: tokens in the volume context may be logged.
	*l = append(*l, "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging "+
		"of tokens in volume attributes")
}

// node adds those of a Node.
func (l *list) node(node *corev1.Node) {
	// API-325: fields of nodes that nothing reads any more.
	if node.Spec.ConfigSource != nil {
		l.addf(specPath.Child("configSource"), "the feature is removed")
	}
	if node.Spec.DoNotUseExternalID != "" {
		l.addf(specPath.Child("externalID"), "this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range node.Spec.PodCIDRs {
		l.cidr(specPath.Child("podCIDRs").Index(i), cidr)
	}
}

// deprecatedLabels are labels of nodes that others have replaced (API-324).
var deprecatedLabels = map[string]string{
	"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
	"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

// nodeSelectorTerm warns of labels that others have replaced, and with values of values that no label can have (API-324).
func (l *list) nodeSelectorTerm(path *field.Path, term corev1.NodeSelectorTerm, values bool) {
	for i, expression := range term.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		if msg, ok := deprecatedLabels[expression.Key]; ok {
			l.addf(at.Child("key"), "%s is %s", expression.Key, msg)
		}
		if !values {
			continue
		}
		for j, value := range expression.Values {
			for _, msg := range validation.IsValidLabelValue(value) {
				l.addf(at.Child("values").Index(j), "%s is invalid, %s", value, msg)
			}
		}
	}
}

// labelSelector warns of labels that others have replaced (API-324).
func (l *list) labelSelector(path *field.Path, selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	for i, expression := range selector.MatchExpressions {
		if msg, ok := deprecatedLabels[expression.Key]; ok {
			l.addf(path.Child("matchExpressions").Index(i).Child("key"), "%s is %s", expression.Key, msg)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if msg, ok := deprecatedLabels[label]; ok {
			l.addf(path.Child("matchLabels").Child(label), "%s", msg)
		}
	}
}
