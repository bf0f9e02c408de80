package deployment_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/deployment"
	"github.com/volsim/volsim/internal/controllers/replicaset"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture has the controllers of Deployments and ReplicaSets. Tests decide which pods become ready.
type fixture struct{ *rig.Rig }

func newFixture(t *testing.T) fixture {
	f := fixture{rig.New(t, engine.Config{})}
	deployments, err := f.Store().Other(deployment.Kind)
	f.OK(err)
	_, err = deployment.New(f.Engine, deployments)
	f.OK(err)
	sets, err := f.Store().Other(replicaset.Kind)
	f.OK(err)
	_, err = replicaset.New(f.Engine, sets)
	f.OK(err)
	return f
}

// newDeployment is deployment default/web.
func newDeployment(replicas int32, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
			},
		},
	}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func rolling(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
		}}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
}

func (f fixture) deployment() *appsv1.Deployment {
	f.T.Helper()
	obj, err := f.Store().Get(deployment.Kind, "default/web")
	f.OK(err)
	d, err := plain.As[*appsv1.Deployment](obj)
	f.OK(err)
	return d
}

// sets returns the ReplicaSets by revision.
func (f fixture) sets() []*appsv1.ReplicaSet {
	f.T.Helper()
	var list []*appsv1.ReplicaSet
	for _, obj := range f.Store().List(replicaset.Kind) {
		set, err := plain.As[*appsv1.ReplicaSet](obj)
		f.OK(err)
		list = append(list, set)
	}
	slices.SortFunc(list, func(a, b *appsv1.ReplicaSet) int { return strings.Compare(revision(a), revision(b)) })
	return list
}

func revision(set *appsv1.ReplicaSet) string {
	return set.Annotations["deployment.kubernetes.io/revision"]
}

// sizes lists revision, replicas and pods of each set.
func (f fixture) sizes() string {
	var list []string
	for _, set := range f.sets() {
		list = append(list, fmt.Sprintf("%s:%d/%d", revision(set), *set.Spec.Replicas, set.Status.Replicas))
	}
	return strings.Join(list, " ")
}

func (f fixture) counts() string {
	st := f.deployment().Status
	return fmt.Sprint(st.Replicas, st.UpdatedReplicas, st.ReadyReplicas, st.AvailableReplicas, st.UnavailableReplicas, *st.TerminatingReplicas)
}

// reasons lists the conditions with their reasons.
func (f fixture) reasons() string {
	var list []string
	for _, c := range f.deployment().Status.Conditions {
		list = append(list, fmt.Sprintf("%s=%s:%s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (f fixture) patch(patch string) {
	f.T.Helper()
	f.Patch(deployment.Kind, "default/web", patch)
	f.Advance(time.Second)
}

// image changes the template.
func (f fixture) image(image string) {
	f.T.Helper()
	f.patch(fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":%q}]}}}}`, image))
}

// ready makes n pods ready that are not, of any set or of those with the image.
func (f fixture) ready(n int, image string) {
	f.T.Helper()
	for _, pod := range f.Store().Pods.List() {
		if n == 0 || pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil || image != "" && pod.Spec.Containers[0].Image != image {
			continue
		}
		c := pod.DeepCopy()
		c.Spec.NodeName, c.Status.Phase = "n1", corev1.PodRunning
		c.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(f.Now())}}
		f.Load(c)
		n--
	}
	f.Advance(time.Second)
}

// purge removes the pods that are being deleted, as a kubelet does.
func (f fixture) purge() {
	f.T.Helper()
	for _, pod := range f.Store().Pods.List() {
		if pod.DeletionTimestamp != nil {
			f.DeleteNow(api.Pod, api.KeyOf(pod))
		}
	}
	f.Advance(time.Second)
}

func (f fixture) events() []string {
	var list []string
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted && e.Object.Kind == deployment.Kind {
			list = append(list, e.Reason+": "+e.Text)
		}
	}
	return list
}

func (f fixture) want(rule, what, got, want string) {
	f.T.Helper()
	if got != want {
		f.T.Errorf("%s: %s = %q, want %q", rule, what, got, want)
	}
}

// The hash is that of a real cluster, whose Deployment is in testdata of predict.
func TestHash(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1, func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"note": "x", corev1.LastAppliedConfigAnnotation: "{}"}
		d.Spec.Template.Spec = corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "c", Image: "web", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/d"}}}},
			NodeSelector: map[string]string{"kubernetes.io/hostname": "n1"}, TerminationGracePeriodSeconds: new(int64(2)),
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		}
	}))
	f.Advance(time.Second)
	set := f.sets()[0]
	f.want("DEP-003", "name", set.Name, "web-5996f57478")
	f.want("DEP-003", "labels", fmt.Sprint(set.Labels, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels),
		"map[app:web pod-template-hash:5996f57478] map[app:web pod-template-hash:5996f57478] map[app:web pod-template-hash:5996f57478]")
	f.want("DEP-004", "annotations", fmt.Sprint(set.Annotations),
		"map[deployment.kubernetes.io/desired-replicas:1 deployment.kubernetes.io/max-replicas:2 deployment.kubernetes.io/revision:1 note:x]")
	f.want("DEP-005", "revision", f.deployment().Annotations["deployment.kubernetes.io/revision"], "1")
	f.want("DEP-075", "Events", strings.Join(f.events(), "; "), "ScalingReplicaSet: Scaled up replica set web-5996f57478 from 0 to 1")
}

// DEP-030 to DEP-032: the steps of a rolling update.
func TestRollingUpdate(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(4))
	f.Advance(time.Second)
	f.want("DEP-070", "status", f.counts(), "4 4 0 0 4 0")
	f.want("DEP-071", "conditions", f.reasons(), "Available=False:MinimumReplicasUnavailable Progressing=True:ReplicaSetUpdated")
	f.ready(4, "")
	f.want("DEP-070", "status", f.counts(), "4 4 4 4 0 0")
	f.want("DEP-072", "conditions", f.reasons(), "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable")

	f.image("i:2")
	f.want("DEP-032", "one pod more and one less", f.sizes(), "1:3/3 2:2/2")
	f.want("DEP-070", "status", f.counts(), "5 2 3 3 2 1")
	f.purge()
	f.want("DEP-031", "without a new available pod nothing shrinks", f.sizes(), "1:3/3 2:2/2")
	f.ready(1, "i:2")
	f.want("DEP-031", "an available pod replaces one", f.sizes(), "1:2/2 2:3/3")
	f.ready(2, "i:2")
	f.want("DEP-030", "two more", f.sizes(), "1:0/0 2:4/4")
	f.ready(4, "i:2")
	f.want("DEP-072", "conditions", f.reasons(), "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable")
	f.want("DEP-075", "last Event", f.events()[len(f.events())-1], fmt.Sprintf("ScalingReplicaSet: Scaled up replica set %s from 3 to 4", f.sets()[1].Name))

	f.image("i:1")
	f.want("DEP-002", "the earlier set is used again", fmt.Sprint(len(f.sets())), "2")
	newest := f.sets()[1]
	f.want("DEP-005", "its revisions", revision(newest)+" "+newest.Annotations["deployment.kubernetes.io/revision-history"], "3 1")
}

// DEP-031: old pods that are not available are removed first, even if no new pod is available.
func TestUnhealthyFirst(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(4, rolling("0", "1")))
	f.Advance(time.Second)
	f.ready(3, "")
	f.image("i:2")
	f.want("DEP-031", "sizes", f.sizes(), "1:3/3 2:1/1")
	f.ready(1, "i:2")
	f.want("DEP-031", "sizes", f.sizes(), "1:2/2 2:2/2")
}

// DEP-040, DEP-041: Recreate waits until all old pods are gone.
func TestRecreate(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(2, recreate))
	f.Advance(time.Second)
	f.ready(2, "")
	f.image("i:2")
	f.want("DEP-040", "sizes", f.sizes(), "1:0/0")
	f.want("DEP-070", "status", f.counts(), "0 0 0 0 0 2")
	f.Advance(time.Minute)
	f.want("DEP-040", "sizes", f.sizes(), "1:0/0")
	f.Faults.Slow(fake.Match{Actor: "deployment-controller", Verb: "list", Kind: string(replicaset.Kind)}, 10*time.Second).Times(2)
	purged := f.Now()
	f.purge()
	f.Advance(20 * time.Second)
	f.want("DEP-041", "sizes", f.sizes(), "1:0/0 2:2/2")
	var lists []string
	for e := range f.Trace().Entries() {
		if e.Actor == "deployment-controller" && e.Type == trace.Injected {
			lists = append(lists, e.Time.Sub(purged).String())
		}
	}
	f.want("DEP-041", "a list for each pod, one after the other", strings.Join(lists, " "), "0s 10s")
}

// TestRecreateQueues: when the deletion of pods queues their Deployment. The status of the set, whose change would also queue it, cannot be written.
func TestRecreateQueues(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		fails      int // so many of the lists
		want       string
	}{
		{"DEP-041", "the list after the last pod", 1, "1:0/0 2:2/0"},
		{"DEP-041", "a failed list does not queue", 2, "1:0/0"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			f := newFixture(t)
			f.Create(newDeployment(2, recreate))
			f.Advance(time.Second)
			f.ready(2, "")
			f.image("i:2")
			f.Advance(time.Minute)
			f.Faults.Fail(fake.Match{Actor: "deployment-controller", Verb: "list", Kind: string(replicaset.Kind)}, errors.New("no")).Times(tc.fails)
			f.Faults.Fail(fake.Match{Actor: "replicaset-controller", Kind: string(replicaset.Kind)}, errors.New("no")).Times(100)
			f.purge()
			f.Advance(time.Second)
			f.want(tc.rule, "sizes", f.sizes(), tc.want)
		})
	}
}

// DEP-020 to DEP-023: scaling is no rollout.
func TestScale(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(10, rolling("3", "2")))
	f.Advance(time.Second)
	f.patch(`{"spec":{"replicas":8}}`)
	f.want("DEP-021", "a single set", f.sizes(), "1:8/8")
	f.patch(`{"spec":{"replicas":10}}`)
	f.ready(10, "")
	f.image("i:2")
	f.want("DEP-030", "sizes", f.sizes(), "1:8/8 2:5/5")
	f.purge()
	f.patch(`{"spec":{"replicas":15}}`)
	f.want("DEP-023", "shares", f.sizes(), "1:11/11 2:7/7")
	f.patch(`{"spec":{"paused":true,"replicas":5}}`)
	f.want("DEP-023", "shares", f.sizes(), "1:5/5 2:3/3")
	f.patch(`{"spec":{"replicas":0}}`)
	f.want("DEP-023", "shares of nothing", f.sizes(), "1:0/0 2:0/0")
	f.patch(`{"spec":{"replicas":2}}`)
	f.want("DEP-021", "the new set", f.sizes(), "1:0/0 2:2/2")
}

// DEP-022: with all new pods available, an old set that returns is emptied.
func TestSaturated(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	f.ready(1, "")
	f.patch(`{"spec":{"paused":true}}`)
	old := f.sets()[0].DeepCopy()
	old.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "web-old", Labels: map[string]string{"app": "web", "pod-template-hash": "old"}}
	old.Spec.Selector.MatchLabels, old.Spec.Template.Labels = old.Labels, old.Labels
	old.Spec.Template.Spec.Containers[0].Image, old.Spec.Replicas = "i:0", new(int32(2))
	f.Create(old)
	f.Advance(time.Second)
	f.want("DEP-022", "sizes", f.sizes(), ":0/0 1:1/1")
	f.want("DEP-001", "owner", f.sets()[0].OwnerReferences[0].Name, "web")
	f.Patch(replicaset.Kind, "default/web-old", `{"metadata":{"labels":{"app":"other"}}}`)
	f.Advance(time.Second)
	f.want("DEP-001", "owners after release", fmt.Sprint(len(f.sets()[0].OwnerReferences)), "0")
}

// DEP-060, DEP-061: a paused Deployment is scaled, but not rolled out.
func TestPause(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(2))
	f.Advance(time.Second)
	f.ready(2, "")
	f.patch(`{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}}`)
	f.want("DEP-060", "sizes", f.sizes(), "1:2/2")
	f.want("DEP-061", "conditions", f.reasons(), "Available=True:MinimumReplicasAvailable Progressing=Unknown:DeploymentPaused")
	f.patch(`{"spec":{"replicas":3}}`)
	f.want("DEP-060", "sizes", f.sizes(), "1:3/3")
	f.patch(`{"spec":{"paused":false}}`)
	f.want("DEP-060", "sizes", f.sizes(), "1:3/3 2:1/1")
	f.want("DEP-061", "conditions", f.reasons(), "Available=False:MinimumReplicasUnavailable Progressing=True:ReplicaSetUpdated")
}

// DEP-050: old sets are deleted down to the limit.
func TestCleanUp(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(1)) }))
	f.Advance(time.Second)
	for i := range 4 {
		f.image(fmt.Sprintf("i:%d", i+2))
		f.ready(1, fmt.Sprintf("i:%d", i+2))
		f.purge()
	}
	f.want("DEP-050", "sets", f.sizes(), "4:0/0 5:1/1")
}

// DEP-073: a rollout without progress is reported after the deadline.
func TestDeadline(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) }))
	began := f.Now()
	f.OK(f.Settle(time.Hour))
	f.want("DEP-073", "Settle waits for the deadline", fmt.Sprint(f.Now().Sub(began) > time.Second), "false")
	f.Advance(55 * time.Second)
	f.want("DEP-073", "conditions", f.reasons(), "Available=False:MinimumReplicasUnavailable Progressing=True:ReplicaSetUpdated")
	f.Advance(10 * time.Second)
	f.want("DEP-073", "conditions", f.reasons(), "Available=False:MinimumReplicasUnavailable Progressing=False:ProgressDeadlineExceeded")
	f.ready(1, "")
	f.want("DEP-072", "conditions", f.reasons(), "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable")
}

// DEP-074: the failure of a set is a condition of the Deployment.
func TestReplicaFailure(t *testing.T) {
	f := newFixture(t)
	f.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}})
	f.PatchStatus("ResourceQuota", "default/q", `{"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}`)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	f.want("DEP-074", "conditions", f.reasons(),
		"Available=False:MinimumReplicasUnavailable Progressing=True:NewReplicaSetCreated ReplicaFailure=True:FailedCreate")
}

// DEP-006: a name that another template has is avoided.
func TestCollision(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Spec.Paused = true }))
	f.Advance(time.Second)
	f.patch(`{"spec":{"paused":false}}`)
	taken := f.sets()[0]
	f.Delete(deployment.Kind, "default/web")
	f.Advance(time.Second)
	f.Patch(replicaset.Kind, "default/"+taken.Name, `{"metadata":{"ownerReferences":[],"labels":{"app":"other"}}}`)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	f.want("DEP-006", "collisions", fmt.Sprint(*f.deployment().Status.CollisionCount), "1")
	f.want("DEP-006", "sets", fmt.Sprint(len(f.sets())), "2")
}

// DEP-007, DEP-011: a set that cannot be created is reported, and tried 16 times.
func TestCreateFails(t *testing.T) {
	f := newFixture(t)
	f.Faults.Fail(fake.Match{Actor: "deployment-controller", Verb: "create", Kind: string(replicaset.Kind)}, fmt.Errorf("no room"))
	f.Create(newDeployment(1))
	f.Advance(time.Hour)
	f.want("DEP-007", "conditions", f.reasons(), "Progressing=False:ReplicaSetCreateError")
	f.want("DEP-007", "Event", f.events()[0], `ReplicaSetCreateError: Failed to create new replica set "web-757dd4fcfc": no room`)
	f.want("DEP-011", "attempts", fmt.Sprint(len(f.events())), "16")
}

// DEP-011: in a namespace that is being deleted nothing is retried.
func TestNamespaceEnds(t *testing.T) {
	f := newFixture(t)
	f.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Spec.Paused = true }))
	f.Advance(time.Second)
	obj, err := f.Store().Get("Namespace", "default")
	f.OK(err)
	ns := obj.DeepCopyObject().(*plain.Object)
	ns.Content()["status"] = map[string]any{"phase": "Terminating"}
	now := metav1.NewTime(f.Now())
	ns.DeletionTimestamp = &now
	f.Load(ns)
	f.patch(`{"spec":{"paused":false}}`)
	f.want("DEP-011", "Events", fmt.Sprint(len(f.events())), "0")
	f.want("DEP-011", "sets", f.sizes(), "")
}

// DEP-012: the first sync writes the status twice, and the second write is a conflict.
func TestConflict(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	conflicts := 0
	for e := range f.Trace().Entries() {
		if e.Type == trace.KeyFailed && e.Object.Kind == deployment.Kind {
			conflicts++
		}
	}
	f.want("DEP-012", "failed syncs", fmt.Sprint(conflicts > 0), "true")
	f.want("DEP-012", "observed generation", fmt.Sprint(f.deployment().Status.ObservedGeneration), "1")
}

// DEP-013: a Deployment that is being deleted creates nothing.
func TestDeleted(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/f"} }))
	f.Advance(time.Second)
	f.Delete(deployment.Kind, "default/web")
	f.image("i:2")
	f.want("DEP-013", "sets", f.sizes(), "1:1/1")
	f.want("DEP-013", "observed generation", fmt.Sprint(f.deployment().Status.ObservedGeneration == f.deployment().Generation), "true")
}

// DEP-010: a set that is gone is created again, and a new one without a controller is noticed.
func TestEvents(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	f.Delete(replicaset.Kind, "default/"+f.sets()[0].Name)
	f.Advance(time.Second)
	f.want("DEP-010", "sets", f.sizes(), "1:1/1")
}

// DEP-080: the annotation of the old API asks for a rollback.
func TestRollbackAnnotation(t *testing.T) {
	f := newFixture(t)
	f.Create(newDeployment(1))
	f.Advance(time.Second)
	f.image("i:2")
	f.patch(`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`)
	f.want("DEP-080", "image", f.deployment().Spec.Template.Spec.Containers[0].Image, "i:1")
	f.want("DEP-080", "Event", f.events()[len(f.events())-1], `DeploymentRollback: Rolled back deployment "web" to revision 1`)
	f.patch(`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"9"}}}`)
	f.want("DEP-080", "Event", f.events()[len(f.events())-1], "DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to.")
}

// DEP-090 to DEP-094: defaults, validation, generation and the status.
func TestValidation(t *testing.T) {
	f := newFixture(t)
	for _, row := range []struct {
		rule string
		edit func(*appsv1.Deployment)
		want string
	}{
		{"DEP-091", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(-1)) }, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"DEP-091", rolling("0", "0"), "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
		{"DEP-091", rolling("0%", "101%"), `spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"DEP-091", rolling("x", "1"), `spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent string must be`},
		{"DEP-091", func(d *appsv1.Deployment) {
			rolling("1", "1")(d)
			d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		}, "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
		{"DEP-091", func(d *appsv1.Deployment) { d.Spec.Strategy.Type = "x" }, `supported values: "Recreate", "RollingUpdate"`},
		{"DEP-091", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 600 }, "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"},
		{"WORK-021", func(d *appsv1.Deployment) { d.Spec.Template.Labels = nil }, "`selector` does not match template `labels`"},
	} {
		d := newDeployment(1, row.edit)
		d.Name = "bad"
		if _, err := f.Store().Create(d); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error = %v, want %s", row.rule, err, row.want)
		}
	}
	f.Create(newDeployment(1, func(d *appsv1.Deployment) { d.Spec.Replicas = nil }))
	f.Advance(time.Second)
	d := f.deployment()
	f.want("DEP-090", "defaults", fmt.Sprintln(*d.Spec.Replicas, d.Spec.Strategy.Type, d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable,
		*d.Spec.RevisionHistoryLimit, *d.Spec.ProgressDeadlineSeconds), "1 RollingUpdate 25% 25% 10 600\n")
	_, err := f.Store().Patch(deployment.Kind, "default/web",
		[]byte(`{"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}}`), api.Main)
	if err == nil || !strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("DEP-092: error = %v", err)
	}
	f.want("DEP-093", "generation after the revision", fmt.Sprint(d.Generation), "1")
	f.patch(`{"metadata":{"annotations":{"a":"b"}}}`)
	f.want("DEP-093", "generation after an annotation", fmt.Sprint(f.deployment().Generation), "2")
	f.want("DEP-004", "annotation of the set", f.sets()[0].Annotations["a"], "b")
	f.PatchStatus(deployment.Kind, "default/web", `{"metadata":{"labels":{"x":"y"},"annotations":{"c":"d"}}}`)
	f.want("DEP-094", "labels and annotation", fmt.Sprint(f.deployment().Labels, f.deployment().Annotations["c"]), "map[]d")
}
