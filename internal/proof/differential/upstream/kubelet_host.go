package upstream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// volumeHost is the kubelet as its volume plugins see it.
type volumeHost struct {
	*kubelet
	drivers informers.SharedInformerFactory
	// ready is set when the plugins are initialized. Before that there are no informers, so the CSI plugin does not start what it would
	// share with later kubelets of this process. named is set when the plugin has asked for the node's name; from then until ready there
	// is no client either, so the plugin does not write the CSINode.
	ready, named atomic.Bool
}

var _ volume.KubeletVolumeHost = (*volumeHost)(nil)

func (h *volumeHost) initialize(plugins *volume.VolumePluginMgr, all ...volume.VolumePlugin) error {
	err := plugins.InitPlugins(all, nil, h)
	h.ready.Store(true)
	return err
}

var errNotHere = errors.New("there is no such thing here")

func (h *volumeHost) GetKubeClient() kubernetes.Interface {
	if h.named.Load() && !h.ready.Load() {
		return nil
	}
	return h.client
}

func (h *volumeHost) GetNodeName() types.NodeName {
	h.named.Store(true)
	return types.NodeName(h.name)
}

func (h *volumeHost) GetInformerFactory() informers.SharedInformerFactory {
	if !h.ready.Load() {
		return nil
	}
	return h.drivers
}

func (h *volumeHost) CSIDriverLister() storagelisters.CSIDriverLister {
	return h.drivers.Storage().V1().CSIDrivers().Lister()
}

func (h *volumeHost) CSIDriversSynced() cache.InformerSynced {
	return h.drivers.Storage().V1().CSIDrivers().Informer().HasSynced
}

func (h *volumeHost) WaitForCacheSync() error {
	if !cache.WaitForCacheSync(h.ctx.Done(), h.CSIDriversSynced()) {
		return errors.New("failed to wait for cache sync for CSIDriverLister")
	}
	return nil
}

// Directories below the root.
func (h *volumeHost) GetPodsDir() string { return h.podsDir() }
func (h *volumeHost) GetPluginDir(plugin string) string {
	return filepath.Join(h.root, "plugins", plugin)
}
func (h *volumeHost) GetVolumeDevicePluginDir(plugin string) string {
	return filepath.Join(h.GetPluginDir(plugin), "volumeDevices")
}
func (h *volumeHost) GetPodVolumeDir(pod types.UID, plugin, name string) string {
	return filepath.Join(h.podDir(pod), "volumes", plugin, name)
}
func (h *volumeHost) GetPodPluginDir(pod types.UID, plugin string) string {
	return filepath.Join(h.podDir(pod), "plugins", plugin)
}
func (h *volumeHost) GetPodVolumeDeviceDir(pod types.UID, plugin string) string {
	return filepath.Join(h.podDir(pod), "volumeDevices", plugin)
}

func (h *volumeHost) GetMounter() mount.Interface            { return h.mounter }
func (h *volumeHost) GetHostUtil() hostutil.HostUtils        { return h.hostutil }
func (h *volumeHost) GetSubpather() subpath.Interface        { return subpath.New(h.mounter) }
func (h *volumeHost) GetEventRecorder() record.EventRecorder { return recorder{h.kubelet} }
func (h *volumeHost) SetKubeletError(error)                  {}

// node returns the Node from the watch.
func (h *volumeHost) node() (*corev1.Node, error) {
	node, err := h.nodes.Get(h.name)
	if err != nil {
		return nil, fmt.Errorf("error retrieving node: %v", err)
	}
	return node, nil
}

func (h *volumeHost) GetNodeLabels() (map[string]string, error) {
	node, err := h.node()
	if err != nil {
		return nil, err
	}
	return node.Labels, nil
}

// GetNodeAllocatable does without the Node: the kubelet knows what it would write into it.
func (h *volumeHost) GetNodeAllocatable() (corev1.ResourceList, error) {
	node, err := h.node()
	if err != nil {
		return nil, nil
	}
	return node.Status.Allocatable, nil
}

func (h *volumeHost) GetAttachedVolumesFromNodeStatus() (map[corev1.UniqueVolumeName]string, error) {
	node, err := h.node()
	if err != nil {
		return nil, err
	}
	attached := map[corev1.UniqueVolumeName]string{}
	for _, v := range node.Status.VolumesAttached {
		attached[v.Name] = v.DevicePath
	}
	return attached, nil
}

// Methods that no plugin here calls.
func (h *volumeHost) GetServiceAccountTokenFunc() func(string, string,
	*authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	return func(string, string, *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
		return nil, errNotHere
	}
}
func (h *volumeHost) DeleteServiceAccountTokenFunc() func(types.UID)     { return func(types.UID) {} }
func (h *volumeHost) GetTrustAnchorsByName(string, bool) ([]byte, error) { return nil, errNotHere }
func (h *volumeHost) GetTrustAnchorsBySigner(string, *metav1.LabelSelector, bool) ([]byte, error) {
	return nil, errNotHere
}
func (h *volumeHost) GetPodCertificateCredentialBundle(context.Context, string, string, string, string, int) ([]byte, []byte, error) {
	return nil, nil, errNotHere
}
