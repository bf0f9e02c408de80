package kubectl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func TestGet(t *testing.T) {
	born := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pv := fake.Volume("pv1", "5Gi", fake.Modes("RWX", "RWO"), fake.ForClaim("test/data"), fake.Phase("Bound"))
	claim := fake.Claim("test/data", "5Gi", fake.InClass("fast"))
	class := fake.Class("fast", "disk.example.com", fake.Expandable())
	leaving := fake.Volume("pv2", "1Gi")
	leaving.DeletionTimestamp = &born
	node := fake.Node("n1")
	for _, obj := range []api.Object{pv, claim, class, leaving, node} {
		obj.SetCreationTimestamp(born)
	}
	now := born.Add(90 * time.Second)
	for _, row := range []struct {
		name  string
		kinds []api.Kind
		objs  []api.Object
		want  string
	}{
		{"nothing", []api.Kind{api.PersistentVolume}, nil, "No resources found\n"},
		{"one kind", []api.Kind{api.PersistentVolume}, []api.Object{pv, leaving}, `
NAME   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS        CLAIM       STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
pv1    5Gi        RWO,RWX        Retain           Bound         test/data                  <unset>                          90s
pv2    1Gi        RWO            Retain           Terminating                              <unset>                          90s
`},
		{"two kinds", []api.Kind{api.StorageClass, api.PersistentVolumeClaim}, []api.Object{claim, class}, `
NAME                                   PROVISIONER        RECLAIMPOLICY   VOLUMEBINDINGMODE   ALLOWVOLUMEEXPANSION   AGE
storageclass.storage.k8s.io/fast       disk.example.com   Delete          Immediate           true                   90s

NAMESPACE   NAME                         STATUS    VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
test        persistentvolumeclaim/data                                                fast           <unset>                 90s
`},
		{"nodes", []api.Kind{api.Node}, []api.Object{node}, `
NAME   STATUS   ROLES    AGE   VERSION
n1     Ready    <none>   90s
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, kubectl.Get(&out, now, row.kinds, row.objs))
			got := out.String()
			for _, line := range strings.Split(strings.TrimSpace(row.want), "\n") {
				require.Contains(t, squeeze(got), squeeze(line))
			}
			require.Equal(t, strings.Count(strings.TrimPrefix(row.want, "\n"), "\n"), strings.Count(got, "\n"), got)
		})
	}
}

// squeeze replaces each run of spaces by one space.
func squeeze(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestPrint(t *testing.T) {
	born := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now := born.Add(10 * time.Minute)
	claim := fake.Claim("test/data", "5Gi")
	running := fake.Pod("web", fake.OnNode("n1"))
	running.Status.Phase = corev1.PodRunning
	running.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, RestartCount: 2,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	crashed := fake.Pod("job")
	crashed.Status.Phase = corev1.PodFailed
	crashed.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}
	leaving := fake.Pod("old")
	leaving.Status.Phase = corev1.PodRunning
	leaving.DeletionTimestamp = &born
	waiting := fake.Pod("new")
	waiting.Status.Phase = corev1.PodPending
	waiting.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	master := fake.Node("m1", fake.NotReady(), fake.Labels("node-role.kubernetes.io/control-plane", ""))
	master.Spec.Unschedulable = true
	standard := fake.Class("standard", "disk.example.com", fake.Default())
	early, late := event("a", "First", 1, born.Time), event("b", "Second", 3, born.Add(time.Minute))
	for _, obj := range []api.Object{claim, running, crashed, leaving, waiting, master, standard} {
		obj.SetCreationTimestamp(born)
	}
	for _, tt := range []struct {
		name string
		kind api.Kind
		objs []api.Object
		opts kubectl.Options
		want string
	}{
		{"without namespaces", api.PersistentVolumeClaim, []api.Object{claim}, kubectl.Options{Namespace: "test"}, `
NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE
data <unset> 10m
`},
		{"wide, without headers", api.PersistentVolumeClaim, []api.Object{claim},
			kubectl.Options{Namespaces: true, Wide: true, NoHeaders: true}, `
test data <unset> 10m Filesystem
`},
		{"nothing in a namespace", api.PersistentVolumeClaim, nil, kubectl.Options{Namespace: "test"}, `
No resources found in test namespace.
`},
		{"nothing without namespaces", api.PersistentVolume, nil, kubectl.Options{Namespace: "test"}, `
No resources found
`},
		{"pods", api.Pod, []api.Object{running, crashed, leaving, waiting}, kubectl.Options{Namespace: "default"}, `
NAME READY STATUS RESTARTS AGE
web 1/1 Running 2 10m
job 0/1 ExitCode:3 0 10m
old 0/1 Terminating 0 10m
new 0/1 ContainerCreating 0 10m
`},
		{"pods with their nodes", api.Pod, []api.Object{running}, kubectl.Options{Wide: true, NoHeaders: true}, `
web 1/1 Running 2 10m <none> n1 <none> <none>
`},
		{"a node that takes no pods", api.Node, []api.Object{master}, kubectl.Options{NoHeaders: true}, `
m1 NotReady,SchedulingDisabled control-plane 10m
`},
		{"the default class", api.StorageClass, []api.Object{standard}, kubectl.Options{NoHeaders: true}, `
standard (default) disk.example.com Delete Immediate false 10m
`},
		{"events in the given order", api.Event, []api.Object{late, early}, kubectl.Options{}, `
LAST SEEN TYPE REASON OBJECT MESSAGE
9m Warning Second pod/web it went wrong...
10m Warning First pod/web it went wrong...
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, kubectl.Print(&out, now, []api.Kind{tt.kind}, tt.objs, tt.opts))
			require.Equal(t, strings.TrimSpace(tt.want), strings.TrimSpace(squeeze(out.String())))
		})
	}
}

func event(name, reason string, count int32, last time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: name},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"},
		Reason:         reason, Type: corev1.EventTypeWarning, Message: "it went wrong\nin two lines", Count: count,
		Source:         corev1.EventSource{Component: "kubelet", Host: "n1"},
		FirstTimestamp: metav1.NewTime(last.Add(-time.Minute)), LastTimestamp: metav1.NewTime(last),
	}
}

func TestDescribe(t *testing.T) {
	born := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now := born.Add(10 * time.Minute)
	claim := fake.Claim("data", "5Gi", fake.Annotations("example.com/note", "yes"))
	claim.DeletionTimestamp = &born
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing,
		Status: corev1.ConditionTrue}}
	pod := fake.Pod("web", fake.Claims("data"))
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk.example.com"}, Spec: storagev1.CSIDriverSpec{
		AttachRequired: new(bool), FSGroupPolicy: new(storagev1.FileFSGroupPolicy), TokenRequests: []storagev1.TokenRequest{{Audience: "a"}},
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
	}}
	snapshotClass := &plain.Object{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	snapshotClass.SetContent(map[string]any{"driver": "d", "deletionPolicy": "Delete"})
	snapshotClass.APIVersion, snapshotClass.Kind = "snapshot.storage.k8s.io/v1", "VolumeSnapshotClass"
	around := kubectl.Surroundings{Events: []*corev1.Event{event("a", "First", 3, born.Add(time.Minute))}, Pods: []*corev1.Pod{pod}}
	for _, tt := range []struct {
		name string
		obj  api.Object
		want []string
	}{
		{"a claim", claim, []string{
			"Name: data", "Namespace: default", "Status: Terminating (lasts 10m)", "Annotations: example.com/note: yes", "Used By: web",
			"Type Status LastProbeTime LastTransitionTime Reason Message", "Resizing True Mon, 01 Jan 0001 00:00:00 +0000 Mon, 01 Jan 0001 00:00:00 +0000", "Events: <none>"}},
		{"a pod", pod, []string{"Node: <none>", "/data from data (rw)", "ClaimName: data",
			"Warning First 9m (x3 over 10m) kubelet it went wrong"}},
		{"a cluster-scoped kind of a CustomResourceDefinition", snapshotClass,
			[]string{"Name: fast", "Namespace:", "API Version: snapshot.storage.k8s.io/v1\nDeletion Policy: Delete\nDriver: d\nKind: VolumeSnapshotClass\nMetadata:"}},
		{"a kind without a form of its own", driver,
			[]string{"Kind: CSIDriver", "Attach Required: false", "Fs Group Policy: File", "Audience: a", "Volume Lifecycle Modes:\n Persistent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, kubectl.Describe(&out, now, tt.obj, around))
			got := "\n" + squeeze(out.String()) + "\n"
			for _, line := range tt.want {
				require.Contains(t, strings.ReplaceAll(got, "\n ", "\n"), "\n"+strings.ReplaceAll(line, "\n ", "\n")+"\n")
			}
		})
	}
}
