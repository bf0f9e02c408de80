package strategy

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/gates"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PersistentVolumeClaim is the strategy for claims with the default feature gates.
var PersistentVolumeClaim = Of[*corePVC]{
	Shallow: func(claim *corePVC) *corePVC {
		c := *claim
		return &c
	},
	Defaults:       defaultClaim,
	PrepareCreate:  prepareClaim,
	PrepareUpdate:  prepareClaimUpdate,
	PrepareStatus:  prepareClaimStatus,
	ValidateCreate: func(claim *corePVC) field.ErrorList { return validateClaimSpec(&claim.Spec, specRoot) },
	ValidateUpdate: validateClaimUpdate,
	SpecShared:     claimSpecShared,
	ValidateStatus: validateClaimStatus,
	Equal:          sameClaim,
}

// PersistentVolumeClaimWith returns the strategy for claims in a cluster with these feature gates.
func PersistentVolumeClaimWith(enabled gates.Set) *Of[*corePVC] {
	if !enabled.CrossNamespaceVolumeDataSource {
		return &PersistentVolumeClaim
	}
	s := PersistentVolumeClaim
	s.PrepareCreate, s.PrepareUpdate = prepareClaimAcross, prepareClaimUpdateAcross
	return &s
}

// defaultClaim sets the defaults of a claim, on updates too (API-092, API-101). Admission sets the storage class (API-251).
func defaultClaim(claim *corePVC) {
	spec, status := &claim.Spec, &claim.Status
	// API-092: the volume mode is Filesystem by default.
	if spec.VolumeMode == nil {
		spec.VolumeMode = &Filesystem
	}
	if status.Phase == "" {
		status.Phase = corev1.ClaimPending
	}
	for _, list := range [...]*corev1.ResourceList{
		&spec.Resources.Limits, &spec.Resources.Requests, &status.Capacity, &status.AllocatedResources,
	} {
		*list = roundToMilli(*list)
	}
	status.Conditions = wholeSeconds(status.Conditions)
}

// wholeSeconds returns the conditions with times in whole seconds (API-006); the list itself if no time has a fraction.
func wholeSeconds(conditions []corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	exact := func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.LastProbeTime.Nanosecond() != 0 || c.LastTransitionTime.Nanosecond() != 0
	}
	if !slices.ContainsFunc(conditions, exact) {
		return conditions
	}
	conditions = slices.Clone(conditions)
	for i := range conditions {
		c := &conditions[i]
		c.LastProbeTime, c.LastTransitionTime = *WholeSecond(&c.LastProbeTime), *WholeSecond(&c.LastTransitionTime)
	}
	return conditions
}

// prepareClaim resets the status of a new claim and completes its data source (API-106).
func prepareClaim(claim *corePVC, now metav1.Time) {
	dropRefInNamespace(&claim.Spec, &corev1.PersistentVolumeClaimSpec{})
	prepareClaimAcross(claim, now)
}

// prepareClaimAcross is prepareClaim with the gate CrossNamespaceVolumeDataSource, which keeps a source in another namespace (API-114).
func prepareClaimAcross(claim *corePVC, _ metav1.Time) {
	// API-106, API-015, BIND-011: a new claim is stored as Pending.
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	// API-114: a reference with a namespace stays.
	dropDataSource(&claim.Spec, &corev1.PersistentVolumeClaimSpec{})
	normalizeDataSources(&claim.Spec)
}

func prepareClaimUpdate(claim, old *corePVC) {
	dropRefInNamespace(&claim.Spec, &old.Spec)
	prepareClaimUpdateAcross(claim, old)
}

// prepareClaimUpdateAcross is prepareClaimUpdate with the gate CrossNamespaceVolumeDataSource (API-114).
func prepareClaimUpdateAcross(claim, old *corePVC) {
	// API-216: an update of the main resource keeps the status.
	claim.Status = old.Status
	dropDataSource(&claim.Spec, &old.Spec)
	normalizeDataSources(&claim.Spec)
}

func prepareClaimStatus(claim, old *corePVC, _ metav1.Time) {
	// API-242: an update of the status keeps the spec; metadata comes from the request.
	claim.Spec = old.Spec
}

// dropRefInNamespace silently removes a reference to a source in another namespace (API-110). old is the stored spec, empty on create.
func dropRefInNamespace(spec, old *corev1.PersistentVolumeClaimSpec) {
	// API-110: the feature gate for such sources is off.
	if inNamespace(spec.DataSourceRef) && old.DataSourceRef == nil {
		spec.DataSourceRef = nil
	}
}

// dropDataSource silently removes a source of a kind that is not supported (API-111). old is the stored spec, empty on create.
func dropDataSource(spec, old *corev1.PersistentVolumeClaimSpec) {
	// API-111: a stored source stays; a new one is a claim or a snapshot.
	if old.DataSource == nil && old.DataSourceRef == nil && spec.DataSourceRef == nil && !isClaimOrSnapshot(spec.DataSource) {
		spec.DataSource = nil
	}
}

func inNamespace(ref *corev1.TypedObjectReference) bool {
	return ref != nil && ref.Namespace != nil && *ref.Namespace != ""
}

func isClaimOrSnapshot(source *corev1.TypedLocalObjectReference) bool {
	if source == nil {
		return false
	}
	switch groupOf(source.APIGroup) {
	case "":
		return source.Kind == string(api.PersistentVolumeClaim)
	case "snapshot.storage.k8s.io":
		return source.Kind == "VolumeSnapshot"
	}
	return false
}

// groupOf returns the API group of a reference; nil is the core group.
func groupOf(group *string) string {
	if group == nil {
		return ""
	}
	return *group
}

// normalizeDataSources sets whichever of dataSource and dataSourceRef is missing from the other one (API-112).
func normalizeDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	switch source, ref := spec.DataSource, spec.DataSourceRef; {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case ref != nil && source == nil && !inNamespace(ref):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}
