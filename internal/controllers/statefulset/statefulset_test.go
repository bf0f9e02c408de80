package statefulset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/statefulset"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

type fixture struct{ *rig.Rig }

func newFixture(t *testing.T) fixture { return newFixtureWith(t, engine.Config{}) }

func newFixtureWith(t *testing.T, cfg engine.Config) fixture {
	f := fixture{rig.New(t, cfg)}
	sets, err := f.Store().Other(statefulset.Kind)
	f.OK(err)
	_, err = statefulset.New(f.Engine, sets)
	f.OK(err)
	return f
}

// newSet is set default/db with a claim per pod.
func newSet(replicas int32, edits ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db",
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
		},
	}
	for _, edit := range edits {
		edit(set)
	}
	return set
}

func parallel(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

func retention(whenDeleted, whenScaled appsv1.PersistentVolumeClaimRetentionPolicyType) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: whenDeleted, WhenScaled: whenScaled}
	}
}

// set returns the stored set.
func (f fixture) set() *appsv1.StatefulSet {
	f.T.Helper()
	obj, err := f.Store().Get(statefulset.Kind, "default/db")
	f.OK(err)
	set, err := plain.As[*appsv1.StatefulSet](obj)
	f.OK(err)
	return set
}

// patch changes the spec of the set.
func (f fixture) patch(spec string) {
	f.T.Helper()
	_, err := f.Store().Patch(statefulset.Kind, "default/db", []byte(`{"spec":`+spec+`}`), api.Main)
	f.OK(err)
}

// run makes pods ready, in place of scheduler and kubelet.
func (f fixture) run(names ...string) {
	f.T.Helper()
	for _, name := range names {
		pod, err := f.Store().Pods.Get("default/" + name)
		f.OK(err)
		c := pod.DeepCopy()
		c.Status.Phase = corev1.PodRunning
		c.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(f.Now())}}
		_, err = f.Store().Pods.UpdateStatus(c)
		f.OK(err)
	}
	f.Advance(time.Second)
}

// pods names the pods, with their images if they differ from the first one, and marks those that are being deleted.
func (f fixture) pods() string {
	var names []string
	for _, pod := range f.Store().Pods.List() {
		name := pod.Name
		if image := pod.Spec.Containers[0].Image; image != "i:1" {
			name += " " + image
		}
		if pod.DeletionTimestamp != nil {
			name += " ends"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (f fixture) want(rule, what, got, want string) {
	f.T.Helper()
	if got != want {
		f.T.Errorf("%s: %s = %q, want %q", rule, what, got, want)
	}
}

// events lists the reasons and messages of the Events.
func (f fixture) events() []string {
	var list []string
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted {
			list = append(list, e.Reason+": "+e.Text)
		}
	}
	return list
}

func (f fixture) owners(claim string) string {
	f.T.Helper()
	c, err := f.Store().Claims.Get("default/" + claim)
	f.OK(err)
	var kinds []string
	for _, ref := range c.OwnerReferences {
		kinds = append(kinds, ref.Kind+" "+ref.Name)
	}
	return strings.Join(kinds, ", ")
}

// STS-020, STS-021, STS-027: pods are created one after the other and deleted in the opposite order.
func TestOrderedReady(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(3))
	f.Advance(time.Second)
	f.want("STS-020", "pods", f.pods(), "db-0")
	f.run("db-0")
	f.want("STS-020", "pods", f.pods(), "db-0, db-1")
	f.run("db-1")
	f.run("db-2")
	f.want("STS-020", "pods", f.pods(), "db-0, db-1, db-2")
	st := f.set().Status
	f.want("STS-050", "status", fmt.Sprint(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas,
		st.ObservedGeneration, st.CurrentRevision == st.UpdateRevision), "3 3 3 3 3 1 true")
	f.want("STS-051", "Events", fmt.Sprint(f.events()[:2]), "[SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success "+
		"SuccessfulCreate: Create Pod db-0 in StatefulSet db successful]")
	pod := f.Store().Pods.List()[1]
	f.want("STS-001, STS-004", "identity", fmt.Sprint(pod.Spec.Hostname, " ", pod.Spec.Subdomain, " ", pod.Labels["apps.kubernetes.io/pod-index"],
		" ", pod.Labels["statefulset.kubernetes.io/pod-name"], " ", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName), "db-1 db 1 db-1 data-db-1")
	claim, err := f.Store().Claims.Get("default/data-db-1")
	f.OK(err)
	f.want("STS-003", "labels of a claim", fmt.Sprint(claim.Labels), "map[app:db]")
	f.patch(`{"replicas":1}`)
	f.Advance(time.Second)
	f.want("STS-027", "pods", f.pods(), "db-0")
	f.want("STS-051", "last Event", f.events()[len(f.events())-1], "SuccessfulDelete: Delete Pod db-1 in StatefulSet db successful")
}

// STS-022: a pod that is being deleted keeps its name, and its successor waits, forever on a dead node.
func TestTerminatingPodBlocks(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(2))
	f.Advance(time.Second)
	f.run("db-0")
	f.run("db-1")
	pod, err := f.Store().Pods.Get("default/db-0")
	f.OK(err)
	c := pod.DeepCopy()
	c.Spec.NodeName = "n1"
	f.Load(c)
	f.Delete(api.Pod, "default/db-0")
	f.Advance(time.Hour)
	f.want("STS-022", "pods", f.pods(), "db-0 ends, db-1")
	_, err = f.Store().Pods.Delete("default/db-0", api.DeleteOptions{GracePeriodSeconds: new(int64)})
	f.OK(err)
	f.Advance(time.Second)
	f.want("STS-022", "pods after the pod is gone", f.pods(), "db-0, db-1")
}

// STS-020, STS-002: in parallel no pod waits for another; ordinals may begin later.
func TestParallel(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(3, parallel, func(set *appsv1.StatefulSet) { set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2} }))
	f.Advance(time.Second)
	f.want("STS-002", "pods", f.pods(), "db-2, db-3, db-4")
	f.patch(`{"replicas":0}`)
	f.Advance(time.Second)
	f.want("STS-027", "pods", f.pods(), "")
}

// STS-030, STS-031, STS-033: the policy decides who owns the claims.
func TestRetention(t *testing.T) {
	const remove, retain = appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	for _, tt := range []struct {
		whenDeleted, whenScaled appsv1.PersistentVolumeClaimRetentionPolicyType
		running, surplus        string // owners of data-db-1
	}{
		{retain, retain, "", ""},
		{remove, retain, "StatefulSet db", "StatefulSet db"},
		{retain, remove, "", "Pod db-1"},
		{remove, remove, "StatefulSet db", "Pod db-1"},
	} {
		f := newFixture(t)
		f.Create(newSet(2, retention(tt.whenDeleted, tt.whenScaled)))
		f.Advance(time.Second)
		f.run("db-0")
		f.run("db-1")
		f.want("STS-030", fmt.Sprint("owners with ", tt.whenDeleted, tt.whenScaled), f.owners("data-db-1"), tt.running)
		f.patch(`{"replicas":1}`)
		f.Advance(time.Second)
		f.want("STS-031", fmt.Sprint("owners of a surplus claim with ", tt.whenDeleted, tt.whenScaled), f.owners("data-db-1"), tt.surplus)
		f.patch(`{"replicas":2}`)
		f.Advance(time.Second)
		want := "db-0, db-1"
		if tt.whenScaled == remove {
			want = "db-0" // STS-033: the claim of the earlier pod must go first
		}
		f.want("STS-033", "pods", f.pods(), want)
	}
}

// STS-032, STS-034: a claim that something else controls is left alone.
func TestConflictingController(t *testing.T) {
	f := newFixture(t)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-db-0", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "o", Controller: new(true)}}}, Spec: newSet(1).Spec.VolumeClaimTemplates[0].Spec}
	f.Load(claim)
	f.Create(newSet(1, retention(appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)))
	f.Advance(time.Second)
	f.want("STS-034", "owners", f.owners("data-db-0"), "ConfigMap other")
	if !strings.HasPrefix(f.events()[0], "ConflictingController: PersistentVolumeClaim data-db-0 has a conflicting OwnerReference") {
		t.Errorf("STS-034: Events: %v", f.events())
	}
}

// STS-040 to STS-045: a rolling update goes from the last pod to the partition.
func TestRollingUpdate(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(3))
	f.Advance(time.Second)
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		f.run(name)
	}
	f.patch(`{"updateStrategy":{"rollingUpdate":{"partition":1}},"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}`)
	f.Advance(time.Second)
	f.want("STS-040", "pods", f.pods(), "db-0, db-1, db-2 i:2")
	f.run("db-2")
	f.want("STS-040", "pods", f.pods(), "db-0, db-1 i:2, db-2 i:2")
	f.run("db-1")
	f.want("STS-040", "pods at the partition", f.pods(), "db-0, db-1 i:2, db-2 i:2")
	f.Delete(api.Pod, "default/db-0")
	f.Advance(time.Second)
	f.want("STS-043", "a pod below the partition", f.pods(), "db-0, db-1 i:2, db-2 i:2")
	f.run("db-0")
	if st := f.set().Status; st.CurrentRevision == st.UpdateRevision || st.UpdatedReplicas != 2 {
		t.Errorf("STS-045: the update is complete before the partition is zero: %+v", st)
	}
	f.patch(`{"updateStrategy":{"rollingUpdate":{"partition":0}}}`)
	f.Advance(time.Second)
	f.run("db-0")
	if st := f.set().Status; st.CurrentRevision != st.UpdateRevision || st.UpdatedReplicas != 3 {
		t.Errorf("STS-045: the update is not complete: %+v", st)
	}
	// STS-041: a rollback uses the first revision again.
	first := f.set().Status.CurrentRevision
	f.patch(`{"template":{"spec":{"containers":[{"name":"c","image":"i:1"}]}}}`)
	f.Advance(time.Second)
	if n := len(f.Store().List("ControllerRevision.apps")); n != 2 || f.set().Status.UpdateRevision == first {
		t.Errorf("STS-041: %d revisions, update revision %s after %s", n, f.set().Status.UpdateRevision, first)
	}
}

// STS-044, STS-042: with OnDelete nothing happens until a pod is deleted; unused revisions are deleted.
func TestOnDelete(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1, func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.Type, set.Spec.RevisionHistoryLimit = appsv1.OnDeleteStatefulSetStrategyType, new(int32)
	}))
	f.Advance(time.Second)
	f.run("db-0")
	f.patch(`{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}`)
	f.Advance(time.Second)
	f.want("STS-044", "pods", f.pods(), "db-0")
	f.Delete(api.Pod, "default/db-0")
	f.Advance(time.Second)
	f.want("STS-044", "pods", f.pods(), "db-0 i:2")
}

// A pod that a sync adopts is updated with the version that the cache had before.
func TestAdoptedPod(t *testing.T) {
	f := newFixtureWith(t, engine.Config{Latency: 10 * time.Millisecond})
	f.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
	})
	f.Create(newSet(1, parallel, func(set *appsv1.StatefulSet) { set.Spec.VolumeClaimTemplates = nil }))
	f.Advance(time.Second)
	f.Want("WORK-014, STS-025", f.Lines(func(e trace.Entry) string {
		if e.Type != trace.Write || e.Object.Kind != api.Pod || e.Actor == api.User || e.Verb == "delete" || e.Verb == "create" {
			return ""
		}
		return fmt.Sprint(e.Time.Sub(engine.DefaultStart), " ", e.Verb, " conflict: ", apierrors.IsConflict(e.Err))
	}), "20ms patch conflict: false", "40ms update conflict: true", "60ms update conflict: false")
}

// STS-023 to STS-026: pods that ended are replaced, missing claims are made again, a deleted set only has a status.
func TestRepairs(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1))
	f.Advance(time.Second)
	f.Delete(api.PersistentVolumeClaim, "default/data-db-0")
	claim, err := f.Store().Claims.Get("default/data-db-0")
	if err == nil {
		c := *claim
		c.Finalizers = nil
		_, err = f.Store().Claims.Update(&c)
		f.OK(err)
	}
	_, err = f.Store().Pods.Patch("default/db-0", []byte(`{"metadata":{"labels":{"x":"y"}}}`), api.Main)
	f.OK(err)
	f.Advance(time.Second)
	if _, err := f.Store().Claims.Get("default/data-db-0"); err != nil {
		t.Errorf("STS-024: %v", err)
	}
	f.run("db-0")
	_, err = f.Store().Pods.Patch("default/db-0", []byte(`{"metadata":{"labels":{"statefulset.kubernetes.io/pod-name":"z"}}}`), api.Main)
	f.OK(err)
	f.Advance(time.Second)
	pod := f.Store().Pods.List()[0]
	f.want("STS-025", "label", pod.Labels["statefulset.kubernetes.io/pod-name"], "db-0")
	c := pod.DeepCopy()
	c.Status.Phase = corev1.PodFailed
	_, err = f.Store().Pods.UpdateStatus(c)
	f.OK(err)
	f.Advance(time.Second)
	if now := f.Store().Pods.List()[0]; now.UID == pod.UID || now.Status.Phase != corev1.PodPending {
		t.Errorf("STS-023: pod %s is %s", now.Name, now.Status.Phase)
	}
	_, err = f.Store().Patch(statefulset.Kind, "default/db", []byte(`{"metadata":{"finalizers":["example.com/x"]}}`), api.Main)
	f.OK(err)
	f.Delete(statefulset.Kind, "default/db")
	f.Delete(api.Pod, "default/db-0")
	f.Advance(time.Second)
	f.want("STS-026", "pods", f.pods(), "")
}

// STS-010, STS-011, STS-012, STS-050: adoption, own writes that the informers lack, and minReadySeconds.
func TestAdoptionAndAvailability(t *testing.T) {
	f := newFixture(t)
	set := newSet(1, func(set *appsv1.StatefulSet) { set.Spec.MinReadySeconds = 30 })
	// WORK-002: without an answer nothing is adopted; it is retried.
	f.Faults.Fail(fake.Match{Verb: "get", Kind: "StatefulSet.apps"}, errors.New("broken")).Times(1)
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-0", Labels: map[string]string{"app": "db"}}, Spec: set.Spec.Template.Spec}
	f.Create(orphan, set)
	f.Advance(time.Second)
	if ref := metav1.GetControllerOf(f.Store().Pods.List()[0]); ref == nil || ref.Name != "db" {
		t.Fatalf("STS-011, WORK-001: the controller of the pod is %v", ref)
	}
	f.run("db-0")
	f.want("STS-050", "available before", fmt.Sprint(f.set().Status.AvailableReplicas), "0")
	f.Advance(30 * time.Second)
	f.want("STS-050, WORK-004", "available after", fmt.Sprint(f.set().Status.AvailableReplicas), "1")
	_, err := f.Store().Pods.Patch("default/db-0", []byte(`{"metadata":{"labels":{"app":"x"}}}`), api.Main)
	f.OK(err)
	f.Advance(time.Second)
	if ref := metav1.GetControllerOf(f.Store().Pods.List()[0]); ref != nil {
		t.Errorf("WORK-001: the controller of a pod that the selector does not match is %v", ref)
	}
}

// TestStatusConflict checks how often, and when, the status is written after conflicts.
func TestStatusConflict(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		conflicts  int
		want       string
	}{
		{"STS-052", "each attempt comes 10 ms after the last", 3, "0s 10ms 20ms 30ms"},
		{"STS-052", "after five attempts the key is retried", 5, "0s 10ms 20ms 30ms 40ms 45ms"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			var f fixture
			var began time.Time
			var attempts []string
			f = newFixtureWith(t, engine.Config{Injector: engine.InjectorFunc(func(call api.Call) api.Fault {
				if call.Verb != "update-status" {
					return api.Fault{}
				}
				if attempts == nil {
					began = f.Now()
				}
				if attempts = append(attempts, f.Now().Sub(began).String()); len(attempts) > tt.conflicts {
					return api.Fault{}
				}
				return api.Fault{Err: apierrors.NewConflict(schema.GroupResource{Resource: "statefulsets"}, "db", errors.New("another client was faster"))}
			})})
			_, err := f.Store().Create(newSet(0))
			f.OK(err)
			f.Advance(time.Second)
			f.want(tt.rule, tt.name, strings.Join(attempts, " "), tt.want)
		})
	}
}

// STS-060 to STS-062, WORK-020, WORK-021: defaults and validation.
func TestValidation(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1))
	spec := f.set().Spec
	f.want("STS-060, WORK-020", "defaults", fmt.Sprint(spec.PodManagementPolicy, spec.UpdateStrategy.Type, *spec.UpdateStrategy.RollingUpdate.Partition,
		*spec.RevisionHistoryLimit, spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, spec.Template.Spec.RestartPolicy), "OrderedReadyRollingUpdate0 10RetainAlways")
	f.patch(`{"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}}`)
	if r := f.set().Spec.UpdateStrategy.RollingUpdate; r.MaxUnavailable != nil {
		t.Errorf("STS-046: maxUnavailable is stored")
	}
	_, err := f.Store().Patch(statefulset.Kind, "default/db", []byte(`{"spec":{"serviceName":"other"}}`), api.Main)
	if err == nil || !strings.Contains(err.Error(), "updates to statefulset spec for fields other than") {
		t.Errorf("STS-062: %v", err)
	}
	for _, tt := range []struct {
		rule string
		edit func(*appsv1.StatefulSet)
		want string
	}{
		{"WORK-021", func(s *appsv1.StatefulSet) { s.Spec.Selector = nil }, "spec.selector: Required value"},
		{"WORK-021", func(s *appsv1.StatefulSet) { s.Spec.Template.Labels = nil }, "`selector` does not match template `labels`"},
		{"STS-061", func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(-1)) }, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"STS-061", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever }, "spec.template.spec.restartPolicy: Unsupported value"},
		{"STS-061", func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "a b" }, `spec.serviceName: Invalid value: "a b"`},
		{"STS-061", func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		}, "spec.volumeClaimTemplates[0].spec.accessModes: Required value"},
		{"STS-061", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = "x" }, "must be 'RollingUpdate' or 'OnDelete'"},
	} {
		set := newSet(1, tt.edit)
		set.Name = "bad"
		if _, err := f.Store().Create(set); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.rule, err, tt.want)
		}
	}
}

// TestRepeatedFailure checks that Settle does not wait for a set whose sync fails with the same error again and again.
func TestRepeatedFailure(t *testing.T) {
	f := newFixture(t)
	f.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}})
	f.PatchStatus("ResourceQuota", "default/q", `{"status":{"hard":{"persistentvolumeclaims":"0"},"used":{"persistentvolumeclaims":"0"}}}`)
	f.Create(newSet(1))
	began := f.Now()
	f.OK(f.Settle(time.Hour))
	if took := f.Now().Sub(began); took > 100*time.Millisecond {
		t.Errorf("Settle waited %v", took)
	}
	events := f.events()
	f.want("STS-051", "the first Event", events[0], `FailedCreate: Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: persistentvolumeclaims "data-db-0" `+
		`is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0`)
}
