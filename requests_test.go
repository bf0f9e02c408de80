package volsim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// recorder is a driver that records the last request of each operation.
type recorder struct {
	*fake.Memory
	last map[storage.Op]any
}

func (r *recorder) Attach(req storage.NodeRequest) (map[string]string, error) {
	r.last[storage.Attach] = req
	return r.Memory.Attach(req)
}

func (r *recorder) Detach(req storage.NodeRequest) error {
	r.last[storage.Detach] = req
	return r.Memory.Detach(req)
}

func (r *recorder) Stage(req storage.NodeRequest) error {
	r.last[storage.Stage] = req
	return r.Memory.Stage(req)
}

func (r *recorder) Publish(req storage.NodeRequest) error {
	r.last[storage.Publish] = req
	return r.Memory.Publish(req)
}

func (r *recorder) NodeExpand(req storage.NodeRequest) (int64, error) {
	r.last[storage.NodeExpand] = req
	return r.Memory.NodeExpand(req)
}

func (r *recorder) Expand(req storage.ExpandRequest) (int64, bool, error) {
	r.last[storage.Expand] = req
	return r.Memory.Expand(req)
}

func (r *recorder) Modify(req storage.ModifyRequest) error {
	r.last[storage.Modify] = req
	return r.Memory.Modify(req)
}

// Requests have the volume capability and the secrets of the PersistentVolume, whatever the call.
func TestRequests(t *testing.T) {
	driver := &recorder{Memory: fake.CSI("disk.example.com"), last: map[storage.Op]any{}}
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	defer c.Close()
	class := fake.Class("fast", "disk.example.com", fake.Expandable())
	class.MountOptions = []string{"noatime"}
	class.Parameters = map[string]string{"csi.storage.k8s.io/fstype": "xfs"}
	content := func(name string) map[string]string { return map[string]string{"key": name} }
	for _, call := range []string{"controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand",
		"controller-modify"} {
		class.Parameters["csi.storage.k8s.io/"+call+"-secret-name"] = call
		class.Parameters["csi.storage.k8s.io/"+call+"-secret-namespace"] = "storage"
		require.NoError(t, c.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "storage", Name: call}, StringData: content(call)}))
	}
	gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disk.example.com",
		Parameters: map[string]string{"iops": "9"}}
	pod := fake.Pod("web", fake.Claims("data"))
	require.NoError(t, c.Create(fake.Node("n1"), class, gold, fake.Claim("data", "1Gi", fake.InClass("fast")), pod))
	require.NoError(t, c.Advance(time.Minute))
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	require.NoError(t, c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}},"volumeAttributesClassName":"gold"}}`))
	require.NoError(t, c.Advance(5*time.Minute))
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(5*time.Minute))

	file := storage.NodeRequest{Mode: corev1.ReadWriteOnce, VolumeMode: corev1.PersistentVolumeFilesystem, FSType: "xfs",
		MountOptions: []string{"noatime"}}
	with := func(req storage.NodeRequest, edit func(*storage.NodeRequest)) storage.NodeRequest {
		edit(&req)
		return req
	}
	implicit := with(file, func(r *storage.NodeRequest) { r.VolumeMode = "" })
	ignored := cmpopts.IgnoreFields(storage.NodeRequest{}, "ID", "Node", "StagingPath", "TargetPath", "Pod", "Context", "AttachContext")
	for _, tt := range []struct {
		rule string
		op   storage.Op
		want any
	}{
		{"ATT-183", storage.Attach, with(file, func(r *storage.NodeRequest) { r.NodeID, r.Secrets = "n1", content("controller-publish") })},
		{"ATT-183", storage.Detach, storage.NodeRequest{NodeID: "n1", Secrets: content("controller-publish")}},
		{"MNT-301", storage.Stage, with(implicit, func(r *storage.NodeRequest) { r.Secrets = content("node-stage") })},
		{"MNT-302", storage.Publish, with(implicit, func(r *storage.NodeRequest) { r.Secrets = content("node-publish") })},
		{"MNT-424", storage.NodeExpand, with(implicit, func(r *storage.NodeRequest) { r.Secrets, r.Size = content("node-expand"), 2<<30 })},
		{"EXP-027", storage.Expand,
			storage.ExpandRequest{Size: 2 << 30, VolumeMode: corev1.PersistentVolumeFilesystem, Mode: corev1.ReadWriteOnce,
				FSType: "xfs", MountOptions: []string{"noatime"}, Secrets: content("controller-expand")}},
		{"VAC-015", storage.Modify, storage.ModifyRequest{Parameters: map[string]string{"iops": "9"}, Secrets: content("controller-modify")}},
	} {
		t.Run(tt.rule+" "+string(tt.op), func(t *testing.T) {
			diff := cmp.Diff(tt.want, driver.last[tt.op], ignored, cmpopts.IgnoreFields(storage.ExpandRequest{}, "ID"),
				cmpopts.IgnoreFields(storage.ModifyRequest{}, "ID"))
			if diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// scribbler is a driver that writes to each request after it has carried it out.
type scribbler struct{ *fake.Memory }

func (s scribbler) Create(req storage.CreateRequest) (storage.Volume, error) {
	made, err := s.Memory.Create(req)
	scribble(req.Parameters, req.Mutable, req.Secrets)
	for _, segment := range slices.Concat(req.Requisite, req.Preferred) {
		scribble(segment)
	}
	req.Modes[0] = "Scribbled"
	scribbleList(req.MountOptions)
	return made, err
}

func (s scribbler) Delete(req storage.DeleteRequest) error {
	if req.Source != nil && req.Source.CSI != nil {
		req.Source.CSI.VolumeHandle = "scribbled"
	}
	return s.Memory.Delete(req)
}

func (s scribbler) Attach(req storage.NodeRequest) (map[string]string, error) {
	defer scribbleNode(req)
	return s.Memory.Attach(req)
}

func (s scribbler) Stage(req storage.NodeRequest) error {
	defer scribbleNode(req)
	return s.Memory.Stage(req)
}

func (s scribbler) Publish(req storage.NodeRequest) error {
	defer scribbleNode(req)
	return s.Memory.Publish(req)
}

func (s scribbler) NodeExpand(req storage.NodeRequest) (int64, error) {
	defer scribbleNode(req)
	return s.Memory.NodeExpand(req)
}

func (s scribbler) Expand(req storage.ExpandRequest) (int64, bool, error) {
	defer scribbleList(req.MountOptions)
	return s.Memory.Expand(req)
}

func (s scribbler) Modify(req storage.ModifyRequest) error {
	defer scribble(req.Parameters)
	return s.Memory.Modify(req)
}

func scribbleNode(req storage.NodeRequest) {
	scribble(req.Context, req.AttachContext, req.Secrets)
	scribbleList(req.MountOptions)
}

func scribble(maps ...map[string]string) {
	for _, m := range maps {
		for key := range m {
			m[key] = "scribbled"
		}
	}
}

func scribbleList(list []string) {
	for i := range list {
		list[i] = "scribbled"
	}
}

// Requests are copies: a driver that writes to them changes no object, neither of its cluster nor of another one.
func TestRequestsAreCopies(t *testing.T) {
	run := func(driver storage.Backend) []api.Object {
		c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
		require.NoError(t, err)
		defer c.Close()
		class := fake.Class("fast", "disk.example.com", fake.Expandable(), fake.Parameters("type", "ssd"), fake.MountOptions("noatime"))
		gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disk.example.com",
			Parameters: map[string]string{"iops": "9"}}
		pod := fake.Pod("web", fake.Claims("data"))
		require.NoError(t, c.Create(fake.Node("n1", fake.Labels("zone", "a")), class, gold, fake.Claim("data", "1Gi", fake.InClass("fast")),
			fake.Claim("gone", "1Gi", fake.InClass("fast")), pod))
		require.NoError(t, c.Advance(time.Minute))
		require.NoError(t, c.Delete(fake.Claim("gone", "1Gi")))
		claim, err := c.Claims.Get("default/data")
		require.NoError(t, err)
		require.NoError(t, c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}},"volumeAttributesClassName":"gold"}}`))
		require.NoError(t, c.Advance(5*time.Minute))
		return everything(c)
	}
	driver := func() *fake.Memory { return fake.CSI("disk.example.com", fake.Topology(storage.Segment{"zone": "a"})) }
	want := run(driver())
	require.Equal(t, want, run(scribbler{driver()}))
	require.Equal(t, want, run(driver()), "another cluster")
}
