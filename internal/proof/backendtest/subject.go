package backendtest

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// subject is the backend under test, with helpers that bring a volume into a given state.
type subject struct {
	newBackend func() storage.Backend
	b          storage.Backend
	config     config

	source *corev1.PersistentVolumeSource // of the created volume
	attach map[string]string              // result of Attach
	volume map[string]string              // volumeAttributes
}

const (
	gi      = int64(1) << 30
	node    = "node-1"
	staging = "/staging/1"
	target  = "/pods/1/mount"
)

var pod = storage.PodRef{Namespace: "default", Name: "pod-1", UID: types.UID("uid-1")}

func request(name string, size int64) storage.CreateRequest {
	return storage.CreateRequest{Name: name, Size: size, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		VolumeMode: corev1.PersistentVolumeFilesystem, Class: "class", Claim: types.NamespacedName{Namespace: "default", Name: "claim"}}
}

// newVolume creates a volume of 1Gi and returns its ID, or that of the static volume.
func (s *subject) newVolume() (string, error) {
	if !backends.Can(s.b, storage.Create) {
		s.source = s.config.source
		return s.config.static, nil
	}
	resp, err := s.b.(storage.Provisioner).Create(request("backendtest-1", gi))
	if err != nil {
		return "", fmt.Errorf("Create(1Gi) = %w, want a volume", err)
	}
	s.source, s.volume = &resp.Source, resp.Context
	return resp.ID, nil
}

func (s *subject) create(req storage.CreateRequest) (storage.Volume, error) {
	resp, err := s.b.(storage.Provisioner).Create(req)
	if err != nil {
		return resp, fmt.Errorf("Create(%s, %d bytes) = %w, want a volume", req.Name, req.Size, err)
	}
	return resp, nil
}

func (s *subject) attachTo(id, node string) error {
	if !backends.Can(s.b, storage.Attach) {
		return nil
	}
	attach, err := s.b.(storage.Attacher).Attach(storage.NodeRequest{ID: id, Node: node, Mode: corev1.ReadWriteOnce, Context: s.volume})
	s.attach = attach
	return wrap(err, "Attach(%s, %s)", id, node)
}

func (s *subject) detach(id, node string) error {
	if !backends.Can(s.b, storage.Attach) {
		return nil
	}
	return wrap(s.b.(storage.Attacher).Detach(storage.NodeRequest{ID: id, Node: node}), "Detach(%s, %s)", id, node)
}

func (s *subject) stage(id, node string) error {
	if !backends.Can(s.b, storage.Stage) {
		return nil
	}
	req := storage.NodeRequest{ID: id, Node: node, StagingPath: staging, Mode: corev1.ReadWriteOnce, Context: s.volume,
		AttachContext: s.attach}
	return wrap(s.b.(storage.Stager).Stage(req), "Stage(%s, %s)", id, node)
}

func (s *subject) unstage(id, node string) error {
	if !backends.Can(s.b, storage.Stage) {
		return nil
	}
	return wrap(s.b.(storage.Stager).Unstage(storage.NodeRequest{ID: id, Node: node, StagingPath: staging}), "Unstage(%s, %s)", id, node)
}

func (s *subject) publishRequest(id, node, target string, pod storage.PodRef) storage.NodeRequest {
	req := storage.NodeRequest{ID: id, Node: node, TargetPath: target, Pod: pod, Mode: corev1.ReadWriteOnce, Context: s.volume,
		AttachContext: s.attach, Source: s.source}
	if backends.Can(s.b, storage.Stage) {
		req.StagingPath = staging
	}
	return req
}

func (s *subject) publish(id, node, target string, pod storage.PodRef) error {
	return wrap(s.b.(storage.Publisher).Publish(s.publishRequest(id, node, target, pod)), "Publish(%s, %s, %s)", id, node, target)
}

func (s *subject) unpublish(id, node, target string) error {
	req := storage.NodeRequest{ID: id, Node: node, TargetPath: target}
	return wrap(s.b.(storage.Publisher).Unpublish(req), "Unpublish(%s, %s, %s)", id, node, target)
}

// mounted attaches, stages and publishes a volume.
func (s *subject) mounted(id, node string) error {
	return steps(
		func() error { return s.attachTo(id, node) },
		func() error { return s.stage(id, node) },
		func() error { return s.publish(id, node, target, pod) },
	)
}

// unmounted takes it all the way back.
func (s *subject) unmounted(id, node string) error {
	return steps(
		func() error { return s.unpublish(id, node, target) },
		func() error { return s.unstage(id, node) },
		func() error { return s.detach(id, node) },
	)
}

func (s *subject) delete(id string) error {
	return wrap(s.b.(storage.Provisioner).Delete(storage.DeleteRequest{ID: id, Source: s.source}), "Delete(%s)", id)
}

// steps runs the steps up to the first error.
func steps(each ...func() error) error {
	for i, step := range each {
		if err := step(); err != nil {
			return fmt.Errorf("step %d of %d: %w", i+1, len(each), err)
		}
	}
	return nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s = %w, want success", fmt.Sprintf(format, args...), err)
}

// rejected returns an error unless the call failed, with one of the codes if the backend is a CSI driver.
func (s *subject) rejected(call string, err error, codes ...storage.Code) error {
	if err == nil {
		return fmt.Errorf("%s succeeded, want code %v", call, codes)
	}
	if panicked, ok := errors.AsType[*backends.PanicError](err); ok {
		return fmt.Errorf("%s: %w\n%s", call, err, panicked.Stack)
	}
	if backends.IsInTree(s.b) {
		return nil
	}
	for _, code := range codes {
		if storage.CodeOf(err) == code {
			return nil
		}
	}
	return fmt.Errorf("%s = %w (code %s), want code %v", call, err, storage.CodeOf(err), codes)
}
