package upstream

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	volumeexpand "k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csimigration"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// prepareExpand returns the expand controller.
func (c *Cluster) prepareExpand(ctx context.Context, client kubernetes.Interface,
	shared informers.SharedInformerFactory) (run func(), err error) {
	logged := klog.NewContext(ctx, c.EventLogger(actors.Expander))
	plugins := []volume.VolumePlugin{&mockStorage{c.plugin(differential.InTree)}, &nfs{c.plugin(differential.NFS)}}
	translator := csitrans.New()
	controller, err := volumeexpand.NewExpandController(logged, client, shared.Core().V1().PersistentVolumeClaims(), plugins, translator,
		csimigration.NewPluginManager(translator))
	if err != nil {
		return nil, fmt.Errorf("expand controller: %w", err)
	}
	return func() { controller.Run(logged) }, nil
}

// prepareEphemeral returns the ephemeral volume controller with as many workers as in kube-controller-manager.
func (c *Cluster) prepareEphemeral(ctx context.Context, client kubernetes.Interface,
	shared informers.SharedInformerFactory) (run func(), err error) {
	quiet := klog.NewContext(ctx, klog.LoggerWithName(harness.Discard, "quiet"))
	controller, err := ephemeral.NewController(quiet, client, shared.Core().V1().Pods(), shared.Core().V1().PersistentVolumeClaims())
	if err != nil {
		return nil, fmt.Errorf("ephemeral volume controller: %w", err)
	}
	return func() { controller.Run(quiet, ephemeralWorkers) }, nil
}

const ephemeralWorkers = 5

// ExpandVolumeDevice expands the volume.
func (p *mockStorage) ExpandVolumeDevice(spec *volume.Spec, size, _ resource.Quantity) (resource.Quantity, error) {
	return size, p.cluster.Call(actors.Expander, p.name, storage.Expand, spec.PersistentVolume.Name)
}

// RequiresFSResize returns false: no node could resize the file system.
func (p *mockStorage) RequiresFSResize() bool { return false }

var _ volume.ExpandableVolumePlugin = (*mockStorage)(nil)
