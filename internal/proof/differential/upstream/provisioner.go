package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/util/workqueue"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// startProvisioner runs the library of external provisioners, configured as in the CSI sidecar.
func (c *Cluster) startProvisioner(ctx context.Context) error {
	name := actors.Provisioner(differential.Driver)
	client, err := c.Server.Client(name)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, time.Hour)
	logged := klog.NewContext(ctx, c.EventLogger(name))
	made := &sidecar{cluster: c, client: client}
	if c.cfg.Attach {
		made.attachments = shared.Storage().V1().VolumeAttachments().Lister()
	}
	p := controller.NewProvisionController(logged, client, differential.Driver, made,
		controller.LeaderElection(false),
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 5*time.Minute)),
		controller.Threadiness(100),
		controller.CreateProvisionedPVLimiter(workqueue.DefaultTypedControllerRateLimiter[string]()),
		controller.ClaimsInformer(shared.Core().V1().PersistentVolumeClaims().Informer()),
		controller.AddFinalizer(true),
	)
	p.ControllerWaitGroup(&c.Running)
	c.SequenceWorkers(ctx, name, p, "claimQueue", "volumeQueue")
	shared.StartWithContext(klog.NewContext(ctx, harness.Discard))
	c.Running.Go(func() { <-ctx.Done(); shared.Shutdown() })
	c.Running.Go(func() { p.Run(logged) })
	return nil
}

// sidecar implements for the library what the CSI sidecar implements, for a driver without topology.
type sidecar struct {
	cluster *Cluster
	client  kubernetes.Interface
	// attachments is nil for a driver that does not attach.
	attachments storagelisters.VolumeAttachmentLister
}

var (
	_ controller.Provisioner      = (*sidecar)(nil)
	_ controller.Qualifier        = (*sidecar)(nil)
	_ controller.BlockProvisioner = (*sidecar)(nil)
)

// SupportsBlock returns true.
func (p *sidecar) SupportsBlock(context.Context) bool { return true }

// ShouldProvision reports whether the claim names the driver.
func (p *sidecar) ShouldProvision(_ context.Context, claim *corev1.PersistentVolumeClaim) bool {
	for _, key := range []string{storagehelpers.AnnStorageProvisioner, storagehelpers.AnnBetaStorageProvisioner,
		storagehelpers.AnnMigratedTo} {
		if claim.Annotations[key] == differential.Driver {
			return true
		}
	}
	return false
}

// Provision returns the volume that the claim requests.
func (p *sidecar) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume,
	controller.ProvisioningState, error) {
	claim := options.PVC
	if claim.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("claim Selector is not supported")
	}
	if name := claim.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		if _, err := p.client.StorageV1().VolumeAttributesClasses().Get(ctx, *name, metav1.GetOptions{}); err != nil {
			return nil, controller.ProvisioningNoChange, err
		}
	}
	if err := p.call(storage.Create, options.PVName); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	pv := &corev1.PersistentVolume{}
	pv.Name = options.PVName
	pv.Spec.AccessModes = claim.Spec.AccessModes
	pv.Spec.VolumeMode = claim.Spec.VolumeMode
	pv.Spec.MountOptions = options.StorageClass.MountOptions
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(request.Value(), resource.BinarySI)}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: differential.Driver, VolumeHandle: options.PVName,
		VolumeAttributes: map[string]string{
			"storage.kubernetes.io/csiProvisionerIdentity": fmt.Sprintf("%d-%s", differential.Epoch.UnixMilli(), differential.Driver),
		}}
	if policy := options.StorageClass.ReclaimPolicy; policy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *policy
	}
	return pv, controller.ProvisioningFinished, nil
}

// Delete deletes the volume.
func (p *sidecar) Delete(_ context.Context, pv *corev1.PersistentVolume) error {
	if pv.Spec.CSI == nil {
		return errors.New("invalid CSI PV")
	}
	if p.attachments != nil {
		all, err := p.attachments.List(labels.Everything())
		if err != nil {
			return err
		}
		for _, va := range all {
			if name := va.Spec.Source.PersistentVolumeName; name != nil && *name == pv.Name {
				return fmt.Errorf("persistentvolume %s is still attached to node %s", pv.Name, va.Spec.NodeName)
			}
		}
	}
	return p.call(storage.Delete, pv.Spec.CSI.VolumeHandle)
}

func (p *sidecar) call(op storage.Op, id string) error {
	return p.cluster.Call(actors.Provisioner(differential.Driver), differential.Driver, op, id)
}
