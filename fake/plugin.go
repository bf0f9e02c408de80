package fake

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Plugin is a [Memory] that acts as an in-tree plugin. Its errors have no gRPC code, and the ID of a deleted volume is accepted as that
// of a static one.
type Plugin struct {
	pluginContract
	*Memory
}

// pluginContract has the methods of a Plugin that differ from those of a Memory.
type pluginContract interface {
	backends.InTreePlugin
	backends.Preparer
	storage.Provisioner
}

// InTree returns a plugin that can create, delete, recycle and publish volumes with a hostPath source. It accepts no mount options. The
// volumes that it creates are directories below /tmp/. The name should begin with "kubernetes.io/".
func InTree(name string, opts ...MemoryOption) *Plugin {
	p := newPlugin(name, storage.Create, storage.Delete, storage.Recycle, storage.Publish, storage.Unpublish)
	return p.plugin(opts)
}

// HostPath returns the hostPath plugin as kube-controller-manager configures it: kubernetes.io/host-path recycles volumes, deletes only
// paths below /tmp/ (RECL-036), and does not provision. It is [Lenient].
func HostPath(opts ...MemoryOption) *Plugin {
	p := newPlugin(backends.InTreePrefix+"host-path", storage.Create, storage.Delete, storage.Recycle, storage.Publish, storage.Unpublish)
	p.disabled = true
	p.tmpOnly = true
	p.asPlugin.RecyclerPod = true
	p.lenient = true
	return p.plugin(opts)
}

// NFS returns the NFS plugin: kubernetes.io/nfs recycles volumes, publishes them without attaching or staging, and accepts mount options.
// It is [Lenient].
func NFS(opts ...MemoryOption) *Plugin {
	p := newPlugin(backends.InTreePrefix+"nfs", storage.Recycle, storage.Publish, storage.Unpublish)
	p.supports = func(s *corev1.PersistentVolumeSource) bool { return s.NFS != nil }
	p.asPlugin.MountOptions = true
	p.asPlugin.RecyclerPod = true
	p.lenient = true
	return p.plugin(opts)
}

// FlexVolume returns the plugin of kubelets for a FlexVolume driver, such as "example.com/disk", which is also its name. It publishes
// volumes and expands them on the node. It is [Lenient].
func FlexVolume(driver string, opts ...MemoryOption) *Plugin {
	p := newPlugin(driver, storage.Publish, storage.Unpublish, storage.NodeExpand)
	p.supports = func(s *corev1.PersistentVolumeSource) bool {
		return s.FlexVolume != nil && s.FlexVolume.Driver == driver
	}
	p.lenient = true
	return p.plugin(opts)
}

// pluginModel implements a Plugin.
type pluginModel struct {
	*model
	disabled bool // the provisioner rejects all requests
	tmpOnly  bool // deletes only below /tmp/
}

func newPlugin(name string, able ...storage.Op) *pluginModel {
	m := newModel(name, able...)
	m.inTree = true
	m.supports = func(s *corev1.PersistentVolumeSource) bool { return s.HostPath != nil }
	return &pluginModel{model: m}
}

func (p *pluginModel) plugin(opts []MemoryOption) *Plugin {
	p.apply(opts)
	return &Plugin{pluginContract: p, Memory: &Memory{contract: p.model, model: p.model}}
}

// Supports implements backends.InTreePlugin.
func (p *pluginModel) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && p.supports(source)
}

// Prepare returns an error if the provisioner is disabled.
func (p *pluginModel) Prepare(storage.CreateRequest) error {
	if p.disabled && p.able[storage.Create] {
		return p.fail(storage.FailedPrecondition, "provisioning in volume plugin %q is disabled", p.name)
	}
	return nil
}

// Create creates a volume with a source. It returns the error of Prepare, if any.
func (p *pluginModel) Create(req storage.CreateRequest) (storage.Volume, error) {
	if err := p.Prepare(req); err != nil {
		return storage.Volume{}, err
	}
	resp, err := p.model.Create(req)
	if err != nil {
		return storage.Volume{}, err
	}
	resp.Source.HostPath = &corev1.HostPathVolumeSource{Path: "/tmp/hostpath_pv/" + resp.ID}
	return resp, nil
}

var belowTmp = regexp.MustCompile(`/tmp/.+`)

// Delete destroys the volume. The hostPath plugin checks the path first.
func (p *pluginModel) Delete(req storage.DeleteRequest) error {
	if p.tmpOnly && p.able[storage.Delete] {
		path := ""
		if req.Source != nil && req.Source.HostPath != nil {
			path = req.Source.HostPath.Path
		}
		if !belowTmp.MatchString(path) {
			// RECL-036: a path elsewhere may belong to anything on the node.
			return p.fail(storage.InvalidArgument, "host_path deleter only supports /tmp/.+ but received provided %s", path)
		}
	}
	return p.model.Delete(req)
}
