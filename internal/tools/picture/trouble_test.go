package picture_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Each state of an object has a name and a colour.
func TestPhases(t *testing.T) {
	pv := "pv"
	attachment := func(status storagev1.VolumeAttachmentStatus) api.Object {
		return &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "it"}, Status: status,
			Spec: storagev1.VolumeAttachmentSpec{Attacher: "a", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		}
	}
	node := func(status corev1.ConditionStatus, taints ...corev1.Taint) api.Object {
		n := fake.Node("it")
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: status}}
		n.Spec.Taints = taints
		return n
	}
	bare := fake.Node("it")
	bare.Status.Conditions = nil
	for _, tt := range []struct {
		obj        api.Object
		name, tone string
	}{
		{fake.Volume("it", "1Gi", fake.Phase("Pending")), "Pending", "waiting"},
		{fake.Volume("it", "1Gi", fake.Phase("Available")), "Available", "free"},
		{fake.Volume("it", "1Gi", fake.Phase("Bound")), "Bound", "bound"},
		{fake.Volume("it", "1Gi", fake.Phase("Released")), "Released", "leaving"},
		{fake.Volume("it", "1Gi", fake.Phase("Failed")), "Failed", "bad"},
		{fake.Claim("it", "1Gi", fake.Phase("Bound")), "Bound", "bound"},
		{fake.Claim("it", "1Gi", fake.Phase("Lost")), "Lost", "bad"},
		{fake.Pod("it", fake.Phase("Running")), "Running", "runs"},
		{fake.Pod("it", fake.Phase("Succeeded")), "Succeeded", "done"},
		{fake.Pod("it", fake.Phase("Failed")), "Failed", "bad"},
		{node(corev1.ConditionTrue), "Ready", "runs"},
		{node(corev1.ConditionFalse), "NotReady", "bad"},
		{node(corev1.ConditionUnknown), "Unknown", "bad"},
		{node(corev1.ConditionTrue, corev1.Taint{Key: "node.kubernetes.io/out-of-service", Effect: corev1.TaintEffectNoExecute}),
			"Out of service", "bad"},
		{bare, "No status", "waiting"},
		{attachment(storagev1.VolumeAttachmentStatus{}), "Attaching", "waiting"},
		{attachment(storagev1.VolumeAttachmentStatus{Attached: true}), "Attached", "bound"},
		{attachment(storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "no"}}), "Attach failed", "bad"},
		{fake.Class("it", "a"), "Exists", "there"},
	} {
		e, err := engine.New(engine.Config{Trace: &trace.Trace{}})
		require.NoError(t, err)
		_, err = e.API().Load(e.User(), tt.obj)
		require.NoError(t, err)
		_, page := draw(t, func() (picture.Run, error) { return picture.Run{Trace: e.Trace()}, nil })
		require.Equal(t, []struct{ Name, Tone string }{{tt.name, tt.tone}}, readData(t, page).Phases, "%T %s", tt.obj, tt.name)
	}
}

// A retry is on the lane of its object.
func TestRetries(t *testing.T) {
	e, err := engine.New(engine.Config{Trace: &trace.Trace{}})
	require.NoError(t, err)
	created := map[api.Kind]api.Object{}
	for _, obj := range []api.Object{fake.Volume("pv", "1Gi", fake.CSISource("csi", "handle-1")), fake.Claim("data", "1Gi"),
		fake.Node("n1"), fake.Pod("web")} {
		obj, err := e.API().Create(e.User(), obj, store.CreateOptions{})
		require.NoError(t, err)
		created[api.RefTo(obj).Kind] = obj
	}
	broken := errors.New("broken")
	_, err = e.NewActor("controller", func(a *engine.Actor) {
		for _, tt := range []struct {
			queue, key string
			kind       api.Kind
			object     api.Object
		}{
			{queue: "claims", key: "default/data", kind: api.PersistentVolumeClaim},
			{queue: "volumes", key: "pv", kind: api.PersistentVolume},
			{queue: "nodes", key: "n1", kind: api.Node},
			{queue: "pods by uid", key: string(created[api.Pod].GetUID()), object: created[api.Pod]},
			{queue: "something", key: "unknown"},
		} {
			q := a.NewQueue(engine.QueueConfig{Name: tt.queue, Kind: tt.kind, Sync: func(p *engine.Process, _ string) error {
				if tt.object != nil {
					p.WorksOn(tt.object)
				}
				return broken
			}})
			a.After(time.Second, tt.queue, func(*engine.Process) { q.Add(tt.key) })
		}
		operations := a.NewNestedOperations()
		a.After(time.Second, "operation", func(*engine.Process) {
			for _, obj := range []api.Object{created[api.Pod], created[api.PersistentVolume]} {
				require.NoError(t, operations.Run(engine.OperationKey{Volume: obj.GetName()}, "operation", func(p *engine.Process) error {
					p.WorksOn(obj)
					return broken
				}))
			}
		})
	})
	require.NoError(t, err)
	e.Advance(time.Second)
	_, page := draw(t, func() (picture.Run, error) { return picture.Run{Trace: e.Trace()}, nil })
	r := readData(t, page)
	for _, tt := range []struct {
		kind, name string
		want       []string
	}{
		{"PersistentVolumeClaim", "default/data", []string{"claims", "create"}},
		{"PersistentVolume", "pv", []string{"create", "operation", "volumes"}},
		{"Node", "n1", []string{"create", "nodes"}},
		{"Pod", "default/web", []string{"create", "pods by uid", "operation"}},
	} {
		require.ElementsMatch(t, tt.want, r.marks(r.lane(t, tt.kind, tt.name)), "%s %s", tt.kind, tt.name)
	}
	require.Len(t, r.Lanes, 4, "an object that no entry names has no lane")
}

// A call that takes time is connected to its end; a volume without a PersistentVolume has a lane.
func TestSlowCallsAndStorageWithoutAVolume(t *testing.T) {
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI("csi")}})
	require.NoError(t, err)
	c.Faults.Slow(fake.Match{Verb: string(storage.Create)}, 5*time.Second)
	c.Faults.Fail(fake.Match{Verb: "create", Kind: "PersistentVolume"}, errors.New("no"))
	require.NoError(t, c.Create(fake.Class("fast", "csi"), fake.Claim("data", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Advance(6*time.Second))
	_, page := draw(t, func() (picture.Run, error) { return picture.Run{Trace: c.Trace()}, nil })
	r := readData(t, page)
	lane := r.lane(t, "Storage", "pvc-")
	require.NotEmpty(t, r.marks(lane))
	times := make([]int64, len(r.Entries.Time))
	now := int64(0)
	for i, d := range r.Entries.Time {
		now += d
		times[i] = now
	}
	joined := 0
	for begin, end := range r.Entries.Until {
		require.Equal(t, lane, r.Entries.Lane[begin])
		require.Equal(t, int64(5*time.Second), times[end]-times[begin])
		joined++
	}
	require.Equal(t, 1, joined)
}
