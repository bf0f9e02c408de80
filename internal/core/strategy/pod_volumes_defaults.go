package strategy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// The values that defaults point to. No code writes through these pointers.
var (
	defaultFileMode      = int32(corev1.SecretVolumeSourceDefaultMode)
	defaultTokenSeconds  = int64(3600)
	defaultClaimedVolume = corev1.PersistentVolumeFilesystem
)

// defaultPodVolumes sets the defaults of the volumes of a pod (API-096, API-097). It returns volumes itself if no default is missing.
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
	// API-096: a volume without a source is an emptyDir.
	if s == (corev1.VolumeSource{}) {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	defaultDisk(&s)
	defaultFiles(&s)
	if r := s.Image; r != nil && r.PullPolicy == "" {
		c := *r
		c.PullPolicy = pullPolicy(c.Reference)
		s.Image = &c
	}
	s.Ephemeral = defaultEphemeral(s.Ephemeral)
	return s
}

// defaultDisk sets the defaults of sources that PersistentVolumes have too, which are the same there (API-096). It replaces what a
// pointer of the source refers to, and does not modify it.
func defaultDisk(s *corev1.VolumeSource) {
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
}

// defaultFiles sets the defaults of sources that show objects as files. It replaces what a pointer of the source refers to, and does not
// modify it.
func defaultFiles(s *corev1.VolumeSource) {
	// API-096: the mode of files is 0644 by default.
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
		if items := defaultDownwardFiles(r.Items); r.DefaultMode == nil || !SameSlice(items, r.Items) {
			c := *r
			orDefault(&c.DefaultMode, &defaultFileMode)
			c.Items = items
			s.DownwardAPI = &c
		}
	}
	if r := s.Projected; r != nil {
		if sources := defaultProjections(r.Sources); r.DefaultMode == nil || !SameSlice(sources, r.Sources) {
			c := *r
			orDefault(&c.DefaultMode, &defaultFileMode)
			c.Sources = sources
			s.Projected = &c
		}
	}
}

// defaultEphemeral sets the defaults of a claim template (API-097). The storage class is set when the claim is created.
func defaultEphemeral(s *corev1.EphemeralVolumeSource) *corev1.EphemeralVolumeSource {
	if s == nil || s.VolumeClaimTemplate == nil {
		return s
	}
	spec := &s.VolumeClaimTemplate.Spec
	limits, requests := roundToMilli(spec.Resources.Limits), roundToMilli(spec.Resources.Requests)
	// API-097: only the volume mode and the rounding of quantities.
	if spec.VolumeMode != nil && SameMap(limits, spec.Resources.Limits) && SameMap(requests, spec.Resources.Requests) {
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
		// API-096: fields belong to API version v1 by default.
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
			if files := defaultDownwardFiles(r.Items); !SameSlice(files, r.Items) {
				l.at(i).DownwardAPI = &corev1.DownwardAPIProjection{Items: files}
			}
		}
		// API-096: a token expires after an hour by default.
		if r := l.items[i].ServiceAccountToken; r != nil && r.ExpirationSeconds == nil {
			c := *r
			c.ExpirationSeconds = &defaultTokenSeconds
			l.at(i).ServiceAccountToken = &c
		}
	}
	return l.items
}
