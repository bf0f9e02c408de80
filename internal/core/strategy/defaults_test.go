package strategy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy/sample"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func TestPodDefaults(t *testing.T) {
	pod := sample.Pod()
	pod.Spec.Containers[0].Resources.Limits = sample.Amounts("cpu", "100u")
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
	withTemplate(func(c *corev1.PersistentVolumeClaimTemplate) {
		c.Spec.Resources.Requests = sample.Amounts("storage", "1100u")
	})(pod)
	defaultPod(pod)
	spec := pod.Spec
	assert.Equal(t, corev1.RestartPolicyAlways, spec.RestartPolicy, "API-098")
	assert.EqualValues(t, 30, *spec.TerminationGracePeriodSeconds, "API-098")
	assert.Equal(t, "default-scheduler", spec.SchedulerName, "API-098")
	assert.Equal(t, corev1.DNSClusterFirst, spec.DNSPolicy, "API-098")
	assert.Equal(t, &corev1.PodSecurityContext{}, spec.SecurityContext, "API-098")
	assert.Empty(t, spec.DeprecatedServiceAccount, "API-098: no account, no copy of it")
	assert.True(t, *spec.EnableServiceLinks, "API-098")
	assert.Equal(t, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, spec.Volumes[2].VolumeSource,
		"API-096: no source is a directory")
	assert.EqualValues(t, 0o644, *spec.Volumes[3].Secret.DefaultMode, "API-096")
	template := spec.Volumes[1].Ephemeral.VolumeClaimTemplate.Spec
	assert.Equal(t, corev1.PersistentVolumeFilesystem, *template.VolumeMode, "API-097")
	assert.Equal(t, "2m", template.Resources.Requests.Storage().String(), "API-097: rounded as API-082 says")
	assert.Nil(t, template.StorageClassName, "API-097: the class is chosen when the claim is made")
	c := spec.Containers[0]
	assert.Equal(t, corev1.PullIfNotPresent, c.ImagePullPolicy, "API-096")
	assert.Equal(t, "1m", c.Resources.Requests.Cpu().String(), "API-082: what is limited is requested, rounded")
	assert.Equal(t, corev1.ProtocolTCP, c.Ports[0].Protocol, "API-098")
}

func TestPodSourceDefaults(t *testing.T) {
	for _, test := range []struct {
		rule string
		from corev1.VolumeSource
		want corev1.VolumeSource
	}{
		{"API-096", corev1.VolumeSource{}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{"API-096", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a", Type: new(corev1.HostPathUnset)}}},
		{"API-096", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}},
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: new(int32(420))}}},
		{"API-096", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
			corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{DefaultMode: new(int32(420)), Items: []corev1.DownwardAPIVolumeFile{
				{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}}},
		{"API-096", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}},
			corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3600))}}}}}},
		{"API-096", corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{RadosUser: "me"}},
			corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{RBDPool: "rbd", RadosUser: "me", Keyring: "/etc/ceph/keyring"}}},
		{"API-096", corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}},
			corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{ISCSIInterface: "default"}}},
		{"API-096", corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{}},
			corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{StorageMode: "ThinProvisioned", FSType: "xfs"}}},
		{"API-096", corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}},
			corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{CachingMode: new(corev1.AzureDataDiskCachingReadWrite), FSType: new("ext4"),
				ReadOnly: new(false), Kind: new(corev1.AzureSharedBlobDisk)}}},
		{"API-096", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "a:1"}},
			corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "a:1", PullPolicy: corev1.PullIfNotPresent}}},
		{"API-096", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}},
			corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}},
	} {
		if diff := cmp.Diff(test.want, defaultPodSource(&test.from)); diff != "" {
			t.Errorf("%s defaults of %+v:\n%s", test.rule, test.from, diff)
		}
	}
}

// drawPod makes pods in which the things that have defaults are there or not, filled in or not.
func drawPod(t *rapid.T) *corePod {
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	amount := func() apiresource.Quantity {
		return apiresource.MustParse(rapid.SampledFrom([]string{"0", "1", "-3", "100u", "1n", "1.0005", "7Gi",
			"12345678901234567890n"}).Draw(t, "amount"))
	}
	list := func() corev1.ResourceList {
		if maybe("no list") {
			return nil
		}
		l := corev1.ResourceList{}
		for _, name := range []corev1.ResourceName{"cpu", "memory", "storage"} {
			if maybe(string(name)) {
				l[name] = amount()
			}
		}
		return l
	}
	text := func(words ...string) string { return rapid.SampledFrom(append(words, "")).Draw(t, "text") }
	ref := func() *corev1.ObjectFieldSelector {
		if maybe("no ref") {
			return nil
		}
		return &corev1.ObjectFieldSelector{APIVersion: text("v1"), FieldPath: "metadata.name"}
	}
	get := func() *corev1.HTTPGetAction {
		if maybe("no get") {
			return nil
		}
		return &corev1.HTTPGetAction{Path: text("/x"), Scheme: corev1.URIScheme(text("HTTPS")), Port: intstr.FromInt32(80)}
	}
	probe := func() *corev1.Probe {
		if maybe("no probe") {
			return nil
		}
		p := &corev1.Probe{PeriodSeconds: rapid.Int32Range(0, 1).Draw(t, "period"), TimeoutSeconds: 3, SuccessThreshold: 1, FailureThreshold: 1}
		if p.HTTPGet = get(); p.HTTPGet == nil && maybe("grpc") {
			p.GRPC = &corev1.GRPCAction{Port: 1}
		}
		return p
	}
	container := func() corev1.Container {
		c := corev1.Container{
			Name: "c", Image: text("a", "a:1", "A"), ImagePullPolicy: corev1.PullPolicy(text("Never")),
			TerminationMessagePath: text("/x"), TerminationMessagePolicy: corev1.TerminationMessagePolicy(text("File")),
			Resources:     corev1.ResourceRequirements{Limits: list(), Requests: list()},
			LivenessProbe: probe(), ReadinessProbe: probe(),
		}
		if maybe("port") {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 1, Protocol: "UDP"}, {ContainerPort: 2, Protocol: corev1.Protocol(text("TCP"))}}
		}
		if maybe("env") {
			c.Env = []corev1.EnvVar{{Name: "a"}, {Name: "b", ValueFrom: &corev1.EnvVarSource{FieldRef: ref()}},
				{Name: "c", ValueFrom: &corev1.EnvVarSource{
					FileKeyRef: &corev1.FileKeySelector{}}}}
		}
		if maybe("lifecycle") {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: get()}}
		}
		return c
	}
	pod := sample.Pod()
	spec := &pod.Spec
	spec.Containers = []corev1.Container{container(), container()}
	spec.InitContainers = []corev1.Container{container()}
	spec.HostNetwork, spec.RestartPolicy = maybe("host"), corev1.RestartPolicy(text("Never"))
	if maybe("resources") {
		spec.Resources = &corev1.ResourceRequirements{Limits: list(), Requests: list()}
	}
	if maybe("grace") {
		spec.TerminationGracePeriodSeconds = new(int64(3))
	}
	template := sample.EphemeralSource()
	template.Ephemeral.VolumeClaimTemplate.Spec.Resources = corev1.VolumeResourceRequirements{Limits: list(), Requests: list()}
	sources := []corev1.VolumeSource{
		{}, sample.ClaimSource("a"), template, {Ephemeral: &corev1.EphemeralVolumeSource{}},
		{HostPath: &corev1.HostPathVolumeSource{}}, {RBD: &corev1.RBDVolumeSource{RBDPool: text("p")}}, {ISCSI: &corev1.ISCSIVolumeSource{}},
		{ScaleIO: &corev1.ScaleIOVolumeSource{FSType: text("ext4")}}, {AzureDisk: &corev1.AzureDiskVolumeSource{FSType: new("x")}},
		{Secret: &corev1.SecretVolumeSource{}}, {ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: new(int32(1))}},
		{Image: &corev1.ImageVolumeSource{Reference: text("a", "a:1")}},
		{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{FieldRef: ref()}, {FieldRef: ref()}}}},
		{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(1)), Sources: []corev1.VolumeProjection{
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{FieldRef: ref()}}}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
		}}},
	}
	spec.Volumes = nil
	for range rapid.IntRange(0, 4).Draw(t, "volumes") {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "v", VolumeSource: rapid.SampledFrom(sources).Draw(t, "source")})
	}
	if maybe("conditions") {
		pod.Status.Conditions = []corev1.PodCondition{{LastProbeTime: sample.StoredNoon}, {LastTransitionTime: metav1.NewTime(sample.Noon)}}
		pod.Status.StartTime = new(metav1.NewTime(sample.Noon))
	}
	return pod
}

// checkDefaults sees to it that defaults are filled in once, in a copy, and at no cost when nothing is left to do.
func checkDefaults[T api.Object](t *rapid.T, s Of[T], obj T) {
	t.Helper()
	before := obj.DeepCopyObject()
	once := s.Shallow(obj)
	s.Defaults(once)
	if diff := cmp.Diff(before, any(obj)); diff != "" {
		t.Fatalf("the defaults were written into the object that came:\n%s", diff)
	}
	kept := once.DeepCopyObject()
	twice := s.Shallow(once)
	s.Defaults(twice)
	if diff := cmp.Diff(kept, any(once)); diff != "" {
		t.Fatalf("the second time was written into the first:\n%s", diff)
	}
	if diff := cmp.Diff(any(once), any(twice)); diff != "" {
		t.Fatalf("the second time differs:\n%s", diff)
	}
	if !s.Equal(once, twice) {
		t.Fatal("equal: false for the same object, defaulted twice")
	}
}

func TestDefaultsOnceAreEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkDefaults(t, Pod, drawPod(t))

		node := sample.Node()
		node.Status.Capacity = rapid.SampledFrom([]corev1.ResourceList{nil, {}, sample.Amounts("cpu", "100u"), sample.Amounts("cpu", "1")}).Draw(t, "capacity")
		node.Status.Allocatable = rapid.SampledFrom([]corev1.ResourceList{nil, {}, sample.Amounts("cpu", "100u"), sample.Amounts("cpu", "1")}).Draw(t,
			"allocatable")
		node.Spec.PodCIDR = rapid.SampledFrom([]string{"", "10.0.0.0/24"}).Draw(t, "range")
		node.Spec.PodCIDRs = rapid.SampledFrom([][]string{nil, {"10.0.0.0/24"}, {"10.0.1.0/24", "fd00::/64"}}).Draw(t, "ranges")
		checkDefaults(t, Node, node)

		driver := goodDriver()
		driver.Spec.AttachRequired = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "attach")
		driver.Spec.VolumeLifecycleModes = rapid.SampledFrom([][]storagev1.VolumeLifecycleMode{nil, {}, {"Ephemeral"}}).Draw(t, "modes")
		checkDefaults(t, CSIDriver, driver)
	})
}

func TestDefaultedObjectsCostNothing(t *testing.T) {
	pod, node, driver := sample.Pod(), sample.Node(), goodDriver()
	pod.Spec.Containers[0].Resources.Limits = sample.Amounts("cpu", "1", "memory", "1Gi")
	pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
	defaultPod(pod)
	defaultNode(node)
	defaultDriver(driver)
	assert.Zero(t, testing.AllocsPerRun(100, func() { defaultPod(pod) }), "allocations of a defaulted pod")
	assert.Zero(t, testing.AllocsPerRun(100, func() { defaultNode(node) }), "allocations of a defaulted node")
	assert.Zero(t, testing.AllocsPerRun(100, func() { defaultDriver(driver) }), "allocations of a defaulted driver")
}

func BenchmarkPodWrites(b *testing.B) {
	pod := sample.Pod()
	defaultPod(pod)
	old := pod.DeepCopy()
	b.Run("defaults", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			defaultPod(pod)
		}
	})
	b.Run("validate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(validatePod(pod, nil)) > 0 {
				b.Fatal("a good pod was refused")
			}
		}
	})
	b.Run("equal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !Pod.Equal(pod, old) {
				b.Fatal("a copy differs")
			}
		}
	})
	b.Run("equal shared", func(b *testing.B) {
		shared := Pod.Shallow(pod)
		b.ReportAllocs()
		for b.Loop() {
			if !Pod.Equal(pod, shared) {
				b.Fatal("a copy differs")
			}
		}
	})
}

// API-098: the account of a pod has two names, of which the newer one counts.
func TestPodServiceAccount(t *testing.T) {
	for _, tt := range []struct{ name, old, want string }{
		{name: "new", want: "new"}, {old: "old", want: "old"}, {name: "new", old: "old", want: "new"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: tt.name, DeprecatedServiceAccount: tt.old}}
		defaultPod(pod)
		assert.Equal(t, tt.want, pod.Spec.ServiceAccountName, "%+v", tt)
		assert.Equal(t, tt.want, pod.Spec.DeprecatedServiceAccount, "%+v", tt)
	}
}
