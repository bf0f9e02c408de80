package store

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// checkMirror refuses a pod that a kubelet has made from a file and that needs other objects (API-515).
func checkMirror(spec *corev1.PodSpec) error {
	switch {
	case spec.ServiceAccountName != "":
		return errors.New("a mirror pod may not reference service accounts")
	case usesSecrets(spec):
		return errors.New("a mirror pod may not reference secrets")
	case slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil })
	}):
		return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
	}
	return nil
}

// usesSecrets reports whether a pod names a Secret anywhere.
func usesSecrets(spec *corev1.PodSpec) bool {
	named := func(ref *corev1.LocalObjectReference) bool { return ref != nil && ref.Name != "" }
	inEnvironment := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name != ""
		}) || slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool { return e.SecretRef != nil && e.SecretRef.Name != "" })
	}
	inVolume := func(v corev1.Volume) bool {
		switch s := &v.VolumeSource; {
		case s.Secret != nil:
			return s.Secret.SecretName != ""
		case s.Projected != nil:
			return slices.ContainsFunc(s.Projected.Sources, func(p corev1.VolumeProjection) bool { return p.Secret != nil && p.Secret.Name != "" })
		case s.AzureFile != nil:
			return s.AzureFile.SecretName != ""
		case s.CephFS != nil:
			return named(s.CephFS.SecretRef)
		case s.Cinder != nil:
			return named(s.Cinder.SecretRef)
		case s.FlexVolume != nil:
			return named(s.FlexVolume.SecretRef)
		case s.RBD != nil:
			return named(s.RBD.SecretRef)
		case s.ScaleIO != nil:
			return named(s.ScaleIO.SecretRef)
		case s.ISCSI != nil:
			return named(s.ISCSI.SecretRef)
		case s.StorageOS != nil:
			return named(s.StorageOS.SecretRef)
		case s.CSI != nil:
			return named(s.CSI.NodePublishSecretRef)
		}
		return false
	}
	return slices.ContainsFunc(spec.ImagePullSecrets, func(ref corev1.LocalObjectReference) bool { return named(&ref) }) ||
		slices.ContainsFunc(spec.InitContainers, inEnvironment) || slices.ContainsFunc(spec.Containers, inEnvironment) || slices.ContainsFunc(spec.Volumes, inVolume)
}
