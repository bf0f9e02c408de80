package strategy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentVolume is the strategy for PersistentVolumes.
var PersistentVolume = Of[*corePV]{
	Shallow: func(volume *corePV) *corePV {
		c := *volume
		return &c
	},
	Defaults:      defaultVolume,
	PrepareCreate: prepareVolume,
	PrepareUpdate: func(volume, old *corePV) {
		// API-210, BIND-013: an update of the main resource keeps the status.
		volume.Status = old.Status
	},
	PrepareStatus:  prepareVolumeStatus,
	ValidateCreate: validateVolume,
	ValidateUpdate: validateVolumeUpdate,
	SpecShared:     volumeSpecShared,
	// API-240: a status is not validated, because any phase may follow any other.
	Equal: sameVolume,
}

// Filesystem is shared by stored objects.
var Filesystem = corev1.PersistentVolumeFilesystem

// defaultVolume sets the defaults of a PersistentVolume (API-090, API-091). It runs on updates too, so a field that an update omits gets
// the default, not the stored value (API-101).
func defaultVolume(volume *corePV) {
	spec := &volume.Spec
	// API-090, BIND-010: volumes are retained by default.
	if spec.PersistentVolumeReclaimPolicy == "" {
		spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if spec.VolumeMode == nil {
		spec.VolumeMode = &Filesystem
	}
	if volume.Status.Phase == "" {
		volume.Status.Phase = corev1.VolumePending
	}
	spec.Capacity = roundToMilli(spec.Capacity)
	defaultSource(&spec.PersistentVolumeSource)
	// API-006: times have whole seconds.
	volume.Status.LastPhaseTransitionTime = WholeSecond(volume.Status.LastPhaseTransitionTime)
}

// prepareVolume resets the status of a new volume to Pending (API-105, BIND-010).
func prepareVolume(volume *corePV, now metav1.Time) {
	volume.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

func prepareVolumeStatus(volume, old *corePV, now metav1.Time) {
	// API-240, BIND-013: an update of the status keeps the spec; metadata comes from the request.
	volume.Spec = old.Spec
	status := &volume.Status
	since := status.LastPhaseTransitionTime
	// API-241, BIND-015: a change of the phase sets the transition time, unless the request sets another one.
	switch {
	case status.Phase == old.Status.Phase:
		if since == nil {
			status.LastPhaseTransitionTime = old.Status.LastPhaseTransitionTime
		}
	case since == nil || since.Equal(old.Status.LastPhaseTransitionTime):
		status.LastPhaseTransitionTime = &now
	}
}

// WholeSecond returns the time in whole seconds, as it is stored (API-006); t itself if it has no fraction.
func WholeSecond(t *metav1.Time) *metav1.Time {
	if t == nil || t.Nanosecond() == 0 {
		return t
	}
	return &metav1.Time{Time: t.Truncate(1e9)}
}
