package store

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var volumeStrategy = strategy[*corePV]{
	shallow: func(volume *corePV) *corePV {
		c := *volume
		return &c
	},
	defaults:      defaultVolume,
	prepareCreate: prepareVolume,
	prepareUpdate: func(volume, old *corePV) {
		// API-210, BIND-013: the status has a subresource of its own.
		volume.Status = old.Status
	},
	prepareStatus:  prepareVolumeStatus,
	admitCreate:    admitVolume,
	validateCreate: validateVolume,
	validateUpdate: validateVolumeUpdate,
	// API-240: any phase may follow any other, so there is nothing to validate in a status.
	equal: sameVolume,
}

// defaultVolume is API-090, API-091 and API-101: it runs on updates too, so what an update leaves out becomes the default, not
// what was stored.
func defaultVolume(volume *corePV) {
	spec := &volume.Spec
	// API-090, BIND-010: an administrator's volume is kept after release.
	if spec.PersistentVolumeReclaimPolicy == "" {
		spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if spec.VolumeMode == nil {
		spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	if volume.Status.Phase == "" {
		volume.Status.Phase = corev1.VolumePending
	}
	spec.Capacity = roundToMilli(spec.Capacity)
	defaultSource(&spec.PersistentVolumeSource)
	// API-006: times have whole seconds.
	volume.Status.LastPhaseTransitionTime = wholeSecond(volume.Status.LastPhaseTransitionTime)
}

// prepareVolume is API-105, BIND-010: a new volume is Pending, whatever its author says.
func prepareVolume(volume *corePV, now metav1.Time) {
	volume.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

func prepareVolumeStatus(volume, old *corePV, now metav1.Time) {
	// API-240, BIND-013: the spec is not the subresource's; metadata is, and stays as sent.
	volume.Spec = old.Spec
	status := &volume.Status
	since := status.LastPhaseTransitionTime
	// API-241, BIND-015: the time of the transition follows the phase unless the request says otherwise.
	switch {
	case status.Phase == old.Status.Phase:
		if since == nil {
			status.LastPhaseTransitionTime = old.Status.LastPhaseTransitionTime
		}
	case since == nil || since.Equal(old.Status.LastPhaseTransitionTime):
		status.LastPhaseTransitionTime = &now
	}
}

// wholeSecond is the time as it is stored (API-006), t itself if it already has that form.
func wholeSecond(t *metav1.Time) *metav1.Time {
	if t == nil || t.Nanosecond() == 0 {
		return t
	}
	return &metav1.Time{Time: t.Truncate(1e9)}
}
