package differential_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/admission"
)

// TestAdmission compares admission by the real plugins on random requests in a namespace with LimitRanges, quotas, priorities and classes.
func TestAdmission(t *testing.T) {
	number := 150
	if *seeds > 0 {
		number = *seeds
	}
	var asked, refused, reported int
	for i := range number {
		seed := *first + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			g := requester{rand.New(rand.NewPCG(seed, 9))}
			sides, err := admission.New(synctest.Wait)
			require.NoError(t, err)
			defer sides.Close()
			for _, obj := range g.fixture() {
				require.NoError(t, sides.Load(obj))
			}
			for n := range 12 {
				what, ours, theirs := g.ask(t, sides, n)
				if what == "" {
					continue
				}
				if asked++; theirs.Error != "" {
					refused++
				}
				if diff := cmp.Diff(theirs, ours); diff != "" {
					if reported++; reported <= mostReported {
						t.Errorf("seed %d, %s: -upstream +ours:\n%s", seed, what, diff)
					}
					return
				}
			}
		})
	}
	t.Logf("%d requests, %d refused, %d different", asked, refused, reported)
	require.Greater(t, refused, asked/10, "too few are refused for this to mean anything")
	require.Greater(t, asked-refused, asked/10, "too few are accepted for this to mean anything")
}

// requester makes requests in the namespace "shop".
type requester struct{ *rand.Rand }

func (g requester) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g requester) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: choose(g.Rand, "shop", "shop", "shop", "shop", "shop", "shop", "shop", "shop", "closing", "none"), Name: name}
}

// list returns a list of quantities for some of these names.
func (g requester) list(names ...corev1.ResourceName) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range names {
		if g.oneIn(2) {
			list[name] = resource.MustParse(choose(g.Rand, "0", "1", "2", "100m", "250m", "1500m", "1Gi", "3Gi", "5Gi", "0.5"))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

const (
	cpu      = corev1.ResourceCPU
	memory   = corev1.ResourceMemory
	disk     = corev1.ResourceEphemeralStorage
	capacity = corev1.ResourceStorage
)

// fixture returns the objects that exist before the requests.
func (g requester) fixture() []api.Object {
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	now := metav1.NewTime(differential.Epoch)
	closing := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "closing", DeletionTimestamp: &now}, Spec: corev1.NamespaceSpec{
		Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}
	all := append([]api.Object{shop, closing}, g.accounts()...)
	for _, name := range []string{"gold", "iron"} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/disk", AllowVolumeExpansion: choose(g.Rand, nil, new(true), new(true), new(false))}
		if g.oneIn(3) {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		all = append(all, class)
	}
	for i := range g.IntN(3) {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Value: int32(choose(g.Rand, -5, 10, 1000)), GlobalDefault: g.oneIn(4),
			PreemptionPolicy: choose(g.Rand, new(corev1.PreemptLowerPriority), new(corev1.PreemptLowerPriority), new(corev1.PreemptNever))}
		all = append(all, class)
	}
	for i := range g.IntN(3) {
		all = append(all, g.runtimeClass(fmt.Sprintf("r%d", i)))
	}
	for i := range g.IntN(3) {
		all = append(all, g.limitRange(fmt.Sprintf("limits%d", i)))
	}
	for i := range g.IntN(3) {
		all = append(all, g.quota(fmt.Sprintf("quota%d", i)))
	}
	return all
}

func (g requester) runtimeClass(name string) *nodev1.RuntimeClass {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "h"}
	if g.oneIn(2) {
		class.Overhead = &nodev1.Overhead{PodFixed: g.list(cpu, memory)}
	}
	if g.oneIn(2) {
		class.Scheduling = &nodev1.Scheduling{NodeSelector: choose(g.Rand, nil, map[string]string{"a": "b"}, map[string]string{"a": "c"}), Tolerations: g.tolerations()}
	}
	return class
}

// tolerations returns a few tolerations, some of which cover others.
func (g requester) tolerations() []corev1.Toleration {
	var list []corev1.Toleration
	for range g.IntN(4) {
		t := corev1.Toleration{Key: choose(g.Rand, "", "node.kubernetes.io/not-ready", "x"), Operator: choose(g.Rand, corev1.TolerationOpExists, corev1.TolerationOpEqual, ""),
			Effect: choose(g.Rand, "", corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule)}
		if t.Key == "" {
			t.Operator = corev1.TolerationOpExists
		}
		if t.Operator != corev1.TolerationOpExists {
			t.Value = choose(g.Rand, "1", "2")
		}
		if t.Effect == corev1.TaintEffectNoExecute {
			t.TolerationSeconds = choose(g.Rand, nil, new(int64(100)), new(int64(600)))
		}
		list = append(list, t)
	}
	return list
}

func (g requester) limitRange(name string) *corev1.LimitRange {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	if g.oneIn(2) {
		limits.Spec.Limits = append(limits.Spec.Limits, corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Min: g.list(cpu, memory), Max: g.list(cpu, memory),
			Default: g.list(cpu, memory), DefaultRequest: g.list(cpu, memory), MaxLimitRequestRatio: choose(g.Rand, nil, nil, g.list(cpu))})
	}
	if g.oneIn(2) {
		limits.Spec.Limits = append(limits.Spec.Limits, corev1.LimitRangeItem{Type: corev1.LimitTypePod, Min: g.list(cpu, memory), Max: g.list(cpu, memory),
			MaxLimitRequestRatio: choose(g.Rand, nil, nil, g.list(cpu))})
	}
	if g.oneIn(2) {
		limits.Spec.Limits = append(limits.Spec.Limits, corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Min: g.list(capacity), Max: g.list(capacity)})
	}
	return limits
}

// limited are names that a quota may limit.
var limited = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
	"requests.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu", "pods", "count/pods", "persistentvolumeclaims", "count/persistentvolumeclaims",
	"requests.storage", "gold.storageclass.storage.k8s.io/requests.storage", "iron.storageclass.storage.k8s.io/persistentvolumeclaims", "configmaps", "count/configmaps",
	"secrets", "services", "count/services", "services.nodeports", "services.loadbalancers"}

func (g requester) quota(name string) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
	q.Status.Hard, q.Status.Used = corev1.ResourceList{}, corev1.ResourceList{}
	for range 1 + g.IntN(5) {
		name := choose(g.Rand, limited...)
		q.Spec.Hard[name] = resource.MustParse(choose(g.Rand, "0", "1", "2", "3", "5", "4Gi", "10Gi"))
		q.Status.Hard[name] = q.Spec.Hard[name]
		if !g.oneIn(15) {
			q.Status.Used[name] = resource.MustParse(choose(g.Rand, "0", "0", "0", "1", "1Gi"))
		}
	}
	if g.oneIn(10) {
		q.Status = corev1.ResourceQuotaStatus{}
	}
	switch g.IntN(12) {
	case 0:
		q.Spec.Scopes = []corev1.ResourceQuotaScope{choose(g.Rand, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
			corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity)}
	case 1:
		q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass,
			Operator: choose(g.Rand, corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)}}}
		if e := &q.Spec.ScopeSelector.MatchExpressions[0]; e.Operator == corev1.ScopeSelectorOpIn || e.Operator == corev1.ScopeSelectorOpNotIn {
			e.Values = []string{choose(g.Rand, "p0", "p1")}
		}
	}
	return q
}

// ask makes a request of both sides. It returns "" if there is nothing to ask about.
func (g requester) ask(t *testing.T, sides *admission.Sides, n int) (what string, ours, theirs admission.Answer) {
	t.Helper()
	var err error
	name := fmt.Sprintf("x%d", n)
	switch g.IntN(10) {
	case 0, 1, 2:
		what = "create pod"
		ours, theirs, err = sides.Create(g.pod(name))
	case 3, 4:
		what = "create claim"
		ours, theirs, err = sides.Create(g.claim(name))
	case 5:
		what = "create service"
		ours, theirs, err = sides.Create(g.service(name))
	case 6:
		what = "create configmap or secret"
		ours, theirs, err = sides.Create(choose[api.Object](g.Rand, &corev1.ConfigMap{ObjectMeta: g.meta(name)}, &corev1.Secret{ObjectMeta: g.meta(name)}))
	case 7, 8:
		key := sides.Any(api.PersistentVolumeClaim, g.IntN(100))
		if key == "" {
			return "", ours, theirs
		}
		sub := choose(g.Rand, api.Main, api.Main, api.Status)
		what = fmt.Sprintf("update%s %s", sub, key)
		size := resource.MustParse(choose(g.Rand, "1Gi", "2Gi", "3Gi", "7Gi"))
		ours, theirs, err = sides.Update(api.PersistentVolumeClaim, key, sub, func(obj api.Object) {
			claim := obj.(*corev1.PersistentVolumeClaim)
			if sub == api.Status {
				claim.Status.Phase = corev1.ClaimBound
				claim.Status.Capacity = corev1.ResourceList{capacity: claim.Spec.Resources.Requests[capacity]}
				if g.oneIn(3) {
					claim.Status.AllocatedResources = corev1.ResourceList{capacity: size}
				}
				return
			}
			claim.Labels = map[string]string{"n": name}
			if g.oneIn(2) {
				claim.Spec.Resources.Requests = corev1.ResourceList{capacity: size}
			}
		})
	default:
		key := sides.Any(api.Pod, g.IntN(100))
		if key == "" {
			return "", ours, theirs
		}
		what = "update " + key
		ours, theirs, err = sides.Update(api.Pod, key, api.Main, func(obj api.Object) {
			pod := obj.(*corev1.Pod)
			pod.Labels = map[string]string{"n": name}
			if g.oneIn(2) {
				pod.Spec.ActiveDeadlineSeconds = new(int64(50 - n))
			}
			if g.oneIn(3) {
				pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil
			}
		})
	}
	require.NoError(t, err)
	return what, ours, theirs
}

func (g requester) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "i:1"}
	if g.oneIn(3) {
		c.Resources.Requests = g.list(cpu, memory, disk)
	}
	if g.oneIn(3) {
		limits := g.list(cpu, memory, disk)
		for resource, q := range c.Resources.Requests {
			// A limit is not below the request.
			if limit, ok := limits[resource]; ok && limit.Cmp(q) < 0 {
				limits[resource] = q
			}
		}
		c.Resources.Limits = limits
	}
	if g.oneIn(8) {
		one := resource.MustParse("1")
		for _, list := range []*corev1.ResourceList{&c.Resources.Requests, &c.Resources.Limits} {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)["example.com/gpu"] = one
		}
	}
	if g.oneIn(10) {
		secret := corev1.LocalObjectReference{Name: choose(g.Rand, "mine", "other")}
		if g.oneIn(2) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: secret}}}
		} else {
			c.Env = []corev1.EnvVar{{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret, Key: "k"}}}}
		}
	}
	if g.oneIn(12) {
		// A mount in place of the token, of a volume that may be missing.
		c.VolumeMounts = []corev1.VolumeMount{{Name: choose(g.Rand, "v", "kube-api-access-mine"), MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	}
	return c
}

func (g requester) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: g.meta(name)}
	pod.Spec.ServiceAccountName = choose(g.Rand, "", "", "default", "builder", "none")
	pod.Spec.AutomountServiceAccountToken = choose(g.Rand, nil, nil, new(true), new(false))
	if g.oneIn(6) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, g.secretVolume())
	}
	if g.oneIn(8) {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: choose(g.Rand, "pull", "other")}}
	}
	if g.oneIn(15) {
		pod.Annotations, pod.Spec.NodeName = map[string]string{corev1.MirrorPodAnnotationKey: "x"}, "n1"
		pod.Spec.ServiceAccountName = choose(g.Rand, "", "", "", "default")
	}
	for i := range 1 + g.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if g.oneIn(3) {
		init := g.container("init")
		if g.oneIn(2) {
			init.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = []corev1.Container{init}
	}
	if g.oneIn(8) {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{cpu: resource.MustParse("20"), memory: resource.MustParse("20Gi")}}
	}
	if g.oneIn(8) {
		pod.Spec.ActiveDeadlineSeconds = new(int64(60))
	}
	if g.oneIn(3) {
		pod.Spec.PriorityClassName = choose(g.Rand, "p0", "p0", "p1", "none")
	}
	if g.oneIn(8) {
		pod.Spec.Priority = new(int32(choose(g.Rand, 0, 10)))
	}
	if g.oneIn(8) {
		pod.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}
	if g.oneIn(4) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: choose(g.Rand, "", "node.kubernetes.io/not-ready", "x"), Operator: corev1.TolerationOpExists,
			Effect: choose(g.Rand, "", corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule)}}
	}
	if g.oneIn(3) {
		pod.Spec.RuntimeClassName = new(choose(g.Rand, "r0", "r0", "r1", "none"))
	}
	if g.oneIn(10) {
		pod.Spec.Overhead = choose(g.Rand, corev1.ResourceList{}, g.list(cpu, memory))
	}
	if g.oneIn(4) {
		pod.Spec.NodeSelector = map[string]string{choose(g.Rand, "a", "z"): "b"}
	}
	if g.oneIn(4) {
		pod.Spec.Tolerations = g.tolerations()
	}
	return pod
}

// secretVolume returns a volume of a Secret, or one that has a token.
func (g requester) secretVolume() corev1.Volume {
	name := choose(g.Rand, "mine", "other")
	return choose(g.Rand,
		corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", NodePublishSecretRef: &corev1.LocalObjectReference{Name: name}}}},
		corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{choose(g.Rand,
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}},
			corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}})}}}},
		corev1.Volume{Name: "kube-api-access-mine", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

// accounts returns the service accounts of the namespace.
func (g requester) accounts() (all []api.Object) {
	for _, name := range []string{"default", "builder"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, AutomountServiceAccountToken: choose(g.Rand, nil, nil, new(false))}
		if g.oneIn(3) {
			account.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		}
		if g.oneIn(3) {
			account.Annotations = map[string]string{"kubernetes.io/enforce-mountable-secrets": choose(g.Rand, "true", "true", "yes")}
			account.Secrets = []corev1.ObjectReference{{Name: "mine"}}
		}
		all = append(all, account)
	}
	return all
}

func (g requester) claim(name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: g.meta(name)}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{capacity: resource.MustParse(choose(g.Rand, "1Gi", "1Gi", "1.5Gi", "3Gi", "900m"))}
	claim.Spec.StorageClassName = choose(g.Rand, nil, new(""), new("gold"), new("gold"), new("iron"))
	return claim
}

func (g requester) service(name string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: g.meta(name)}
	s.Spec.Type = choose(g.Rand, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
	s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81}}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && g.oneIn(2) {
		s.Spec.AllocateLoadBalancerNodePorts = new(false)
	}
	return s
}
