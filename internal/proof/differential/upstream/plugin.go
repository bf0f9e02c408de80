package upstream

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	volumeerrors "k8s.io/cloud-provider/volume/errors"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util/recyclerclient"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/storage"
)

// plugin is the common part of the volume plugins of the PersistentVolume controller. They cannot mount.
type plugin struct {
	cluster *Cluster
	name    string
}

func (c *Cluster) plugin(name string) plugin { return plugin{c, name} }

var errNoNode = errors.New("there is no node here")

func (p plugin) Init(volume.VolumeHost) error                    { return nil }
func (p plugin) GetPluginName() string                           { return p.name }
func (p plugin) GetVolumeName(spec *volume.Spec) (string, error) { return spec.Name(), nil }
func (p plugin) RequiresRemount(*volume.Spec) bool               { return false }
func (p plugin) NewUnmounter(string, types.UID) (volume.Unmounter, error) {
	return nil, errNoNode
}
func (p plugin) NewMounter(*volume.Spec, *corev1.Pod) (volume.Mounter, error) {
	return nil, errNoNode
}
func (p plugin) ConstructVolumeSpec(string, string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{}, errNoNode
}
func (p plugin) SupportsMountOption() bool                              { return false }
func (p plugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) { return false, nil }

// Recycle scrubs the volume.
func (p plugin) Recycle(name string, _ *volume.Spec, _ recyclerclient.RecycleEventRecorder) error {
	return p.cluster.Call(actors.PersistentVolume, p.name, storage.Recycle, name)
}

// nfs is a plugin that recycles.
type nfs struct{ plugin }

// CanSupport checks the source.
func (p *nfs) CanSupport(spec *volume.Spec) bool {
	return spec.PersistentVolume != nil && spec.PersistentVolume.Spec.NFS != nil
}

// mockStorage is a plugin that provisions, deletes and recycles.
type mockStorage struct{ plugin }

// CanSupport checks the source.
func (p *mockStorage) CanSupport(spec *volume.Spec) bool {
	return spec.PersistentVolume != nil && spec.PersistentVolume.Spec.HostPath != nil
}

// NewProvisioner returns a provisioner for one volume.
func (p *mockStorage) NewProvisioner(_ klog.Logger, options volume.VolumeOptions) (volume.Provisioner, error) {
	return &provisioner{p, options}, nil
}

type provisioner struct {
	plugin  *mockStorage
	options volume.VolumeOptions
}

// Provision returns the volume that the claim requests.
func (p *provisioner) Provision(selected *corev1.Node, _ []corev1.TopologySelectorTerm) (*corev1.PersistentVolume, error) {
	node := ""
	if selected != nil {
		node = selected.Name
	}
	if err := p.plugin.cluster.CallAt(actors.PersistentVolume, p.plugin.name, storage.Create, p.options.PVName, node); err != nil {
		return nil, err
	}
	claim := p.options.PVC
	pv := &corev1.PersistentVolume{}
	pv.Name = p.options.PVName
	pv.Spec.PersistentVolumeReclaimPolicy = p.options.PersistentVolumeReclaimPolicy
	pv.Spec.AccessModes = claim.Spec.AccessModes
	pv.Spec.VolumeMode = claim.Spec.VolumeMode
	pv.Spec.MountOptions = p.options.MountOptions
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	pv.Spec.PersistentVolumeSource = differential.HostPath(pv.Name)
	return pv, nil
}

// NewDeleter returns a deleter for one volume.
func (p *mockStorage) NewDeleter(_ klog.Logger, spec *volume.Spec) (volume.Deleter, error) {
	return &deleter{plugin: p, name: spec.PersistentVolume.Name}, nil
}

type deleter struct {
	volume.MetricsNil
	plugin *mockStorage
	name   string
}

// GetPath returns nothing.
func (d *deleter) GetPath() string { return "" }

// Delete deletes the volume.
func (d *deleter) Delete() error {
	err := d.plugin.cluster.Call(actors.PersistentVolume, d.plugin.name, storage.Delete, d.name)
	if errors.Is(err, differential.ErrInUse) {
		return volumeerrors.NewDeletedVolumeInUseError(err.Error())
	}
	return err
}

var (
	_ volume.ProvisionableVolumePlugin = (*mockStorage)(nil)
	_ volume.DeletableVolumePlugin     = (*mockStorage)(nil)
	_ volume.RecyclableVolumePlugin    = (*nfs)(nil)
)
