package store

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// The values that defaulting points to.
var (
	defaultFileMode      = int32(corev1.SecretVolumeSourceDefaultMode)
	defaultTokenSeconds  = int64(3600)
	defaultClaimedVolume = corev1.PersistentVolumeFilesystem
)

// defaultPodVolumes fills in the volumes of a pod (API-096, API-097). It returns volumes itself if they lack nothing.
func defaultPodVolumes(volumes []corev1.Volume) []corev1.Volume {
	l := lazyCopy[corev1.Volume]{items: volumes}
	for i := range volumes {
		if source := defaultPodSource(&l.items[i].VolumeSource); source != l.items[i].VolumeSource {
			l.at(i).VolumeSource = source
		}
	}
	return l.items
}

func defaultPodSource(from *corev1.VolumeSource) corev1.VolumeSource {
	s := *from
	// API-096: a volume of no kind is an empty directory.
	if s == (corev1.VolumeSource{}) {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	// API-096: sources that PersistentVolumes know too have the same defaults.
	s.HostPath = defaultHostPath(s.HostPath)
	s.AzureDisk = defaultAzureDisk(s.AzureDisk)
	if r := s.RBD; r != nil && (r.RBDPool == "" || r.RadosUser == "" || r.Keyring == "") {
		c := *r
		c.RBDPool, c.RadosUser, c.Keyring = cmp.Or(c.RBDPool, "rbd"), cmp.Or(c.RadosUser, "admin"), cmp.Or(c.Keyring, "/etc/ceph/keyring")
		s.RBD = &c
	}
	if r := s.ISCSI; r != nil && r.ISCSIInterface == "" {
		c := *r
		c.ISCSIInterface = "default"
		s.ISCSI = &c
	}
	if r := s.ScaleIO; r != nil && (r.StorageMode == "" || r.FSType == "") {
		c := *r
		c.StorageMode, c.FSType = cmp.Or(c.StorageMode, "ThinProvisioned"), cmp.Or(c.FSType, "xfs")
		s.ScaleIO = &c
	}
	// API-096: files are 0644.
	if r := s.Secret; r != nil && r.DefaultMode == nil {
		c := *r
		c.DefaultMode = &defaultFileMode
		s.Secret = &c
	}
	if r := s.ConfigMap; r != nil && r.DefaultMode == nil {
		c := *r
		c.DefaultMode = &defaultFileMode
		s.ConfigMap = &c
	}
	if r := s.DownwardAPI; r != nil {
		if items := defaultDownwardFiles(r.Items); r.DefaultMode == nil || !sameSlice(items, r.Items) {
			c := *r
			orDefault(&c.DefaultMode, &defaultFileMode)
			c.Items = items
			s.DownwardAPI = &c
		}
	}
	if r := s.Projected; r != nil {
		if sources := defaultProjections(r.Sources); r.DefaultMode == nil || !sameSlice(sources, r.Sources) {
			c := *r
			orDefault(&c.DefaultMode, &defaultFileMode)
			c.Sources = sources
			s.Projected = &c
		}
	}
	if r := s.Image; r != nil && r.PullPolicy == "" {
		c := *r
		c.PullPolicy = pullPolicy(c.Reference)
		s.Image = &c
	}
	s.Ephemeral = defaultEphemeral(s.Ephemeral)
	return s
}

// defaultEphemeral is API-097: the class is chosen when the claim is made, not here.
func defaultEphemeral(s *corev1.EphemeralVolumeSource) *corev1.EphemeralVolumeSource {
	if s == nil || s.VolumeClaimTemplate == nil {
		return s
	}
	spec := &s.VolumeClaimTemplate.Spec
	limits, requests := roundToMilli(spec.Resources.Limits), roundToMilli(spec.Resources.Requests)
	// API-097: the mode is filled in, quantities are rounded, and that is all.
	if spec.VolumeMode != nil && sameMap(limits, spec.Resources.Limits) && sameMap(requests, spec.Resources.Requests) {
		return s
	}
	template := *s.VolumeClaimTemplate
	orDefault(&template.Spec.VolumeMode, &defaultClaimedVolume)
	template.Spec.Resources.Limits, template.Spec.Resources.Requests = limits, requests
	return &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &template}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) []corev1.DownwardAPIVolumeFile {
	l := lazyCopy[corev1.DownwardAPIVolumeFile]{items: files}
	for i := range files {
		// API-096: fields are those of core/v1.
		if ref := defaultFieldRef(l.items[i].FieldRef); ref != l.items[i].FieldRef {
			l.at(i).FieldRef = ref
		}
	}
	return l.items
}

func defaultProjections(sources []corev1.VolumeProjection) []corev1.VolumeProjection {
	l := lazyCopy[corev1.VolumeProjection]{items: sources}
	for i := range sources {
		if r := l.items[i].DownwardAPI; r != nil {
			if files := defaultDownwardFiles(r.Items); !sameSlice(files, r.Items) {
				l.at(i).DownwardAPI = &corev1.DownwardAPIProjection{Items: files}
			}
		}
		// API-096: a token lives for an hour.
		if r := l.items[i].ServiceAccountToken; r != nil && r.ExpirationSeconds == nil {
			c := *r
			c.ExpirationSeconds = &defaultTokenSeconds
			l.at(i).ServiceAccountToken = &c
		}
	}
	return l.items
}
