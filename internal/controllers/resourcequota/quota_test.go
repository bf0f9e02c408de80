package resourcequota_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/resourcequota"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/rig"
)

type fixture struct{ *rig.Rig }

func newFixture(t *testing.T) fixture {
	f := fixture{rig.New(t, engine.Config{})}
	quotas, err := f.Store().Other(store.QuotaKind)
	f.OK(err)
	_, err = resourcequota.New(f.Engine, quotas)
	f.OK(err)
	return f
}

// do carries out a line and returns the error:
//
//	quota NAME {HARD}, scoped NAME [SCOPES] {HARD}, limits NAME [ITEMS]
//	claim NAME SIZE [CLASS], grow NAME SIZE, allocate NAME SIZE, delete NAME
//	pod NAME {RESOURCES}, end NAME, config NAME, service NAME TYPE
//	resize NAME STATUS
//	kill NAME (a pod with a finalizer, without grace), deadline NAME, retype NAME TYPE
//	dry LINE
func (f fixture) do(line string) error {
	words := strings.SplitN(line, " ", 3)
	name, rest := words[1], ""
	if len(words) > 2 {
		rest = words[2]
	}
	create := func(kind, spec string) error {
		u := &unstructured.Unstructured{}
		require.NoError(f.T, yaml.Unmarshal([]byte(fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: default}, %s}", kind, name, spec)), &u.Object))
		_, err := f.Store().Create(u)
		return err
	}
	switch words[0] {
	case "quota":
		return create("ResourceQuota", "spec: {hard: "+rest+"}")
	case "scoped":
		scopes, hard, _ := strings.Cut(rest, "] ")
		return create("ResourceQuota", "spec: {scopes: "+scopes+"], hard: "+hard+"}")
	case "selected":
		selector, hard, _ := strings.Cut(rest, "} ")
		return create("ResourceQuota", "spec: {scopeSelector: {matchExpressions: ["+selector+"}]}, hard: "+hard+"}")
	case "limits":
		return create("LimitRange", "spec: {limits: "+rest+"}")
	case "service":
		return create("Service", "spec: {type: "+rest+", ports: [{port: 80}]}")
	case "config":
		return create("ConfigMap", "data: {a: b}")
	case "claim":
		size, class, _ := strings.Cut(rest, " ")
		if class != "" {
			class = "storageClassName: " + class + ", "
		}
		return create("PersistentVolumeClaim", "spec: {"+class+"accessModes: [ReadWriteOnce], resources: {requests: {storage: "+size+"}}}")
	case "pod":
		return create("Pod", "spec: {containers: [{name: c, image: i, resources: "+rest+"}]}")
	case "delete":
		f.Patch(api.PersistentVolumeClaim, "default/"+name, `{"metadata":{"finalizers":null}}`)
		_, err := f.Store().Delete(api.PersistentVolumeClaim, "default/"+name, api.DeleteOptions{})
		return err
	case "end":
		_, err := f.Store().Patch(api.Pod, "default/"+name, []byte(`{"status":{"phase":"Succeeded"}}`), api.Status)
		return err
	case "resize":
		status := map[string]any{}
		require.NoError(f.T, yaml.Unmarshal([]byte("{status: "+rest+"}"), &status))
		patch, err := json.Marshal(status)
		f.OK(err)
		_, err = f.Store().Patch(api.Pod, "default/"+name, patch, api.Status)
		return err
	case "kill":
		f.Patch(api.Pod, "default/"+name, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		_, err := f.Store().Delete(api.Pod, "default/"+name, api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		// No event tells the controller that the grace period is over.
		f.Advance(5 * time.Minute)
		return err
	case "deadline":
		_, err := f.Store().Patch(api.Pod, "default/"+name, []byte(`{"spec":{"activeDeadlineSeconds":60}}`), api.Main)
		return err
	case "retype":
		_, err := f.Store().Patch("Service", "default/"+name, fmt.Appendf(nil, `{"spec":{"type":%q}}`, rest), api.Main)
		return err
	case "grow", "allocate":
		claim, err := f.Store().Claims.Get("default/" + name)
		f.OK(err)
		claim = claim.DeepCopy()
		if words[0] == "allocate" {
			claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(rest)}
			_, err = f.Store().Claims.UpdateStatus(claim)
			return err
		}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(rest)}
		_, err = f.Store().Claims.Update(claim)
		return err
	case "dry":
		f.Store().DryRun(func() { require.NoError(f.T, f.do(strings.TrimPrefix(line, "dry "))) })
		return nil
	}
	f.T.Fatalf("unknown line %q", line)
	return nil
}

// used describes the usage and the limits of quota q.
func (f fixture) used() string {
	obj, err := f.Store().Get(store.QuotaKind, "default/q")
	f.OK(err)
	q, err := plain.As[*corev1.ResourceQuota](obj)
	f.OK(err)
	var parts []string
	for name, hard := range q.Status.Hard {
		text := "?"
		if used, ok := q.Status.Used[name]; ok {
			text = used.String()
		}
		parts = append(parts, fmt.Sprintf("%s %s/%s", name, text, hard.String()))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func TestQuota(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		lines      []string // "!" before a line: do not wait for the controller afterwards
		err        string   // of the last line
		used       string   // of quota q at the end; "" if it does not matter
	}{
		{"QUO-002", "a limit on an unknown resource", []string{"quota q {volumes: 1}"},
			`ResourceQuota "q" is invalid: [spec.hard[volumes]: Invalid value: "volumes": must be a standard resource type or fully qualified, ` +
				`spec.hard[volumes]: Invalid value: "volumes": must be a standard resource for quota]`, ""},
		{"QUO-002", "half a claim", []string{"quota q {persistentvolumeclaims: 500m}"},
			`ResourceQuota "q" is invalid: spec.hard[persistentvolumeclaims]: Invalid value: "500m": must be an integer`, ""},
		{"QUO-003", "a scope of pods for claims", []string{"scoped q [BestEffort] {persistentvolumeclaims: 1}"},
			`ResourceQuota "q" is invalid: spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`, ""},
		{"QUO-006", "a scope with a value that has none", []string{"selected q {scopeName: BestEffort, operator: In} {pods: 1}"},
			`ResourceQuota "q" is invalid: [spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when scope is any of ` +
				`ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ` +
				`ResourceQuotaScopeCrossNamespacePodAffinity, spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when ` +
				"`operator` is 'In' or 'NotIn' for scope selector]", ""},
		{"QUO-002", "a negative limit", []string{"quota q {pods: -1}"},
			`ResourceQuota "q" is invalid: spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`, ""},
		{"QUO-003", "scopes that exclude each other", []string{"scoped q [BestEffort, NotBestEffort] {pods: 1}"},
			`ResourceQuota "q" is invalid: spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`, ""},
		{"QUO-004", "the maximum is the default limit and request", []string{"limits l [{type: Container, max: {cpu: 2}}]", "quota q {requests.cpu: 4, limits.cpu: 4}", "pod p {}"}, "",
			"limits.cpu 2/4, requests.cpu 2/4"},
		{"QUO-005", "limits for claims without storage", []string{"limits l [{type: PersistentVolumeClaim, max: {cpu: 1}}]"},
			`LimitRange "l" is invalid: spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided`, ""},
		{"QUO-005", "storage of containers", []string{"limits l [{type: Container, max: {storage: 1}}]"},
			`LimitRange "l" is invalid: [spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers, ` +
				`spec.limits[0].default[storage]: Invalid value: "storage": must be a standard resource for containers, ` +
				`spec.limits[0].defaultRequest[storage]: Invalid value: "storage": must be a standard resource for containers]`, ""},
		{"QUO-005", "a ratio above max/min", []string{"limits l [{type: Pod, min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 3}}]"},
			`LimitRange "l" is invalid: spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000`, ""},
		{"QUO-005", "min above max", []string{"limits l [{type: PersistentVolumeClaim, min: {storage: 2Gi}, max: {storage: 1Gi}}]"},
			`LimitRange "l" is invalid: spec.limits[0].min[storage]: Invalid value: "2Gi": min value 2Gi is greater than max value 1Gi`, ""},
		{"QUO-010", "claims, their size, and those of a class",
			[]string{"quota q {persistentvolumeclaims: 3, requests.storage: 10Gi, gold.storageclass.storage.k8s.io/requests.storage: 5Gi}", "claim a 6Gi", "claim b 1Gi gold"}, "",
			"gold.storageclass.storage.k8s.io/requests.storage 1Gi/5Gi, persistentvolumeclaims 2/3, requests.storage 7Gi/10Gi"},
		{"QUO-011", "an allocated expansion counts", []string{"quota q {requests.storage: 10Gi}", "claim a 1Gi", "allocate a 3Gi"}, "", "requests.storage 3Gi/10Gi"},
		{"QUO-012", "requests and limits of pods",
			[]string{"quota q {pods: 2, requests.cpu: 2, limits.memory: 1Gi}", "pod p {requests: {cpu: 500m}, limits: {memory: 64Mi}}"}, "",
			"limits.memory 64Mi/1Gi, pods 1/2, requests.cpu 500m/2"},
		{"QUO-012", "a pod that has ended is an object, and uses nothing else", []string{"quota q {pods: 2, count/pods: 2}", "pod p {}", "end p"}, "", "count/pods 1/2, pods 0/2"},
		{"QUO-012", "a pod that should be gone is an object, and uses nothing else", []string{"quota q {pods: 2, count/pods: 2}", "pod p {}", "kill p"}, "", "count/pods 1/2, pods 0/2"},
		{"QUO-013", "objects of any kind", []string{"config x", "quota q {configmaps: 3, count/configmaps: 3, count/deployments.apps: 1}", "config z"}, "",
			"configmaps 2/3, count/configmaps 2/3, count/deployments.apps 0/1"},
		{"QUO-013", "what no object uses", []string{"quota q {services.nodeports: 2, services.loadbalancers: 1, requests.nvidia.com/gpu: 4, hugepages-2Mi: 4Mi}"}, "",
			"hugepages-2Mi 0/4Mi, requests.nvidia.com/gpu 0/4, services.loadbalancers 0/1, services.nodeports 0/2"},
		{"QUO-013", "extended resources and huge pages", []string{"quota q {requests.nvidia.com/gpu: 4, requests.hugepages-2Mi: 4Mi}",
			"pod p {requests: {nvidia.com/gpu: 1, hugepages-2Mi: 2Mi, cpu: 1, memory: 1Gi}, limits: {nvidia.com/gpu: 1, hugepages-2Mi: 2Mi}}"}, "",
			"requests.hugepages-2Mi 2Mi/4Mi, requests.nvidia.com/gpu 1/4"},
		{"QUO-013", "a load balancer and its ports", []string{"quota q {services.nodeports: 5, services.loadbalancers: 2}", "service a LoadBalancer", "service b NodePort", "service c ClusterIP"}, "",
			"services.loadbalancers 1/2, services.nodeports 2/5"},
		{"QUO-014", "only pods in the scope", []string{"scoped q [BestEffort] {pods: 5}", "pod p {requests: {cpu: 1}}", "pod o {}"}, "", "pods 1/5"},
		{"QUO-015", "a pod that grows uses what it was allocated", []string{"quota q {requests.cpu: 5, limits.cpu: 5}", "pod p {requests: {cpu: 1}, limits: {cpu: 2}}",
			"resize p {containerStatuses: [{name: c, image: i, imageID: x}]}",
			"resize p {containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 2}, limits: {cpu: 3}}, allocatedResources: {cpu: 4}}]}"}, "",
			"limits.cpu 3/5, requests.cpu 4/5"},
		{"QUO-015", "a pod that shrinks uses what it has", []string{"quota q {requests.cpu: 5}", "pod p {requests: {cpu: 2}}",
			"resize p {containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 3}}}]}",
			"resize p {containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 1}}}]}"}, "", "requests.cpu 2/5"},
		{"QUO-015", "a pod that cannot grow uses what it has", []string{"quota q {requests.cpu: 5, limits.cpu: 5}", "pod p {requests: {cpu: 4}, limits: {cpu: 4}}",
			"resize p {containerStatuses: [{name: c, image: i, imageID: x}]}",
			"resize p {conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}], " +
				"containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 1}, limits: {cpu: 2}}, allocatedResources: {cpu: 1}}]}"}, "",
			"limits.cpu 2/5, requests.cpu 1/5"},
		{"QUO-020", "the last one that fits", []string{"quota q {persistentvolumeclaims: 1}", "claim a 1Gi"}, "", "persistentvolumeclaims 1/1"},
		{"QUO-020", "one too many", []string{"quota q {persistentvolumeclaims: 1, requests.storage: 8Gi}", "claim a 6Gi", "claim b 3Gi"},
			`persistentvolumeclaims "b" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1,requests.storage=3Gi, ` +
				`used: persistentvolumeclaims=1,requests.storage=6Gi, limited: persistentvolumeclaims=1,requests.storage=8Gi`, "persistentvolumeclaims 1/1, requests.storage 6Gi/8Gi"},
		{"QUO-021", "a container without a limit", []string{"quota q {limits.cpu: 1, requests.memory: 1Gi}", "pod p {}"},
			`pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c`, ""},
		{"QUO-022", "a new quota counts nothing yet", []string{"!quota q {persistentvolumeclaims: 0}", "claim a 1Gi"}, "", "persistentvolumeclaims 1/0"},
		{"QUO-024", "objects in a row, before the controller runs", []string{"quota q {persistentvolumeclaims: 1}", "!claim a 1Gi", "!claim b 1Gi"},
			`persistentvolumeclaims "b" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1`, ""},
		{"QUO-025", "a dry run", []string{"quota q {persistentvolumeclaims: 1}", "dry claim a 1Gi"}, "", "persistentvolumeclaims 0/1"},
		{"QUO-026", "an object whose name is taken is charged", []string{"quota q {configmaps: 3}", "config x", "!config x"}, `configmaps "x" already exists`, "configmaps 2/3"},
		{"QUO-030", "what existed before is counted, even above the limit", []string{"claim a 6Gi", "quota q {requests.storage: 1Gi}"}, "", "requests.storage 6Gi/1Gi"},
		{"QUO-032", "a pod that gets a deadline", []string{"scoped q [NotTerminating] {pods: 2}", "pod p {}", "deadline p"}, "", "pods 0/2"},
		{"QUO-032", "a Service without node ports any more", []string{"quota q {services.nodeports: 2}", "service s NodePort", "retype s ClusterIP"}, "", "services.nodeports 0/2"},
		{"QUO-032", "a deleted claim", []string{"quota q {persistentvolumeclaims: 3}", "claim a 1Gi", "claim b 1Gi", "delete a"}, "", "persistentvolumeclaims 1/3"},
		{"QUO-040", "default requests of containers", []string{"limits l [{type: Container, defaultRequest: {memory: 1Mi}}]", "quota q {requests.memory: 1Gi}", "pod p {}"}, "",
			"requests.memory 1Mi/1Gi"},
		{"QUO-041", "a small claim", []string{"limits l [{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 3Gi}}]", "claim tiny 500Mi"},
			`persistentvolumeclaims "tiny" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi`, ""},
		{"QUO-041", "a large claim", []string{"limits l [{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 3Gi}}]", "claim huge 4Gi"},
			`persistentvolumeclaims "huge" is forbidden: maximum storage usage per PersistentVolumeClaim is 3Gi, but request is 4Gi`, ""},
		{"QUO-042", "a large container", []string{"limits l [{type: Container, max: {cpu: 1}}]", "pod p {limits: {cpu: 2}}"},
			`pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 2`, ""},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			f := newFixture(t)
			for i, line := range tt.lines {
				line, now := strings.CutPrefix(line, "!")
				err := f.do(line)
				if i < len(tt.lines)-1 || tt.err == "" {
					require.NoError(t, err, line)
				} else {
					require.EqualError(t, err, tt.err)
				}
				if !now {
					f.Advance(time.Second)
				}
			}
			if tt.used != "" {
				require.Equal(t, tt.used, f.used())
			}
		})
	}
}

// TestUpdates has rules about quotas and LimitRanges that need more than one cluster state.
func TestUpdates(t *testing.T) {
	t.Run("QUO-003 scopes are immutable", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {pods: 1}"))
		_, err := f.Store().Patch(store.QuotaKind, "default/q", []byte(`{"spec":{"scopes":["BestEffort"]}}`), api.Main)
		require.ErrorContains(t, err, "spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable")
	})
	t.Run("QUO-023 growth is charged with the difference, and rejected above the limit", func(t *testing.T) {
		f := newFixture(t)
		f.Create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: "p", AllowVolumeExpansion: new(true)})
		f.OK(f.do("claim a 1Gi gold"))
		f.OK(f.do("quota q {requests.storage: 3Gi}"))
		f.PatchStatus(api.PersistentVolumeClaim, "default/a", `{"status":{"phase":"Bound"}}`)
		f.Patch(api.PersistentVolumeClaim, "default/a", `{"spec":{"volumeName":"v"}}`)
		f.Advance(time.Second)
		f.OK(f.do("grow a 3Gi"))
		require.Equal(t, "requests.storage 3Gi/3Gi", f.used())
		require.EqualError(t, f.do("grow a 4Gi"), `persistentvolumeclaims "a" is forbidden: exceeded quota: q, requested: requests.storage=1Gi, `+
			`used: requests.storage=3Gi, limited: requests.storage=3Gi`)
	})
	t.Run("QUO-024 a charged quota keeps its kind", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {persistentvolumeclaims: 3}"))
		f.Advance(time.Second)
		f.OK(f.do("claim a 1Gi"))
		q := f.Store().List(store.QuotaKind)[0]
		require.Equal(t, corev1.SchemeGroupVersion.WithKind("ResourceQuota"), q.GetObjectKind().GroupVersionKind())
	})
	t.Run("QUO-031 a new limit", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {persistentvolumeclaims: 1}"))
		f.Advance(time.Second)
		f.Patch(store.QuotaKind, "default/q", `{"spec":{"hard":{"persistentvolumeclaims":"5"}}}`)
		f.Advance(time.Second)
		require.Equal(t, "persistentvolumeclaims 0/5", f.used())
	})
	t.Run("QUO-033 a usage that was charged for nothing is corrected at the next resync", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {configmaps: 3}"))
		f.OK(f.do("config x"))
		f.Advance(time.Second)
		require.Error(t, f.do("config x"))
		f.Advance(time.Second)
		require.Equal(t, "configmaps 2/3", f.used())
		f.Advance(5 * time.Minute)
		require.Equal(t, "configmaps 1/3", f.used())
	})
	t.Run("QUO-033 a pod that had ended and runs again is counted at the next resync", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {pods: 3}"))
		f.OK(f.do("pod p {}"))
		f.OK(f.do("end p"))
		f.Advance(5 * time.Minute)
		f.PatchStatus(api.Pod, "default/p", `{"status":{"phase":"Running"}}`)
		f.Advance(time.Second)
		require.Equal(t, "pods 0/3", f.used())
		f.Advance(5 * time.Minute)
		require.Equal(t, "pods 1/3", f.used())
	})
	t.Run("QUO-032 what is allocated is counted at the next resync, if nothing else changes", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {requests.cpu: 5}"))
		f.Advance(time.Second)
		f.OK(f.do("pod p {requests: {cpu: 1}}"))
		f.OK(f.do("resize p {containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 1}}}]}"))
		f.Advance(6 * time.Minute)
		f.OK(f.do("resize p {containerStatuses: [{name: c, image: i, imageID: x, resources: {requests: {cpu: 1}}, allocatedResources: {cpu: 3}}]}"))
		f.Advance(time.Second)
		require.Equal(t, "requests.cpu 1/5", f.used())
		f.Advance(5 * time.Minute)
		require.Equal(t, "requests.cpu 3/5", f.used())
	})
	t.Run("QUO-034 usage that nothing counts stays", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("quota q {example.com/gpu: 3}"))
		f.Advance(time.Second)
		f.PatchStatus(store.QuotaKind, "default/q", `{"status":{"used":{"example.com/gpu":"2"}}}`)
		f.Patch(store.QuotaKind, "default/q", `{"spec":{"hard":{"pods":"1"}}}`)
		f.Advance(time.Second)
		require.Equal(t, "example.com/gpu 2/3, pods 0/1", f.used())
	})
	t.Run("QUO-043 a claim that is being deleted may be outside of the limits", func(t *testing.T) {
		f := newFixture(t)
		f.OK(f.do("claim a 1Gi"))
		f.OK(f.do("limits l [{type: PersistentVolumeClaim, min: {storage: 2Gi}}]"))
		label := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
		_, err := f.Store().Patch(api.PersistentVolumeClaim, "default/a", label, api.Main)
		require.ErrorContains(t, err, "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi")
		f.Delete(api.PersistentVolumeClaim, "default/a")
		f.Patch(api.PersistentVolumeClaim, "default/a", string(label))
	})
}
