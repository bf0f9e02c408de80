package kubelet

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/volume"
	kubeletcsi "k8s.io/kubernetes/pkg/volume/csi"
	volumetest "k8s.io/kubernetes/pkg/volume/testing"

	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// real runs the code of the kubelet with the API objects of a simulated cluster.
type real struct {
	t       *testing.T
	driver  *requests.Driver
	objects *requests.Objects
	root    string // directory of the kubelet
}

// plugin returns the CSI plugin of the kubelet.
func (r *real) plugin() volume.VolumePlugin {
	var attachment []runtime.Object
	if r.objects.Attachment != nil {
		attachment = append(attachment, r.objects.Attachment)
	}
	client, factory := r.objects.Client(r.t, attachment...)
	storage := factory.Storage().V1()
	host := volumetest.NewFakeKubeletVolumeHostWithCSINodeName(r.t, r.root, client, kubeletcsi.ProbeVolumePlugins(), "n1", storage.CSIDrivers().Lister(),
		storage.VolumeAttachments().Lister())
	require.NoError(r.t, kubeletcsi.PluginHandler.RegisterPlugin(testdriver.Name, r.driver.Path, []string{"1.0.0"}, nil))
	r.t.Cleanup(func() { kubeletcsi.PluginHandler.DeRegisterPlugin(testdriver.Name, r.driver.Path) })
	plugin, err := host.GetPluginMgr().FindPluginByName(kubeletcsi.CSIPluginName)
	require.NoError(r.t, err)
	return plugin
}

// spec returns the volume of the pod.
func (r *real) spec() *volume.Spec {
	if r.objects.Volume == nil {
		return volume.NewSpecFromVolume(&r.objects.Pod.Spec.Volumes[0])
	}
	return volume.NewSpecFromPersistentVolume(r.objects.Volume, r.objects.Pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly)
}

// mount makes the kubelet mount the volume, grow it to size if that is not zero, and unmount it.
func (r *real) mount(size resource.Quantity) {
	require := require.New(r.t)
	plugin, pod, spec := r.plugin(), r.objects.Pod, r.spec()
	var group *int64
	if pod.Spec.SecurityContext != nil {
		group = pod.Spec.SecurityContext.FSGroup
	}
	if spec.PersistentVolume != nil && *spec.PersistentVolume.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		r.mapDevice(plugin.(volume.BlockVolumePlugin), spec)
		return
	}
	staging := ""
	if spec.PersistentVolume != nil {
		devices := plugin.(volume.DeviceMountableVolumePlugin)
		device, err := devices.NewDeviceMounter()
		require.NoError(err)
		staging, err = device.GetDeviceMountPath(spec)
		require.NoError(err)
		require.NoError(device.MountDevice(spec, r.objects.Attachment.Name, staging, volume.DeviceMounterArgs{FsGroup: group}))
		defer func() {
			unmounter, err := devices.NewDeviceUnmounter()
			require.NoError(err)
			require.NoError(unmounter.UnmountDevice(staging))
		}()
	}
	mounter, err := plugin.NewMounter(spec, pod)
	require.NoError(err)
	require.NoError(mounter.SetUp(volume.MounterArgs{FsGroup: group}))
	if !size.IsZero() {
		_, err := plugin.(volume.NodeExpandableVolumePlugin).NodeExpand(volume.NodeResizeOptions{VolumeSpec: spec, DevicePath: r.objects.Attachment.Name,
			DeviceMountPath: mounter.GetPath(), DeviceStagePath: staging, NewSize: size, OldSize: r.objects.Volume.Spec.Capacity[corev1.ResourceStorage]})
		require.NoError(err)
	}
	unmounter, err := plugin.NewUnmounter(spec.Name(), pod.UID)
	require.NoError(err)
	require.NoError(unmounter.TearDown())
}

// mapDevice makes the kubelet map a block volume and unmap it.
func (r *real) mapDevice(plugin volume.BlockVolumePlugin, spec *volume.Spec) {
	require := require.New(r.t)
	mapper, err := plugin.NewBlockVolumeMapper(spec, r.objects.Pod)
	require.NoError(err)
	custom := mapper.(volume.CustomBlockVolumeMapper)
	_, err = custom.SetUpDevice()
	require.NoError(err)
	path, err := custom.MapPodDevice()
	require.NoError(err)
	unmapper, err := plugin.NewBlockVolumeUnmapper(spec.Name(), r.objects.Pod.UID)
	require.NoError(err)
	require.NoError(unmapper.(volume.CustomBlockVolumeUnmapper).UnmapPodDevice())
	require.NoError(unmapper.(volume.CustomBlockVolumeUnmapper).TearDownDevice(filepath.Dir(path), path))
}
