package strategy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podVolumes contains the valid volumes of a pod. The mounts of its containers may use only these (API-206).
type podVolumes []*corev1.Volume

func (vs podVolumes) find(name string) *corev1.Volume {
	for _, v := range vs {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// validatePodVolumes validates the volumes of a pod (API-196 to API-202). at returns the path of the list.
func validatePodVolumes(pod *corePod, at func() *field.Path) (podVolumes, field.ErrorList) {
	volumes := pod.Spec.Volumes
	if len(volumes) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	good := make(podVolumes, 0, len(volumes))
	for i := range volumes {
		volume := &volumes[i]
		own := validatePodVolume(volume, pod.Name, func() *field.Path { return at().Index(i) })
		// API-196: names of valid volumes are unique.
		if good.find(volume.Name) != nil {
			own = append(own, field.Duplicate(at().Index(i).Child("name"), volume.Name))
		}
		if len(own) == 0 {
			good = append(good, volume)
		}
		errs = append(errs, own...)
		// API-198: no other volume may use the claim of an ephemeral volume.
		if claim := volume.PersistentVolumeClaim; claim != nil && claimIsMade(claim.ClaimName, pod) {
			errs = append(errs, field.Invalid(at().Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return good, errs
}

// claimIsMade reports whether an ephemeral volume of the pod has a claim of that name.
func claimIsMade(claim string, pod *corePod) bool {
	if pod.Name == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if rest, ok := strings.CutPrefix(claim, pod.Name); ok && len(rest) == len(volume.Name)+1 && rest[0] == '-' && rest[1:] == volume.Name {
			return true
		}
	}
	return false
}

func validatePodVolume(volume *corev1.Volume, pod string, at func() *field.Path) field.ErrorList {
	errs := validatePodSource(volume, pod, at)
	// API-196: the name of a volume is a DNS label.
	switch {
	case volume.Name == "":
		errs = append(errs, field.Required(at().Child("name"), ""))
	case !IsDNSLabel(volume.Name):
		errs = append(errs, DNSLabel(volume.Name, at(), "name")...)
	}
	return errs
}

// podSourceRow is one kind of source that a volume of a pod may have.
type podSourceRow struct {
	name  string // the field, as errors about a second source spell it
	at    string // the field, as errors about its content spell it; mostly the same
	in    func(v *corev1.Volume) bool
	check func(v *corev1.Volume, path *field.Path) field.ErrorList
}

func podSource[S any](name, at string, get func(*corev1.Volume) *S, check func(*S, *field.Path) field.ErrorList) podSourceRow {
	return podSourceRow{
		name: name, at: at,
		in:    func(v *corev1.Volume) bool { return get(v) != nil },
		check: func(v *corev1.Volume, path *field.Path) field.ErrorList { return check(get(v), path) },
	}
}

// API-197: of two sources, the later one in this order is the error.
var podSourceRows = []podSourceRow{
	podSource("emptyDir", "emptyDir", func(v *corev1.Volume) *corev1.EmptyDirVolumeSource { return v.EmptyDir }, validateEmptyDir),
	podSource("hostPath", "hostPath", func(v *corev1.Volume) *corev1.HostPathVolumeSource { return v.HostPath }, validateHostPath),
	podSource("gitRepo", "gitRepo", func(v *corev1.Volume) *corev1.GitRepoVolumeSource { return v.GitRepo }, validateGitRepo),
	podSource("gcePersistentDisk", "persistentDisk",
		func(v *corev1.Volume) *corev1.GCEPersistentDiskVolumeSource { return v.GCEPersistentDisk }, validateGCEDisk),
	podSource("awsElasticBlockStore", "awsElasticBlockStore",
		func(v *corev1.Volume) *corev1.AWSElasticBlockStoreVolumeSource { return v.AWSElasticBlockStore }, validateEBSDisk),
	podSource("secret", "secret", func(v *corev1.Volume) *corev1.SecretVolumeSource { return v.Secret }, validateSecret),
	podSource("nfs", "nfs", func(v *corev1.Volume) *corev1.NFSVolumeSource { return v.NFS }, validateNFS),
	podSource("iscsi", "iscsi", func(v *corev1.Volume) *corev1.ISCSIVolumeSource { return v.ISCSI }, validatePodISCSI),
	podSource("glusterfs", "glusterfs", func(v *corev1.Volume) *corev1.GlusterfsVolumeSource { return v.Glusterfs }, validatePodGlusterfs),
	podSource("flocker", "flocker", func(v *corev1.Volume) *corev1.FlockerVolumeSource { return v.Flocker }, validateFlocker),
	podSource("persistentVolumeClaim", "persistentVolumeClaim",
		func(v *corev1.Volume) *corev1.PersistentVolumeClaimVolumeSource { return v.PersistentVolumeClaim }, validateClaimSource),
	podSource("rbd", "rbd", func(v *corev1.Volume) *corev1.RBDVolumeSource { return v.RBD }, validatePodRBD),
	podSource("cinder", "cinder", func(v *corev1.Volume) *corev1.CinderVolumeSource { return v.Cinder }, validatePodCinder),
	podSource("cephFS", "cephfs", func(v *corev1.Volume) *corev1.CephFSVolumeSource { return v.CephFS }, validatePodCephFS),
	podSource("quobyte", "quobyte", func(v *corev1.Volume) *corev1.QuobyteVolumeSource { return v.Quobyte }, validateQuobyte),
	podSource("downwarAPI", "downwardAPI", func(v *corev1.Volume) *corev1.DownwardAPIVolumeSource { return v.DownwardAPI },
		validateDownwardAPI),
	podSource("fc", "fc", func(v *corev1.Volume) *corev1.FCVolumeSource { return v.FC }, validateFC),
	podSource("flexVolume", "flexVolume", func(v *corev1.Volume) *corev1.FlexVolumeSource { return v.FlexVolume }, validatePodFlexVolume),
	podSource("configMap", "configMap", func(v *corev1.Volume) *corev1.ConfigMapVolumeSource { return v.ConfigMap }, validateConfigMap),
	podSource("azureFile", "azureFile", func(v *corev1.Volume) *corev1.AzureFileVolumeSource { return v.AzureFile }, validatePodAzureFile),
	podSource("vsphereVolume", "vsphereVolume", func(v *corev1.Volume) *corev1.VsphereVirtualDiskVolumeSource { return v.VsphereVolume },
		validateVsphere),
	podSource("photonPersistentDisk", "photonPersistentDisk",
		func(v *corev1.Volume) *corev1.PhotonPersistentDiskVolumeSource { return v.PhotonPersistentDisk }, validatePhoton),
	podSource("portworxVolume", "portworxVolume", func(v *corev1.Volume) *corev1.PortworxVolumeSource { return v.PortworxVolume },
		validatePortworx),
	podSource("azureDisk", "azureDisk", func(v *corev1.Volume) *corev1.AzureDiskVolumeSource { return v.AzureDisk }, validateAzureDisk),
	podSource("storageos", "storageos", func(v *corev1.Volume) *corev1.StorageOSVolumeSource { return v.StorageOS }, validatePodStorageOS),
	podSource("projected", "projected", func(v *corev1.Volume) *corev1.ProjectedVolumeSource { return v.Projected }, validateProjected),
	podSource("scaleIO", "scaleIO", func(v *corev1.Volume) *corev1.ScaleIOVolumeSource { return v.ScaleIO }, validatePodScaleIO),
	podSource("csi", "csi", func(v *corev1.Volume) *corev1.CSIVolumeSource { return v.CSI }, validateInlineCSI),
	podSource("ephemeral", "ephemeral", func(v *corev1.Volume) *corev1.EphemeralVolumeSource { return v.Ephemeral }, validateEphemeral),
	podSource("image", "image", func(v *corev1.Volume) *corev1.ImageVolumeSource { return v.Image }, validateImage),
}

func validatePodSource(volume *corev1.Volume, pod string, at func() *field.Path) field.ErrorList {
	// Most volumes have one of these two sources.
	if claim := volume.PersistentVolumeClaim; claim != nil && claim.ClaimName != "" &&
		volume.VolumeSource == (corev1.VolumeSource{PersistentVolumeClaim: claim}) {
		return nil
	}
	if dir := volume.EmptyDir; dir != nil && dir.SizeLimit == nil && volume.VolumeSource == (corev1.VolumeSource{EmptyDir: dir}) {
		return nil
	}
	var errs field.ErrorList
	first := ""
	for i := range podSourceRows {
		row := &podSourceRows[i]
		if !row.in(volume) {
			continue
		}
		// API-197: the first source is validated, every other is an error.
		if first != "" {
			errs = append(errs, field.Forbidden(at().Child(row.name), "may not specify more than 1 volume type"))
			continue
		}
		first = row.name
		errs = append(errs, row.check(volume, at().Child(row.at))...)
	}
	// API-197: a source is required; defaults set one.
	if first == "" {
		errs = append(errs, field.Required(at(), "must specify a volume type"))
	}
	// iSCSI stores both names in one field of 64 bytes. Upstream validates this even if the source is not the first.
	if iscsi := volume.ISCSI; iscsi != nil && iscsi.InitiatorName != nil && len(volume.Name)+len(":")+len(iscsi.TargetPortal) > 64 {
		errs = append(errs, field.Invalid(at().Child("name"), volume.Name,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
	}
	// API-200: the name of the claim for the volume must be valid.
	if first == "ephemeral" && pod != "" && volume.Name != "" {
		claim := pod + "-" + volume.Name
		if !IsSubdomain(claim) {
			for _, message := range validation.IsDNS1123Subdomain(claim) {
				errs = append(errs, field.Invalid(at().Child("name"), volume.Name, fmt.Sprintf("PVC name %q: %s", claim, message)))
			}
		}
	}
	return errs
}
