package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/volume"
	kubeletcsi "k8s.io/kubernetes/pkg/volume/csi"
	volumetest "k8s.io/kubernetes/pkg/volume/testing"

	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// TestStories compares the requests of the kubelets in all stories of csitest with those of the real kubelet, on the same API objects.
func TestStories(t *testing.T) {
	klog.SetLogger(logr.Discard())
	calls := requests.StoryCalls(t, "NodeStageVolume", "NodeUnstageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeExpandVolume")
	stub, compared, without := requests.NewStub(t), map[string]int{}, 0
	for _, c := range calls {
		if c.Story == "tokens" && (c.Method == "NodePublishVolume" || c.Method == "NodeUnpublishVolume") {
			continue // tokens of the real API server differ
		}
		t.Run(fmt.Sprintf("%s %s %d", c.Story, c.Method, c.Seq), func(t *testing.T) {
			s := &story{t: t, driver: stub, call: c, root: t.TempDir()}
			if !s.make() {
				without++
				return
			}
			requests.CompareCall(t, stub, c, s.root)
			compared[c.Method]++
		})
	}
	require.Greater(t, compared["NodeStageVolume"], len(calls)/10)
	t.Logf("%d requests compared: %v; %d have no object any more", len(calls)-without, compared, without)
}

// story runs the code of the kubelet with the API objects of a story.
type story struct {
	t      *testing.T
	driver *requests.Driver
	call   *requests.Call
	root   string
}

// plugin returns the CSI plugin of the kubelet.
func (s *story) plugin() volume.VolumePlugin {
	var attachments []runtime.Object
	for _, va := range s.call.Attachments {
		va = va.DeepCopy()
		va.Status.Attached = true // else the kubelet waits
		attachments = append(attachments, va)
	}
	client, factory := s.call.Client(s.t, attachments...)
	storage := factory.Storage().V1()
	host := volumetest.NewFakeKubeletVolumeHostWithCSINodeName(s.t, s.root, client, kubeletcsi.ProbeVolumePlugins(), s.call.Node, storage.CSIDrivers().Lister(),
		storage.VolumeAttachments().Lister())
	require.NoError(s.t, kubeletcsi.PluginHandler.RegisterPlugin(testdriver.Name, s.driver.Path, []string{"1.0.0"}, nil))
	s.t.Cleanup(func() { kubeletcsi.PluginHandler.DeRegisterPlugin(testdriver.Name, s.driver.Path) })
	plugin, err := host.GetPluginMgr().FindPluginByName(kubeletcsi.CSIPluginName)
	require.NoError(s.t, err)
	return plugin
}

// make makes the call, after those that must precede it. It returns false if an object is gone that the kubelet has in memory or in a file.
func (s *story) make() bool {
	require := require.New(s.t)
	path := ""
	if r, ok := s.call.Request.(interface{ GetTargetPath() string }); ok {
		path = r.GetTargetPath()
	}
	if r, ok := s.call.Request.(*spec.NodeExpandVolumeRequest); ok {
		path = r.GetVolumePath()
	}
	pv := s.call.PersistentVolume()
	var claim *corev1.ObjectReference
	if pv != nil {
		claim = pv.Spec.ClaimRef
	}
	if uidIn(path) != "" {
		claim = nil // another pod has another path
	}
	pod := s.call.Pod(path, claim)
	if pod == nil {
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gone", UID: types.UID(uidIn(path))}}
	}
	source, inline := s.source(pv, pod)
	if source == nil || pod.UID == "" && path != "" {
		return false
	}
	var group *int64
	if pod.Spec.SecurityContext != nil {
		group = pod.Spec.SecurityContext.FSGroup
	}
	plugin := s.plugin()
	if pv != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		s.device(plugin.(volume.BlockVolumePlugin), source, pod)
		return true
	}
	staging := ""
	if !inline {
		va := s.call.Attachment(pv.Name, s.call.Node)
		if va == nil {
			return false
		}
		devices := plugin.(volume.DeviceMountableVolumePlugin)
		device, err := devices.NewDeviceMounter()
		require.NoError(err)
		staging, err = device.GetDeviceMountPath(source)
		require.NoError(err)
		s.replay("NodeStageVolume")
		require.NoError(device.MountDevice(source, va.Name, staging, volume.DeviceMounterArgs{FsGroup: group}))
		switch s.call.Method {
		case "NodeStageVolume":
			return true
		case "NodeUnstageVolume":
			unmounter, err := devices.NewDeviceUnmounter()
			require.NoError(err)
			require.NoError(unmounter.UnmountDevice(staging))
			return true
		}
	}
	mounter, err := plugin.NewMounter(source, pod)
	require.NoError(err)
	s.replay("NodePublishVolume")
	require.NoError(mounter.SetUp(volume.MounterArgs{FsGroup: group}))
	switch request := s.call.Request.(type) {
	case *spec.NodeUnpublishVolumeRequest:
		unmounter, err := plugin.NewUnmounter(source.Name(), pod.UID)
		require.NoError(err)
		require.NoError(unmounter.TearDown())
	case *spec.NodeExpandVolumeRequest:
		s.driver.Replay(s.call.Method, s.call.Reply)
		_, _ = plugin.(volume.NodeExpandableVolumePlugin).NodeExpand(volume.NodeResizeOptions{VolumeSpec: source, DeviceMountPath: mounter.GetPath(),
			DeviceStagePath: staging, NewSize: *resource.NewQuantity(request.GetCapacityRange().GetRequiredBytes(), resource.BinarySI),
			OldSize: pv.Spec.Capacity[corev1.ResourceStorage]})
	}
	return true
}

// replay makes the driver succeed, so that only the request of the last call is compared.
func (s *story) replay(string) { s.driver.Replay("", nil) }

// source returns the volume for the kubelet; inline if it is in the pod.
func (s *story) source(pv *corev1.PersistentVolume, pod *corev1.Pod) (source *volume.Spec, inline bool) {
	if pv == nil {
		for i := range pod.Spec.Volumes {
			if pod.Spec.Volumes[i].CSI != nil {
				return volume.NewSpecFromVolume(&pod.Spec.Volumes[i]), true
			}
		}
		return nil, false
	}
	readOnly := false
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && pv.Spec.ClaimRef != nil && v.PersistentVolumeClaim.ClaimName == pv.Spec.ClaimRef.Name {
			readOnly = v.PersistentVolumeClaim.ReadOnly
		}
	}
	return volume.NewSpecFromPersistentVolume(pv, readOnly), false
}

// device makes the calls for a block volume.
func (s *story) device(plugin volume.BlockVolumePlugin, source *volume.Spec, pod *corev1.Pod) {
	require := require.New(s.t)
	mapper, err := plugin.NewBlockVolumeMapper(source, pod)
	require.NoError(err)
	custom := mapper.(volume.CustomBlockVolumeMapper)
	s.replay("NodeStageVolume")
	_, err = custom.SetUpDevice()
	require.NoError(err)
	if s.call.Method == "NodeStageVolume" {
		return
	}
	path, err := custom.MapPodDevice()
	require.NoError(err)
	if s.call.Method == "NodePublishVolume" {
		return
	}
	if request, ok := s.call.Request.(*spec.NodeExpandVolumeRequest); ok {
		_, _ = plugin.(volume.NodeExpandableVolumePlugin).NodeExpand(volume.NodeResizeOptions{VolumeSpec: source, DeviceMountPath: path,
			DeviceStagePath: s.root + strings.TrimPrefix(request.GetStagingTargetPath(), "/var/lib/kubelet"),
			NewSize:         *resource.NewQuantity(request.GetCapacityRange().GetRequiredBytes(), resource.BinarySI)})
		return
	}
	unmapper, err := plugin.NewBlockVolumeUnmapper(source.Name(), pod.UID)
	require.NoError(err)
	require.NoError(unmapper.(volume.CustomBlockVolumeUnmapper).UnmapPodDevice())
	if s.call.Method == "NodeUnstageVolume" {
		_ = os.RemoveAll(path)
		require.NoError(unmapper.(volume.CustomBlockVolumeUnmapper).TearDownDevice(filepath.Dir(path), path))
	}
}

// uidIn returns the uid of a pod in a path of a volume, "" for none.
func uidIn(path string) string {
	words := strings.Split(path, "/")
	for i, word := range words {
		if word == "pods" && i+1 < len(words) {
			return words[i+1]
		}
	}
	if strings.Contains(path, "/volumeDevices/publish/") {
		return words[len(words)-1]
	}
	return ""
}
