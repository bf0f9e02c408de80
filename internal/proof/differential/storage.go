package differential

import (
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Backend is a storage backend that behaves as set. The setting at the start of an operation applies. It is safe for concurrent use.
type Backend struct {
	name string

	mu       sync.Mutex
	setting  Setting
	requests []NodeRequest // since the last call of Requests
}

// NewBackend returns a backend that succeeds immediately.
func NewBackend(name string) *Backend { return &Backend{name: name} }

// Name returns the name of the backend.
func (b *Backend) Name() string { return b.name }

// Set changes the behaviour from now on.
func (b *Backend) Set(s Setting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setting = s
}

// Limit returns how many volumes a node can attach, zero for no limit.
func (b *Backend) Limit() int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.setting.Limit
}

// Begin returns how long an operation that begins now takes, and its result.
func (b *Backend) Begin(op storage.Op) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delay := b.setting.Delay[string(op)]
	if op == storage.Delete && b.setting.InUse {
		return delay, ErrInUse
	}
	if text := b.setting.Fail[string(op)]; text != "" {
		if b.setting.Code != "" {
			return delay, storage.Errorf(b.setting.Code, "%s", text)
		}
		return delay, errors.New(text)
	}
	return delay, nil
}

// ErrInUse is the result of deletions with Setting.InUse.
var ErrInUse = errors.New("the volume is in use")

// simulated is a Backend for volsim.
type simulated struct {
	*Backend
	begun map[string][]error // results of running operations, by operation and volume
}

func (s *simulated) Delay(op storage.Op, id string) time.Duration {
	delay, err := s.Begin(op)
	key := string(op) + " " + id
	s.begun[key] = append(s.begun[key], err)
	return delay
}

func (s *simulated) end(op storage.Op, id string) error {
	key := string(op) + " " + id
	if len(s.begun[key]) == 0 {
		return fmt.Errorf("%s of %s never began", op, id)
	}
	err := s.begun[key][0]
	s.begun[key] = s.begun[key][1:]
	return err
}

func (s *simulated) delete(id string) error {
	err := s.end(storage.Delete, id)
	if errors.Is(err, ErrInUse) {
		return backends.VolumeInUse(err.Error())
	}
	return err
}

// inTree is the plugin InTree.
type inTree struct{ simulated }

func (p *inTree) Supports(source *corev1.PersistentVolumeSource) bool { return source.HostPath != nil }

func (p *inTree) Create(req storage.CreateRequest) (storage.Volume, error) {
	return storage.Volume{ID: req.Name, Source: HostPath(req.Name)}, p.end(storage.Create, req.Name)
}

func (p *inTree) Delete(req storage.DeleteRequest) error { return p.delete(req.ID) }

func (p *inTree) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	return p.end(storage.Recycle, id)
}

func (p *inTree) Expand(req storage.ExpandRequest) (int64, bool, error) {
	return req.Size, false, p.end(storage.Expand, req.ID)
}

// HostPath returns the source of a volume that InTree provisions.
func HostPath(name string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + name}}
}

// nfs is the plugin NFS.
type nfs struct{ simulated }

func (p *nfs) Supports(source *corev1.PersistentVolumeSource) bool { return source.NFS != nil }

func (p *nfs) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	return p.end(storage.Recycle, id)
}

// driver is the CSI driver Driver. Its errors are final.
type driver struct{ simulated }

func (p *driver) Create(req storage.CreateRequest) (storage.Volume, error) {
	return storage.Volume{ID: req.Name}, Internal(p.end(storage.Create, req.Name))
}

func (p *driver) Delete(req storage.DeleteRequest) error {
	return Internal(p.end(storage.Delete, req.ID))
}

func (p *driver) Attach(req storage.NodeRequest) (map[string]string, error) {
	return nil, Internal(p.end(storage.Attach, req.ID))
}

func (p *driver) Detach(req storage.NodeRequest) error {
	return Internal(p.end(storage.Detach, req.ID))
}

// Modify succeeds. It is never called, because the resizer does not run, but without it the provisioner refuses claims with a VolumeAttributesClass.
func (p *driver) Modify(storage.ModifyRequest) error { return nil }

// Internal returns an error as a CSI driver returns it. An error with a code keeps it.
func Internal(err error) error {
	if _, _, coded := backends.Status(err); err == nil || coded {
		return err
	}
	return storage.Errorf(storage.Internal, "%v", err)
}
