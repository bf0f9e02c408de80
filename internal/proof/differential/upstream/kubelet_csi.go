package upstream

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// realCSI lists the interfaces of the kubelet's CSI plugin.
type realCSI interface {
	volume.AttachableVolumePlugin
	volume.BlockVolumePlugin
	volume.NodeExpandableVolumePlugin
}

// csiPlugin is the CSI plugin, unmodified except for the last step: its calls to a driver go to a csiNode instead of a socket, because a
// socket would stop the bubble's clock.
type csiPlugin struct {
	realCSI
	node *csiNode
}

// csiDrivers are the drivers that have registered with the kubelets of this process.
//
//go:linkname csiDrivers k8s.io/kubernetes/pkg/volume/csi.csiDrivers
var csiDrivers *csi.DriversStore

func newCSIPlugin(k *kubelet) *csiPlugin {
	csiDrivers.Set(differential.Driver, csi.Driver{})
	return &csiPlugin{csi.ProbeVolumePlugins()[0].(realCSI), &csiNode{kubelet: k}}
}

// NewMounter and the other constructors connect what the plugin returns to the driver here.
func (p *csiPlugin) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	mounter, err := p.realCSI.NewMounter(spec, pod)
	if err == nil {
		p.connect(mounter)
	}
	return mounter, err
}

func (p *csiPlugin) NewUnmounter(name string, pod types.UID) (volume.Unmounter, error) {
	unmounter, err := p.realCSI.NewUnmounter(name, pod)
	if err == nil {
		p.connect(unmounter)
	}
	return unmounter, err
}

func (p *csiPlugin) NewBlockVolumeMapper(spec *volume.Spec, pod *corev1.Pod) (volume.BlockVolumeMapper, error) {
	mapper, err := p.realCSI.NewBlockVolumeMapper(spec, pod)
	if err == nil {
		p.connect(mapper)
	}
	return mapper, err
}

func (p *csiPlugin) NewBlockVolumeUnmapper(name string, pod types.UID) (volume.BlockVolumeUnmapper, error) {
	unmapper, err := p.realCSI.NewBlockVolumeUnmapper(name, pod)
	if err == nil {
		p.connect(unmapper)
	}
	return unmapper, err
}

func (p *csiPlugin) NewAttacher() (volume.Attacher, error) {
	attacher, err := p.realCSI.NewAttacher()
	if err != nil {
		return nil, err
	}
	return attacher, p.connectDevice(attacher)
}

func (p *csiPlugin) NewDeviceMounter() (volume.DeviceMounter, error) { return p.NewAttacher() }

func (p *csiPlugin) NewDeviceUnmounter() (volume.DeviceUnmounter, error) {
	unmounter, err := p.realCSI.NewDeviceUnmounter()
	if err != nil {
		return nil, err
	}
	return unmounter, p.connectDevice(unmounter)
}

// connect gives a mounter or mapper a client for the driver here, and returns it. A driver that has not registered gets none.
func (p *csiPlugin) connect(mounter any) (client reflect.Value) {
	found := reflect.ValueOf(mounter).MethodByName("Get").Call(nil)
	if !found[1].IsNil() {
		return reflect.Value{}
	}
	creator := harness.Unexported(found[0].Elem().Elem().FieldByName("nodeV1ClientCreator"))
	results := []reflect.Type{creator.Type().Out(0), creator.Type().Out(1), creator.Type().Out(2)}
	creator.Set(reflect.MakeFunc(creator.Type(), func([]reflect.Value) []reflect.Value {
		node, closer := reflect.New(results[0]).Elem(), reflect.New(results[1]).Elem()
		node.Set(reflect.ValueOf(p.node))
		closer.Set(reflect.ValueOf(io.NopCloser(nil)))
		return []reflect.Value{node, closer, reflect.Zero(results[2])}
	}))
	return found[0]
}

// connectDevice gives an attacher the client of a mounter.
func (p *csiPlugin) connectDevice(attacher any) error {
	pv := &corev1.PersistentVolume{}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: differential.Driver}
	mounter, err := p.realCSI.NewMounter(volume.NewSpecFromPersistentVolume(pv, false), &corev1.Pod{})
	if err != nil {
		return err
	}
	harness.Unexported(reflect.ValueOf(attacher).Elem().FieldByName("csiClient")).Set(p.connect(mounter))
	return nil
}

// csiNode is the node service of differential.Driver on one machine. The backend's setting says how long calls take and how they end.
type csiNode struct {
	csipb.NodeClient // other methods are never called
	kubelet          *kubelet
}

// NodeGetCapabilities reports staging, expansion and VOLUME_MOUNT_GROUP, according to the scenario.
func (n *csiNode) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest,
	...grpc.CallOption) (*csipb.NodeGetCapabilitiesResponse, error) {
	resp := &csipb.NodeGetCapabilitiesResponse{}
	can := func(op storage.Op, what csipb.NodeServiceCapability_RPC_Type) {
		if !slices.Contains(n.kubelet.cluster.cfg.Cannot, op) {
			resp.Capabilities = append(resp.Capabilities,
				&csipb.NodeServiceCapability{Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: what}}})
		}
	}
	can(storage.Stage, csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
	can(storage.NodeExpand, csipb.NodeServiceCapability_RPC_EXPAND_VOLUME)
	if n.kubelet.cluster.cfg.MountGroup {
		can(storage.Publish, csipb.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	}
	return resp, nil
}

// NodeStageVolume mounts the volume once for the machine.
func (n *csiNode) NodeStageVolume(ctx context.Context, req *csipb.NodeStageVolumeRequest,
	_ ...grpc.CallOption) (*csipb.NodeStageVolumeResponse, error) {
	return &csipb.NodeStageVolumeResponse{}, n.call(ctx, storage.Stage, req.VolumeId, "", func() error {
		n.asked(differential.NodeRequest{Op: storage.Stage, ID: req.VolumeId, Staging: req.StagingTargetPath, Attach: req.PublishContext,
			Context: req.VolumeContext}, req.VolumeCapability)
		if err := n.mount(req.VolumeId, req.StagingTargetPath); err != nil || req.VolumeCapability.GetBlock() == nil {
			return err
		}
		return n.kubelet.mounter.keep(req.StagingTargetPath)
	})
}

// NodePublishVolume mounts it for a pod.
func (n *csiNode) NodePublishVolume(ctx context.Context, req *csipb.NodePublishVolumeRequest,
	_ ...grpc.CallOption) (*csipb.NodePublishVolumeResponse, error) {
	return &csipb.NodePublishVolumeResponse{}, n.call(ctx, storage.Publish, req.VolumeId, podOf(req.TargetPath), func() error {
		n.asked(differential.NodeRequest{Op: storage.Publish, ID: req.VolumeId, Path: req.TargetPath, Staging: req.StagingTargetPath,
			ReadOnly: req.Readonly,
			Attach:   req.PublishContext, Context: req.VolumeContext}, req.VolumeCapability)
		place := func(path string) error { return os.MkdirAll(path, 0o750) }
		if req.VolumeCapability.GetBlock() != nil {
			place = touch
		}
		if err := place(req.TargetPath); err != nil {
			return err
		}
		if req.StagingTargetPath == "" {
			return n.mount(req.VolumeId, req.TargetPath)
		}
		return n.mount(req.StagingTargetPath, req.TargetPath, "bind")
	})
}

// mount mounts something unless it is mounted already.
func (n *csiNode) mount(source, target string, options ...string) error {
	if mounted, err := n.kubelet.mounter.IsMountPoint(target); err != nil || mounted {
		return err
	}
	return n.kubelet.mounter.Mount(source, target, "", options)
}

// NodeUnpublishVolume undoes NodePublishVolume.
func (n *csiNode) NodeUnpublishVolume(ctx context.Context, req *csipb.NodeUnpublishVolumeRequest,
	_ ...grpc.CallOption) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, n.call(ctx, storage.Unpublish, req.VolumeId, podOf(req.TargetPath), func() error {
		n.asked(differential.NodeRequest{Op: storage.Unpublish, ID: req.VolumeId, Path: req.TargetPath}, nil)
		if err := n.kubelet.mounter.Unmount(req.TargetPath); err != nil {
			return err
		}
		if err := os.Remove(req.TargetPath); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

// NodeUnstageVolume undoes NodeStageVolume.
func (n *csiNode) NodeUnstageVolume(ctx context.Context, req *csipb.NodeUnstageVolumeRequest,
	_ ...grpc.CallOption) (*csipb.NodeUnstageVolumeResponse, error) {
	return &csipb.NodeUnstageVolumeResponse{}, n.call(ctx, storage.Unstage, req.VolumeId, "", func() error {
		n.asked(differential.NodeRequest{Op: storage.Unstage, ID: req.VolumeId, Staging: req.StagingTargetPath}, nil)
		return n.kubelet.mounter.Unmount(req.StagingTargetPath)
	})
}

// asked records a request and its capability.
func (n *csiNode) asked(r differential.NodeRequest, capability *csipb.VolumeCapability) {
	r.Node = n.kubelet.name
	for _, path := range []*string{&r.Path, &r.Staging} {
		if *path != "" {
			*path = n.kubelet.relative(*path)
		}
	}
	if capability != nil {
		r.Mode, r.FSType, r.Options = capability.AccessMode.Mode.String(), capability.GetMount().GetFsType(),
			capability.GetMount().GetMountFlags()
		r.Block, r.Group = capability.GetBlock() != nil, capability.GetMount().GetVolumeMountGroup()
	}
	n.kubelet.cluster.Backends[differential.Driver].Asked(r)
}

// podOf returns the pod of a path below the pods directory: the path contains the uid.
func podOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "pods" {
			return parts[i+1]
		}
	}
	return parts[len(parts)-1] // the name of a device
}

// call makes a call to the driver.
func (n *csiNode) call(ctx context.Context, op storage.Op, id, pod string, effect func() error) error {
	k := n.kubelet
	if err := k.live(); err != nil {
		return err
	}
	call := api.Call{Actor: k.actor, Target: differential.Driver, Verb: string(op), Key: id, Node: k.name, Pod: pod}
	if d := k.cluster.Sequencer; d != nil {
		verb, object := differential.CallOf(call)
		d.Await(apiserver.Transition{Component: k.actor, Verb: verb, Object: object}, k.ctx.Done())
		if err := k.live(); err != nil {
			return err
		}
	}
	e := trace.Entry{Time: time.Now(), Actor: k.actor, Type: trace.Storage, Verb: "begin", Call: call}
	delay, err := k.cluster.Backends[differential.Driver].Begin(op)
	if delay > 0 {
		k.cluster.Record(e)
		end := time.Now().Add(delay)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
			end = deadline
		}
		before, over := k.endsAt(end)
		defer over()
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			err = storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded")
		case <-k.ctx.Done():
		}
		k.endAfter(before)
		if err := k.live(); err != nil {
			return err
		}
	}
	if err == nil {
		err = effect()
	}
	err = differential.Internal(err)
	e.Time, e.Verb, e.Err = time.Now(), "end", err
	k.cluster.Record(e)
	if code, message, ok := backends.Status(err); ok {
		return status.Error(codes.Code(backends.CodeNumber(code)), message)
	}
	return err
}
