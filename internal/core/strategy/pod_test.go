package strategy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func TestPodVolumes(t *testing.T) {
	vol := func(i int) string { return fmt.Sprintf("spec.volumes[%d]", i) }
	gone := "; spec.containers[0].volumeMounts[2].name X" // API-206: the mount of a volume that failed its checks
	checkCreates(t, Pod, sample.Pod, []row[*corePod]{
		{"API-196", "a good pod", func(*corePod) {}, ""},
		{"API-196", "no name", func(p *corePod) { p.Spec.Volumes[2].Name = "" },
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".name R"},
		{"API-196", "a name with a dot", func(p *corePod) { p.Spec.Volumes[2].Name = "d.r" },
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".name I"},
		{"API-196", "a name twice", func(p *corePod) { p.Spec.Volumes[3].Name = "dir" },
			"spec.containers[0].volumeMounts[3].name X; " + vol(3) + ".name D"},
		{"API-196", "a name that was bad before", func(p *corePod) {
			p.Spec.Volumes[2].EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: new(apiresource.MustParse("-1"))}
			p.Spec.Volumes[3].Name = "dir"
			p.Spec.Containers[0].VolumeMounts = p.Spec.Containers[0].VolumeMounts[:3]
		}, vol(2) + ".emptyDir.sizeLimit F"},
		{"API-197", "two sources", withVolume(corev1.VolumeSource{
			PersistentVolumeClaim: sample.ClaimSource("x").PersistentVolumeClaim, HostPath: &corev1.HostPathVolumeSource{Path: "/x"},
		}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".persistentVolumeClaim F"},
		{"API-197", "three sources, the first of them bad", withVolume(corev1.VolumeSource{
			NFS: &corev1.NFSVolumeSource{}, CephFS: &corev1.CephFSVolumeSource{}, DownwardAPI: &corev1.DownwardAPIVolumeSource{},
		}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".cephFS F; " + vol(2) + ".downwarAPI F; " +
			vol(2) + ".nfs.path I; " + vol(2) + ".nfs.path R; " + vol(2) + ".nfs.server R"},
		{"API-198", "a claim without a name", withVolume(sample.ClaimSource("")),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".persistentVolumeClaim.claimName R"},
		{"API-198", "any name of a claim", withVolume(sample.ClaimSource("Not A Name")), ""},
		{"API-198", "the claim of an ephemeral volume", withVolume(sample.ClaimSource("db-0-scratch")), vol(2) + ".persistentVolumeClaim.claimName I"},
		{"API-199", "no template", withVolume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".ephemeral.volumeClaimTemplate R"},
		{"API-199", "a template that names the claim", withTemplate(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Name, c.UID, c.Finalizers = "mine", "u", []string{"a/b"}
		}), "spec.containers[0].volumeMounts[1].name X; " + vol(1) + ".ephemeral.volumeClaimTemplate.metadata.finalizers F; " +
			vol(1) + ".ephemeral.volumeClaimTemplate.metadata.name F; " + vol(1) + ".ephemeral.volumeClaimTemplate.metadata.uID F"},
		{"API-199", "a template with bad labels and annotations", withTemplate(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Labels, c.Annotations = map[string]string{"-": ""}, map[string]string{"-": ""}
		}), "spec.containers[0].volumeMounts[1].name X; " + vol(1) + ".ephemeral.volumeClaimTemplate.metadata.annotations I; " +
			vol(1) + ".ephemeral.volumeClaimTemplate.metadata.labels I"},
		{"API-199", "a template without a mode of access", withTemplate(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Spec.AccessModes = nil
		}), "spec.containers[0].volumeMounts[1].name X; " + vol(1) + ".ephemeral.volumeClaimTemplate.spec.accessModes R"},
		{"API-200", "a claim whose name is too long", func(p *corePod) { p.Name = strings.Repeat("a", 250) },
			"spec.containers[0].volumeMounts[1].name X; " + vol(1) + ".name I"},
		{"API-200", "two good names make a good name", func(p *corePod) { p.Name = "a.b" }, ""},
		{"API-201", "a driver without a name", withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".csi.driver R"},
		{"API-201", "a driver with a long name", withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: strings.Repeat("a", 64)}}),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".csi.driver L"},
		{"API-201", "a driver with a bad name and a secret without one", withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
			Driver: "a_b", NodePublishSecretRef: &corev1.LocalObjectReference{},
		}}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".csi.driver I; " + vol(2) + ".csi.nodePublishSecretRef.name R"},
		{"API-201", "a secret with a bad name", withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
			Driver: "A.example.com", NodePublishSecretRef: &corev1.LocalObjectReference{Name: "A"},
		}}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".csi.name I"},
		{"API-202", "a limit of nothing", withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			SizeLimit: new(apiresource.MustParse("0"))}}), ""},
		{"API-202", "a limit below nothing", withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			SizeLimit: new(apiresource.MustParse("-1"))}}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".emptyDir.sizeLimit F"},
		{"API-096", "a directory of the node", withVolume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}), ""},
		{"API-134", "a path that climbs", withVolume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a/.."}}),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".hostPath.path I"},
		{"API-139", "a disk without a name", withVolume(corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}}),
			"spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".persistentDisk.pdName R"},
		{"API-137", "iSCSI with a long portal", withVolume(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{
			TargetPortal: strings.Repeat("p", 64), IQN: "iqn.2001-04.com.example:a", InitiatorName: new("iqn.2001-04.com.example:b"),
		}}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".name I"},
		{"API-206", "bad files", withVolume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			DefaultMode: new(int32(0o1000)), Items: []corev1.KeyToPath{{Key: "k", Path: "../up"}, {Path: "..data"}},
		}}), strings.TrimPrefix(gone, "; ") + "; " + vol(2) + ".secret.defaultMode I; " + vol(2) + ".secret.items[0].path I; " +
			vol(2) + ".secret.items[1].key R; " + vol(2) + ".secret.items[1].path I; " + vol(2) + ".secret.secretName R"},
		{"API-096", "a projected volume", withVolume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['a']"}},
				}}},
			},
		}}), ""},
		{"API-206", "a bad projected volume", withVolume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(599))}},
				{
					ConfigMap: &corev1.ConfigMapProjection{Items: []corev1.KeyToPath{{Key: "k", Path: "p"}}},
					Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"},
						Items: []corev1.KeyToPath{{Key: "k", Path: "p"}}},
				},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "a", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}, {Path: "b"},
				}}},
			},
		}}), "spec.containers[0].volumeMounts[2].name X; " + vol(2) + ".projected I; " + vol(2) + ".projected.path R; " +
			vol(2) + ".projected.sources[0].serviceAccountToken.expirationSeconds I; " + vol(2) + ".projected.sources[1] F; " +
			vol(2) + ".projected.sources[1].configMap.name R; " + vol(2) + ".projected.sources[2].downwardAPI R; " +
			vol(2) + ".projected.sources[2].downwardAPI.fieldRef.fieldPath N"},
	})
}

func TestPodMounts(t *testing.T) {
	const mounts, devices = "spec.containers[0].volumeMounts", "spec.containers[0].volumeDevices"
	checkCreates(t, Pod, sample.Pod, []row[*corePod]{
		{"API-203", "no name", withMount(corev1.VolumeMount{MountPath: "/x"}), mounts + "[2].name R; " + mounts + "[2].name X"},
		{"API-203", "no such volume", withMount(corev1.VolumeMount{Name: "x", MountPath: "/x"}), mounts + "[2].name X"},
		{"API-203", "a volume at two paths", withMount(corev1.VolumeMount{Name: "data", MountPath: "/x"}), ""},
		{"API-203", "no place", withMount(corev1.VolumeMount{Name: "dir"}), mounts + "[2].mountPath R"},
		{"API-203", "a place that is taken", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/data"}), mounts + "[2].mountPath I"},
		{"API-203", "a part that is absolute", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", SubPath: "/a"}), mounts + ".subPath I"},
		{"API-203", "a part that climbs", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", SubPathExpr: "a/../b"}),
			mounts + ".subPathExpr I"},
		{"API-203", "two parts", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", SubPath: "a", SubPathExpr: "b"}),
			mounts + "[2].subPathExpr I"},
		{"API-203", "unknown propagation",
			withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", MountPropagation: new(corev1.MountPropagationMode("x"))}),
			mounts + ".mountPropagation N"},
		{"API-203", "propagation to the node",
			withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", MountPropagation: new(corev1.MountPropagationBidirectional)}),
			mounts + ".mountPropagation F"},
		{"API-203", "propagation to the node by the privileged", func(p *corePod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
			p.Spec.Containers[0].VolumeMounts[2].MountPropagation = new(corev1.MountPropagationBidirectional)
		}, ""},
		{"API-203", "read-only throughout", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", ReadOnly: true,
			RecursiveReadOnly: new(corev1.RecursiveReadOnlyEnabled)}), ""},
		{"API-203", "read-only throughout but writable", withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x",
			RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible), MountPropagation: new(corev1.MountPropagationHostToContainer)}),
			mounts + ".recursiveReadOnly F"},
		{"API-203", "unknown recursion",
			withMount(corev1.VolumeMount{Name: "dir", MountPath: "/x", RecursiveReadOnly: new(corev1.RecursiveReadOnlyMode("x"))}),
			mounts + ".recursiveReadOnly N"},
		{"API-203", "mounted and a device", func(p *corePod) {
			p.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/scratch"}}
		}, devices + "[0].devicePath I; " + devices + "[0].name I; " + mounts + "[0].name I; " + mounts + "[1].mountPath I"},
		{"API-204", "two devices",
			withDevices(corev1.VolumeDevice{Name: "data", DevicePath: "/dev/a"}, corev1.VolumeDevice{Name: "scratch", DevicePath: "/dev/b"}), ""},
		{"API-204", "a device of nothing", withDevices(corev1.VolumeDevice{}),
			devices + "[0].devicePath R; " + devices + "[0].name R; " + devices + "[0].name X"},
		{"API-204", "a device twice",
			withDevices(corev1.VolumeDevice{Name: "data", DevicePath: "/dev/a"}, corev1.VolumeDevice{Name: "data", DevicePath: "/dev/a"}),
			devices + "[1].devicePath I; " + devices + "[1].name I"},
		{"API-204", "no such volume", withDevices(corev1.VolumeDevice{Name: "x", DevicePath: "/dev/a"}), devices + "[0].name X"},
		{"API-204", "a device of a directory", withDevices(corev1.VolumeDevice{Name: "dir", DevicePath: "/dev/a"}), devices + "[0].name I"},
		{"API-204", "a device that climbs", withDevices(corev1.VolumeDevice{Name: "data", DevicePath: "/dev/../a"}),
			devices + "[0].devicePath I"},
		{"API-205", "a block volume may be mounted as far as the API knows", withTemplate(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		}), ""},
	})
}

func TestPodContainers(t *testing.T) {
	sidecar := corev1.Container{Name: "side", Image: "side"}
	checkCreates(t, Pod, sample.Pod, []row[*corePod]{
		{"API-098", "no container", func(p *corePod) { p.Spec.Containers = nil }, "spec.containers R"},
		{"API-098", "no name, no image", func(p *corePod) { p.Spec.Containers[0].Name, p.Spec.Containers[0].Image = "", "" },
			"spec.containers[0].image R; spec.containers[0].name R"},
		{"API-098", "a bad name, a blank image", func(p *corePod) { p.Spec.Containers[0].Name, p.Spec.Containers[0].Image = "D", " db" },
			"spec.containers[0].image I; spec.containers[0].name I"},
		{"API-098", "two of a name", func(p *corePod) { p.Spec.Containers = append(p.Spec.Containers, sidecar, sidecar) },
			"spec.containers[2].name D"},
		{"API-098", "one before of the name", func(p *corePod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "db", Image: "i"}}
		}, "spec.initContainers[0].name D"},
		{"API-098", "one before that is probed", func(p *corePod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", LivenessProbe: &corev1.Probe{}}}
		}, "spec.initContainers[0].livenessProbe F"},
		{"API-098", "one beside that is probed", func(p *corePod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", LivenessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
				RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		}, ""},
		{"API-098", "unknown policies", func(p *corePod) {
			p.Spec.RestartPolicy, p.Spec.DNSPolicy, p.Spec.PreemptionPolicy = "x", "x", new(corev1.PreemptionPolicy(""))
			c := &p.Spec.Containers[0]
			c.ImagePullPolicy, c.TerminationMessagePolicy, c.RestartPolicy = "x", "x", new(corev1.ContainerRestartPolicy("x"))
		}, "spec.containers[0].imagePullPolicy N; spec.containers[0].restartPolicy N; spec.containers[0].terminationMessagePolicy N; " +
			"spec.dnsPolicy N; spec.preemptionPolicy R; spec.restartPolicy N"},
		{"API-098", "names looked up nowhere", func(p *corePod) { p.Spec.DNSPolicy = corev1.DNSNone }, "spec.dnsConfig R"},
		{"API-098", "bad ports", func(p *corePod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{
				{Name: "web", ContainerPort: 80, HostPort: 80}, {Name: "web", ContainerPort: 70000, HostPort: 80}, {Name: "-", Protocol: "x"},
			}
		}, "spec.containers[0].ports[1].containerPort I; spec.containers[0].ports[1].hostPort D; spec.containers[0].ports[1].name D; " +
			"spec.containers[0].ports[2].containerPort R; spec.containers[0].ports[2].name I; spec.containers[0].ports[2].protocol N"},
		{"API-098", "bad variables", func(p *corePod) { p.Spec.Containers[0].Env = []corev1.EnvVar{{}, {Name: "a=b"}, {Name: "a.b"}} },
			"spec.containers[0].env[0].name R; spec.containers[0].env[1].name I"},
		{"API-098", "requests within limits",
			withResources(sample.Amounts("cpu", "1", "example.com/gpu", "1"), sample.Amounts("cpu", "500m", "memory", "1Gi")), ""},
		{"API-098", "requests beyond limits", withResources(sample.Amounts("cpu", "1"), sample.Amounts("cpu", "2")), "spec.containers[0].resources.requests I"},
		{"API-098", "unlimited requests of what cannot be shared", withResources(nil, sample.Amounts("example.com/gpu", "1")),
			"spec.containers[0].resources.limits R"},
		{"API-195", "less than nothing, and half a device", withResources(sample.Amounts("cpu", "-1", "example.com/gpu", "1500m"), nil),
			"spec.containers[0].resources.limits[cpu] I; spec.containers[0].resources.limits[example.com/gpu] I; " +
				"spec.containers[0].resources.requests[cpu] I; spec.containers[0].resources.requests[example.com/gpu] I"},
		{"API-098", "resources that containers do not have", withResources(nil, sample.Amounts("storage", "1Gi", "a b", "1")),
			"spec.containers[0].resources.requests[a b] I; spec.containers[0].resources.requests[storage] I"},
		{"API-098", "huge pages alone, and a part of one", withResources(sample.Amounts("hugepages-2Mi", "3Mi"), nil),
			"spec.containers[0].resources F; spec.containers[0].resources.limits[hugepages-2Mi] I; spec.containers[0].resources.requests[hugepages-2Mi] I"},
		{"API-108", "gates and a node", func(p *corePod) {
			p.Spec.SchedulingGates, p.Spec.NodeName = sample.SchedulingGates("a", "a", "-"), "n1"
		},
			"spec.nodeName F; spec.schedulingGates[1] D; spec.schedulingGates[2] I"},
		{"API-098", "bad names", func(p *corePod) {
			s := &p.Spec
			s.NodeName, s.ServiceAccountName, s.PriorityClassName, s.RuntimeClassName, s.Hostname, s.Subdomain = "N", "N", "N", new("N"),
				"a.b", "a.b"
		}, "spec.hostname I; spec.nodeName I; spec.priorityClassName I; spec.runtimeClassName I; spec.serviceAccountName I; spec.subdomain I"},
		{"API-098", "bad choice of nodes", func(p *corePod) {
			p.Spec.NodeSelector = map[string]string{"a": "-"}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{}},
			}}
		}, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight I; " +
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms R; spec.nodeSelector I"},
		{"API-263", "bad affinity to other pods", func(p *corePod) {
			term := corev1.PodAffinityTerm{Namespaces: []string{"A"}, MatchLabelKeys: []string{"x"}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"-": "a"}}}
			p.Spec.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "-", MatchLabelKeys: []string{"x"}}}},
				PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 101, PodAffinityTerm: term}}},
			}
		}, "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys F; " +
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey I; " +
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchLabels I; " +
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespace I; " +
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey I; " +
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey R; " +
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight I"},
		{"API-263", "bad topology spread", func(p *corePod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, MinDomains: new(int32(1))},
				{MaxSkew: 0, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, NodeTaintsPolicy: new(corev1.NodeInclusionPolicy("x"))},
				{MaxSkew: 1, WhenUnsatisfiable: "x"}}
		}, "spec.topologySpreadConstraints[0].minDomains I; spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable} D; " +
			"spec.topologySpreadConstraints[1].maxSkew I; spec.topologySpreadConstraints[1].nodeTaintsPolicy N; " +
			"spec.topologySpreadConstraints[2].topologyKey R; spec.topologySpreadConstraints[2].whenUnsatisfiable N"},
		{"API-259", "a pod with less than its containers, and more than it may have", func(p *corePod) {
			withResources(sample.Amounts("cpu", "3"), sample.Amounts("cpu", "2"))(p)
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: sample.Amounts("cpu", "1", "storage", "1Gi"), Limits: sample.Amounts("cpu", "2")}
		}, "spec.resources.containers[0][cpu].limits I; spec.resources.requests[cpu] I; spec.resources.requests[storage] N"},
		{"API-098", "bad tolerations", func(p *corePod) {
			p.Spec.Tolerations = []corev1.Toleration{{}, {Key: "a", Operator: "x"},
				{Key: "-", Operator: "Exists", Value: "v", Effect: "x", TolerationSeconds: new(int64(1))}}
		}, "spec.tolerations[0].operator I; spec.tolerations[1].operator N; spec.tolerations[2].effect I; spec.tolerations[2].effect N; " +
			"spec.tolerations[2].key I; spec.tolerations[2].operator I"},
		{"API-098", "a deadline of nothing, and a container for debugging", func(p *corePod) {
			p.Spec.ActiveDeadlineSeconds = new(int64(0))
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
		}, "spec.activeDeadlineSeconds I; spec.ephemeralContainers F; spec.ephemeralContainers[0].image R; spec.ephemeralContainers[0].name R"},
	})
}

func TestPodPreparation(t *testing.T) {
	now := sample.StoredNoon
	pod := sample.Pod()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", QOSClass: corev1.PodQOSBestEffort}
	preparePod(pod, now)
	assert.EqualValues(t, 1, pod.Generation, "API-108")
	assert.Equal(t, corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}, pod.Status, "API-108")
	pod = sample.Pod()
	pod.Spec.SchedulingGates = sample.SchedulingGates("a")
	preparePod(pod, now)
	assert.Equal(t, []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated", LastTransitionTime: now,
		Message: "Scheduling is blocked due to non-empty scheduling gates",
	}}, pod.Status.Conditions, "API-108: a gated pod says so")
}

func TestDisabledFieldsAreDropped(t *testing.T) {
	trusting := func() *corePod {
		pod := sample.Pod()
		withVolume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}, PodCertificate: &corev1.PodCertificateProjection{}},
		}}})(pod)
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{}
		return pod
	}
	pod := trusting()
	shallow := Pod.Shallow(pod)
	preparePod(shallow, metav1.Time{})
	assert.Equal(t, []corev1.VolumeProjection{{}}, shallow.Spec.Volumes[2].Projected.Sources, "API-108: the features are off")
	assert.Nil(t, shallow.Spec.SchedulingGroup, "API-108: the feature is off")
	assert.Empty(t, cmp.Diff(trusting(), pod), "the request was written to")
	shallow = Pod.Shallow(pod)
	Pod.PrepareUpdate(shallow, trusting())
	assert.Equal(t, pod.Spec, shallow.Spec, "API-237: who has them keeps them")
}

func TestPodQOS(t *testing.T) {
	both := sample.Amounts("cpu", "1", "memory", "1Gi")
	for _, test := range []struct {
		rule, name      string
		limits, request corev1.ResourceList
		whole           *corev1.ResourceRequirements
		want            corev1.PodQOSClass
	}{
		{"API-108", "nothing", nil, nil, nil, corev1.PodQOSBestEffort},
		{"API-108", "nothing that counts", sample.Amounts("ephemeral-storage", "1Gi", "cpu", "0"), nil, nil, corev1.PodQOSBestEffort},
		{"API-108", "limits, which are requests too", both, nil, nil, corev1.PodQOSGuaranteed},
		{"API-108", "the same in another notation", both, sample.Amounts("cpu", "1000m", "memory", "1024Mi"), nil, corev1.PodQOSGuaranteed},
		{"API-108", "less requested than limited", both, sample.Amounts("cpu", "500m"), nil, corev1.PodQOSBurstable},
		{"API-108", "one of the two", sample.Amounts("cpu", "1"), nil, nil, corev1.PodQOSBurstable},
		{"API-108", "requests alone", nil, both, nil, corev1.PodQOSBurstable},
		{"API-108", "the pod as a whole", nil, nil, &corev1.ResourceRequirements{Limits: both, Requests: both}, corev1.PodQOSGuaranteed},
		{"API-108", "the pod as a whole requests", both, nil, &corev1.ResourceRequirements{Requests: both}, corev1.PodQOSBurstable},
		{"API-108", "the pod as a whole has nothing", both, nil, &corev1.ResourceRequirements{}, corev1.PodQOSBestEffort},
	} {
		pod := sample.Pod()
		withResources(test.limits, test.request)(pod)
		pod.Spec.Resources = test.whole
		defaultPod(pod)
		assert.Equal(t, test.want, podQOS(pod), "%s %s", test.rule, test.name)
	}
	pod := sample.Pod()
	withResources(both, nil)(pod)
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "side"})
	defaultPod(pod)
	assert.Equal(t, corev1.PodQOSBurstable, podQOS(pod), "API-108: one container without limits spoils it")
}

func TestPullPolicy(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	for _, test := range []struct {
		rule, image string
		want        corev1.PullPolicy
	}{
		{"API-096", "db", corev1.PullAlways},
		{"API-096", "db:latest", corev1.PullAlways},
		{"API-096", "example.com:5000/a/db", corev1.PullAlways},
		{"API-096", "example.com:5000/a/db:1", corev1.PullIfNotPresent},
		{"API-096", "db" + digest, corev1.PullIfNotPresent},
		{"API-096", "db:latest" + digest, corev1.PullAlways},
		{"API-096", "DB", corev1.PullIfNotPresent},
		{"API-096", "Host/db", corev1.PullAlways},
		{"API-096", "a__b/c-d", corev1.PullAlways},
		{"API-096", "a___b", corev1.PullIfNotPresent},
		{"API-096", "db:", corev1.PullIfNotPresent},
		{"API-096", "", corev1.PullIfNotPresent},
		{"API-096", strings.Repeat("0", 64), corev1.PullIfNotPresent},
		{"API-096", strings.Repeat("a", 256), corev1.PullIfNotPresent},
	} {
		if got := pullPolicy(test.image); got != test.want {
			t.Errorf("%s pullPolicy(%q) = %s, want %s", test.rule, test.image, got, test.want)
		}
	}
}
