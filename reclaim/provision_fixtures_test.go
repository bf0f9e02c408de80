package reclaim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	driverName = "disk.example.com"
	actorName  = "external-provisioner/" + driverName
	zone       = "topology.example.com/zone"
)

// driver is a CSI driver with prepared answers; after the last one it succeeds.
type driver struct {
	creates, deletes []error
	response         func(storage.CreateRequest, *storage.Volume)
	delay            map[storage.Op]time.Duration
	topology         bool
	attaches         bool
	noBlock          bool
	withoutCopies    bool // neither clones nor modifications
	requests         []storage.CreateRequest
	deleted          []storage.DeleteRequest
}

func (d *driver) Name() string { return driverName }

func (d *driver) Delay(op storage.Op, _ string) time.Duration { return d.delay[op] }

func (d *driver) Capabilities() storage.Capabilities {
	var c storage.Capabilities
	if d.topology {
		c.TopologyKeys = []string{zone}
	}
	if !d.attaches {
		c.Without = []storage.Op{storage.Attach}
	}
	if d.withoutCopies {
		c.WithoutClone, c.Without = true, append(c.Without, storage.Modify)
	}
	return c
}

func (d *driver) Modify(storage.ModifyRequest) error { return nil }

func (d *driver) SupportsBlock() bool { return !d.noBlock }

func (d *driver) Create(req storage.CreateRequest) (storage.Volume, error) {
	d.requests = append(d.requests, req)
	if err := next(&d.creates); err != nil {
		return storage.Volume{}, err
	}
	resp := storage.Volume{ID: "h-" + req.Name, Size: req.Size, Content: true}
	if d.response != nil {
		d.response(req, &resp)
	}
	return resp, nil
}

func (d *driver) Delete(req storage.DeleteRequest) error {
	d.deleted = append(d.deleted, req)
	return next(&d.deletes)
}

func (d *driver) Attach(storage.NodeRequest) (map[string]string, error) {
	return nil, nil
}

func (d *driver) Detach(storage.NodeRequest) error { return nil }

// next takes the next answer.
func next(answers *[]error) error {
	if len(*answers) == 0 {
		return nil
	}
	err := (*answers)[0]
	*answers = (*answers)[1:]
	return err
}

// repeat is the same answer n times.
func repeat(err error, n int) []error {
	var errs []error
	for range n {
		errs = append(errs, err)
	}
	return errs
}

func class(options ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "fast", UID: "class-uid"},
		Provisioner:       driverName,
		ReclaimPolicy:     ptr(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr(storagev1.VolumeBindingImmediate),
	}
	for _, option := range options {
		option(c)
	}
	return c
}

func delayed(c *storagev1.StorageClass) {
	c.VolumeBindingMode = ptr(storagev1.VolumeBindingWaitForFirstConsumer)
}

// wantedClaim returns a claim default/c1 with uid u1 that the PersistentVolume controller has assigned to the driver.
func wantedClaim(options ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := newClaim("c1", "u1", "")
	claim.Spec.StorageClassName = ptr("fast")
	claim.Annotations = map[string]string{
		objects.AnnStorageProvisioner: driverName, objects.AnnBetaStorageProvisioner: driverName,
	}
	for _, option := range options {
		option(claim)
	}
	return claim
}

func onNode(node string) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) { claim.Annotations[objects.AnnSelectedNode] = node }
}

func node(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func csiNode(name string, keys ...string) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: driverName, NodeID: name, TopologyKeys: keys},
		}},
	}
}

// setup is how a test sets up an external-provisioner.
type setup struct {
	config  sidecar.Config
	options options.Provisioner
}

// newProvisionerFixture runs the sidecar of a driver. It starts a minute before the objects are there, and knows the others before
// it sees the claims.
func newProvisionerFixture(t *testing.T, d storage.Backend, cfg setup, objs ...api.Object) *fixture {
	t.Helper()
	w := newFixture(t, options.Reclaimer{})
	w.must(reclaim.NewProvisioner(w.Engine, d, cfg.config, cfg.options))
	w.settle()
	for _, obj := range objs {
		if _, ok := obj.(*corev1.PersistentVolumeClaim); !ok {
			w.Load(obj)
		}
	}
	w.Advance(0)
	for _, obj := range objs {
		if _, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			w.Load(obj)
		}
	}
	return w
}

// failures lists how long after the start a sync of the sidecar failed, in seconds.
func (w *fixture) failures(start time.Time) []float64 {
	var at []float64
	for entry := range w.Trace().Entries() {
		if entry.Type == trace.KeyFailed || entry.Type == trace.OperationFailed {
			at = append(at, entry.Time.Sub(start).Seconds())
		}
	}
	return at
}

// attempts lists how long after the start a call reached the driver, in seconds.
func (w *fixture) attempts(start time.Time, verb string) []float64 {
	var at []float64
	for entry := range w.Trace().Entries() {
		if entry.Type == trace.Storage && entry.Verb == "end" && entry.Call.Verb == verb {
			at = append(at, entry.Time.Sub(start).Seconds())
		}
	}
	return at
}

func (w *fixture) claim(key string) *corev1.PersistentVolumeClaim {
	w.T.Helper()
	claim, err := w.Store().Claims.Get(key)
	if err != nil {
		w.T.Fatalf("claim %s: %v", key, err)
	}
	return claim
}

// touch updates an object so that its watchers receive a change.
func (w *fixture) touch(key string) {
	w.T.Helper()
	claim := *w.claim(key)
	claim.Labels = map[string]string{"touched": string(types.UID(claim.ResourceVersion))}
	w.Load(&claim)
}
