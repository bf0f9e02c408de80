package fake

import (
	"regexp"

	"github.com/volsim/volsim/storage"
	corev1 "k8s.io/api/core/v1"
)

// Plugin is a [Memory] that acts as an in-tree plugin. Its errors have no gRPC status, and the ID of a deleted volume may come
// again as that of a static one.
type Plugin struct {
	*Memory
	supports     func(*corev1.PersistentVolumeSource) bool
	mountOptions bool
	disabled     bool // there is a provisioner, and it refuses
	tmpOnly      bool // only deletes below /tmp/
	byPod        bool // has a recycler pod scrub
}

// InTree makes a plugin that can create, delete, recycle and publish volumes with a hostPath source, and takes no mount options.
// A created volume is a directory below /tmp/. The name begins with "kubernetes.io/".
func InTree(name string, opts ...MemoryOption) *Plugin {
	p := newPlugin(name, storage.Create, storage.Delete, storage.Recycle, storage.Publish, storage.Unpublish)
	p.apply(opts)
	return p
}

// HostPath makes the hostPath plugin as kube-controller-manager has it: kubernetes.io/host-path recycles, deletes only below
// /tmp/ (RECL-036), and has a provisioner that is disabled. It refuses nobody.
func HostPath(opts ...MemoryOption) *Plugin {
	p := newPlugin(storage.InTreePrefix+"host-path", storage.Create, storage.Delete, storage.Recycle, storage.Publish, storage.Unpublish)
	p.disabled = true
	p.tmpOnly = true
	p.byPod = true
	p.lenient = true
	p.apply(opts)
	return p
}

// NFS makes the NFS plugin: kubernetes.io/nfs recycles, is mounted without attaching or staging, and takes mount options. It
// refuses nobody.
func NFS(opts ...MemoryOption) *Plugin {
	p := newPlugin(storage.InTreePrefix+"nfs", storage.Recycle, storage.Publish, storage.Unpublish)
	p.supports = func(s *corev1.PersistentVolumeSource) bool { return s.NFS != nil }
	p.mountOptions = true
	p.byPod = true
	p.lenient = true
	p.apply(opts)
	return p
}

// FlexVolume makes the plugin that kubelets have for a FlexVolume driver, such as "example.com/disk", by whose name it goes: it is
// published, and expanded on the node, and refuses nobody.
func FlexVolume(driver string, opts ...MemoryOption) *Plugin {
	p := newPlugin(driver, storage.Publish, storage.Unpublish, storage.NodeExpand)
	p.supports = func(s *corev1.PersistentVolumeSource) bool {
		return s.FlexVolume != nil && s.FlexVolume.Driver == driver
	}
	p.lenient = true
	p.apply(opts)
	return p
}

func newPlugin(name string, able ...storage.Op) *Plugin {
	m := newMemory(name, able...)
	m.inTree = true
	return &Plugin{Memory: m, supports: func(s *corev1.PersistentVolumeSource) bool { return s.HostPath != nil }}
}

// Supports reports whether the plugin is in charge of the source.
func (p *Plugin) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && p.supports(source)
}

// SupportsMountOptions reports whether a class of the plugin may have mount options (PROV-043).
func (p *Plugin) SupportsMountOptions() bool { return p.mountOptions }

// RecyclesByPod reports whether the plugin has a pod scrub its volumes, as NFS and HostPath do (RECL-070). The pod's work is Recycle.
func (p *Plugin) RecyclesByPod() bool { return p.byPod }

// Prepare refuses for a plugin whose provisioner is disabled, which is how HostPath comes.
func (p *Plugin) Prepare(storage.CreateRequest) error {
	if p.disabled && p.able[storage.Create] {
		return p.refuse(storage.FailedPrecondition, "provisioning in volume plugin %q is disabled", p.name)
	}
	return nil
}

// Create is [Memory.Create]; the answer has the source of the volume. What Prepare refuses, Create refuses as well.
func (p *Plugin) Create(req storage.CreateRequest) (storage.CreateResponse, error) {
	if err := p.Prepare(req); err != nil {
		return storage.CreateResponse{}, err
	}
	resp, err := p.Memory.Create(req)
	if err != nil {
		return storage.CreateResponse{}, err
	}
	resp.Source.HostPath = &corev1.HostPathVolumeSource{Path: "/tmp/hostpath_pv/" + resp.ID}
	return resp, nil
}

var belowTmp = regexp.MustCompile(`/tmp/.+`)

// Delete is [Memory.Delete]. HostPath looks at the path first.
func (p *Plugin) Delete(req storage.DeleteRequest) error {
	if p.tmpOnly && p.able[storage.Delete] {
		path := ""
		if req.Source != nil && req.Source.HostPath != nil {
			path = req.Source.HostPath.Path
		}
		if !belowTmp.MatchString(path) {
			// RECL-036: what is not below some /tmp/ may be anybody's.
			return p.refuse(storage.InvalidArgument, "host_path deleter only supports /tmp/.+ but received provided %s", path)
		}
	}
	return p.Memory.Delete(req)
}

// Report is [Memory.Report] for the sources that the plugin supports.
func (p *Plugin) Report(pvs []*corev1.PersistentVolume) []Problem {
	return append(p.Problems(), p.compare(pvs, p.Supports)...)
}
