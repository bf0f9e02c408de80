package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
	corev1 "k8s.io/api/core/v1"
)

// The storage of a recording succeeds immediately unless a setting says otherwise. The setting at the start of the operation applies.
const (
	mockStorageName = "kubernetes.io/mock-storage"
	nfsName         = "kubernetes.io/nfs"
	driverName      = "external.example.com"
)

// storageSystems are the backends of one run.
type storageSystems struct {
	mock   mockStorage
	nfs    nfs
	driver driver
}

func newBackends(now func() time.Time) *storageSystems {
	return &storageSystems{
		mock:   mockStorage{&backend{name: mockStorageName, now: now}},
		nfs:    nfs{&backend{name: nfsName, now: now}},
		driver: driver{&backend{name: driverName, now: now}},
	}
}

func (s *storageSystems) all() []storage.Backend { return []storage.Backend{s.mock, s.nfs, s.driver} }

// backend returns a backend by name, nil for none.
func (s *storageSystems) backend(name string) *backend {
	for _, b := range []*backend{s.mock.backend, s.nfs.backend, s.driver.backend} {
		if b.name == name {
			return b
		}
	}
	return nil
}

// backend is a storage backend that behaves as set.
type backend struct {
	name    string
	now     func() time.Time
	setting setting
	begun   []operation
}

// operation is a running operation, with the setting at its start.
type operation struct {
	op      storage.Op
	id      string
	end     time.Time
	setting setting
}

// opNames are the names of operations in recordings.
var opNames = map[storage.Op]string{storage.Create: "provision", storage.Delete: "delete", storage.Recycle: "recycle"}

func (b *backend) Name() string { return b.name }

// Delay is called when an operation begins.
func (b *backend) Delay(op storage.Op, id string) time.Duration {
	delay := time.Duration(b.setting.DelaySeconds[opNames[op]] * float64(time.Second))
	b.begun = append(b.begun, operation{op: op, id: id, end: b.now().Add(delay), setting: b.setting})
	return delay
}

// end returns the setting with which the ending operation began.
func (b *backend) end(op storage.Op, id string) setting {
	i := slices.IndexFunc(b.begun, func(o operation) bool { return o.op == op && o.id == id && !o.end.After(b.now()) })
	if i < 0 {
		return b.setting
	}
	began := b.begun[i].setting
	b.begun = slices.Delete(b.begun, i, i+1)
	return began
}

func (b *backend) result(op storage.Op, id string) error {
	s := b.end(op, id)
	if op == storage.Delete && s.InUse != "" {
		return backends.VolumeInUse(s.InUse)
	}
	if text, fails := s.Fail[opNames[op]]; fails {
		return errors.New(text)
	}
	return nil
}

// mockStorage is an in-tree plugin that provisions, deletes and recycles volumes with a hostPath source.
type mockStorage struct{ *backend }

func (m mockStorage) Supports(source *corev1.PersistentVolumeSource) bool {
	return source.HostPath != nil
}

func (m mockStorage) Create(req storage.CreateRequest) (storage.Volume, error) {
	if err := m.result(storage.Create, req.Name); err != nil {
		return storage.Volume{}, err
	}
	source := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + req.Name}}
	return storage.Volume{ID: req.Name, Source: source}, nil
}

func (m mockStorage) Delete(req storage.DeleteRequest) error { return m.result(storage.Delete, req.ID) }

func (m mockStorage) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	return m.result(storage.Recycle, id)
}

// nfs is an in-tree plugin that only recycles volumes with an nfs source.
type nfs struct{ *backend }

func (n nfs) Supports(source *corev1.PersistentVolumeSource) bool { return source.NFS != nil }

func (n nfs) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	return n.result(storage.Recycle, id)
}

// driver is a CSI driver with an external provisioner. Its error codes are final.
type driver struct{ *backend }

func (d driver) Create(req storage.CreateRequest) (storage.Volume, error) {
	if err := d.result(storage.Create, req.Name); err != nil {
		return storage.Volume{}, storage.Errorf(storage.Internal, "%v", err)
	}
	return storage.Volume{ID: req.Name}, nil
}

func (d driver) Delete(req storage.DeleteRequest) error {
	if err := d.result(storage.Delete, req.ID); err != nil {
		return storage.Errorf(storage.Internal, "%v", err)
	}
	return nil
}
