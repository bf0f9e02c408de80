package binder

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/claimsync"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/storage"
)

// csiPlugin is the only plugin that may copy data (PROV-040).
const csiPlugin = backends.InTreePrefix + "csi"

// provision chooses the way in which a claim gets a new volume, and starts the operation (PROV-020 to PROV-026).
func (c *controller) provision(p *engine.Process, claim *corev1.PersistentVolumeClaim) {
	if !c.cfg.DisableProvisioning {
		c.log.Info(4, "provisionClaim: started", pvc(claim))
	}
	class, _ := c.infClasses.Get(objects.ClassOf(claim))
	d := claimsync.Provision(class, c.cfg.DisableProvisioning, c.cfg.Migration, c.cfg.Backends)
	// PROV-026: the operation works on the claim as it is now.
	operation := "provision-" + c.store.Claims.KeyOf(claim) + "[" + string(claim.UID) + "]"
	run := func(fn func(p *engine.Process) error) {
		c.log.Info(4, "scheduleOperation", klog.String("operationName", operation))
		// PROV-026: an operation that runs or backs off is not started again; a later sync tries again.
		err := c.ops.RunAbout(engine.OperationKey{Volume: operation}, operation, claim, fn)
		pvcontroller.LogRejected(c.log, operation, err)
	}
	switch d.Rule {
	case "PROV-020":
		// PROV-020: provisioning is disabled.
	case "PROV-021":
		// PROV-021: the class does not exist.
		c.log.Error(fmt.Errorf("storageclass.storage.k8s.io %q not found", objects.ClassOf(claim)), noPlugin, pvc(claim))
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed",
			"storageclass.storage.k8s.io %q not found", objects.ClassOf(claim))
	case "PROV-022":
		// PROV-022, PROV-030: the CSI driver replaces the in-tree plugin.
		p.Decide("PROV-022", claim, "provisioning by %s in place of %s", d.Provisioner, class.Provisioner)
		run(func(p *engine.Process) error { return c.provisionExternally(p, claim, d.Provisioner) })
	case "PROV-023":
		// PROV-023: the controller creates the volume, with an in-tree plugin.
		p.Decide("PROV-023", claim, "provisioning by plugin %s", class.Provisioner)
		run(func(p *engine.Process) error { return c.provisionInTree(p, claim, class, d.Plugin) })
	case "PROV-024":
		// PROV-024: no external provisioner acts for an in-tree name.
		c.log.Error(d.Err, noPlugin, pvc(claim))
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", d.Err.Error())
	default:
		// PROV-025: an external provisioner creates the volume.
		if p.Tracing() {
			p.Decide("PROV-025", claim, "provisioning by external provisioner %s", d.Provisioner)
		}
		run(func(p *engine.Process) error { return c.provisionExternally(p, claim, d.Provisioner) })
	}
}

const noPlugin = "Error finding provisioning plugin for claim"

// provisionExternally requests a volume from an external provisioner. Each sync repeats the Event until the volume exists.
func (c *controller) provisionExternally(p *engine.Process, claim *corev1.PersistentVolumeClaim, provisioner string) error {
	c.log.Info(4, "provisionClaimOperationExternal started", pvc(claim), klog.String("storageClassName", objects.ClassOf(claim)))
	// PROV-031: the annotations name the provisioner.
	claim, err := c.nameProvisioner(p, claim, provisioner)
	if err != nil {
		c.log.Info(2, "Error saving claim", pvc(claim), failure(err))
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", "Error saving claim: %v", err)
		return err
	}
	// PROV-032, PROV-033: every run emits the Event.
	text := c.annotations.waiting(provisioner)
	c.events.Event(p, claim, corev1.EventTypeNormal, "ExternalProvisioning", text)
	c.log.Info(3, "provisionClaimOperationExternal provisioning claim", pvc(claim), klog.String("msg", text))
	return nil
}

// nameProvisioner sets the annotations that name the provisioner, unless the claim has them. On an error it returns the claim as it was.
func (c *controller) nameProvisioner(
	p *engine.Process, claim *corev1.PersistentVolumeClaim, provisioner string,
) (*corev1.PersistentVolumeClaim, error) {
	// PROV-031: a claim that names the provisioner already is not written.
	if name, ok := claim.Annotations[objects.AnnStorageProvisioner]; ok && name == provisioner {
		return claim, nil
	}
	named := *claim
	named.Annotations = c.annotations.naming(claim.Annotations, provisioner)
	named.Annotations, _ = objects.RepairClaimMigration(&named, c.cfg.Migration)
	updated, err := c.updateClaim(p, &named)
	if err != nil {
		return claim, err
	}
	return updated, nil
}

// provisionInTree creates a volume with an in-tree plugin, and saves it. An error is retried by a later sync, after the backoff of the
// operation (BIND-109).
func (c *controller) provisionInTree(
	p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, plugin storage.Backend,
) error {
	failed := func(claim *corev1.PersistentVolumeClaim, text string, args ...any) error {
		text = fmt.Sprintf(text, args...)
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", "%s", text)
		return fmt.Errorf("%s", text)
	}
	inClass := klog.String("storageClassName", class.Name)
	c.log.Info(4, "provisionClaimOperation started", pvc(claim), inClass)
	// PROV-040: no in-tree plugin can copy data.
	if claim.Spec.DataSource != nil && plugin.Name() != csiPlugin {
		c.log.Info(2, `plugin "`+plugin.Name()+`" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource`)
		return failed(claim, "plugin %q is not a CSI plugin. Only CSI plugin can provision a claim with a datasource", plugin.Name())
	}
	c.log.Info(4, "provisionClaimOperation", pvc(claim), klog.String("pluginName", plugin.Name()),
		klog.String("provisionerName", class.Provisioner))
	// PROV-041: the annotations name the provisioner.
	claim, err := c.nameProvisioner(p, claim, class.Provisioner)
	if err != nil {
		c.log.Info(2, "Error saving claim", pvc(claim), failure(err))
		return err
	}
	// PROV-042: an earlier run may have created the volume.
	name := "pvc-" + string(claim.UID)
	if _, err := c.api.Volumes.Get(p, name); err == nil {
		p.Decide("PROV-042", claim, "volume %s exists already", name)
		c.log.Info(4, "provisionClaimOperation: volume already exists, skipping", pvc(claim))
		return nil
	} else if !apierrors.IsNotFound(err) {
		c.log.Info(3, "Error reading persistent volume", klog.String("PV", name), failure(err))
		return err
	}
	// PROV-043: the plugin must support the mount options of the class.
	if len(class.MountOptions) > 0 && !backends.TakesMountOptions(plugin) {
		c.log.Info(2, "Mount options are not supported by the provisioner but claim's StorageClass has mount options", pvc(claim), inClass,
			klog.JSON("options", class.MountOptions))
		return failed(claim, "Mount options are not supported by the provisioner but StorageClass %q has mount options %v",
			class.Name, class.MountOptions)
	}
	request := createRequest(name, claim, class)
	// PROV-044: the plugin must accept the request.
	if err := backends.PrepareCreate(plugin, request); err != nil {
		c.log.Info(2, "Failed to create provisioner for claim with StorageClass", pvc(claim), inClass, klog.Err(err))
		return failed(claim, "Failed to create provisioner: %v", err)
	}
	// PROV-045: the selected node must be in the cache.
	if node, selected := claim.Annotations[objects.AnnSelectedNode]; selected {
		if _, ok := c.infNodes.Get(node); !ok {
			c.log.Info(3, "Unexpected error getting target node for claim", klog.String("node", node), pvc(claim),
				klog.String("err", `node "`+node+`" not found`))
			return failed(claim, "Failed to get target node: node %q not found", node)
		}
		request.Node = node
	}
	response, err := c.createStorage(p, plugin, request)
	if err != nil {
		// PROV-046: the scheduler may find a better node.
		claim = c.dropSelectedNode(p, claim)
		c.log.Info(2, "Failed to provision volume for claim with StorageClass", pvc(claim), inClass, klog.Err(err))
		return failed(claim, "Failed to provision volume with StorageClass %q: %v", class.Name, err)
	}
	c.log.Info(3, "Volume for claim created", pvc(claim), klog.String("volumeName", name))
	return c.saveVolume(p, claim, provisionedVolume(name, claim, class, plugin.Name(), response), plugin)
}

// createRequest returns the request for the plugin (PROV-046).
func createRequest(name string, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) storage.CreateRequest {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	request := storage.CreateRequest{
		Name:         name,
		Size:         size.Value(),
		Modes:        claim.Spec.AccessModes,
		VolumeMode:   objects.VolumeModeOf(claim.Spec.VolumeMode),
		Parameters:   class.Parameters,
		MountOptions: class.MountOptions,
		Class:        class.Name,
		Claim:        types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name},
	}
	// PROV-046: the plugin gets the allowedTopologies.
	for _, term := range class.AllowedTopologies {
		request.Requisite = append(request.Requisite, segments(term)...)
	}
	return request
}

// segments returns the topology segments that a term of allowedTopologies allows: one for each combination of its values.
func segments(term corev1.TopologySelectorTerm) []storage.Segment {
	all := []storage.Segment{{}}
	for _, requirement := range term.MatchLabelExpressions {
		var next []storage.Segment
		for _, segment := range all {
			for _, value := range requirement.Values {
				extended := maps.Clone(segment)
				extended[requirement.Key] = value
				next = append(next, extended)
			}
		}
		all = next
	}
	return all
}

// createStorage calls the plugin to create the volume.
func (c *controller) createStorage(
	p *engine.Process, plugin storage.Backend, request storage.CreateRequest,
) (response storage.Volume, err error) {
	call := api.Call{Target: plugin.Name(), Verb: string(storage.Create), Key: request.Name, Node: request.Node}
	err = p.Backend(call, backends.Delay(plugin, storage.Create, request.Name), func() error {
		return backends.Safely(plugin.Name(), storage.Create, func() error {
			response, err = plugin.(storage.Provisioner).Create(backends.OwnCreate(request))
			return err
		})
	})
	return response, err
}

// dropSelectedNode removes the scheduler's choice of a node from a claim. An error is ignored.
func (c *controller) dropSelectedNode(p *engine.Process, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	// PROV-046: a claim without a selected node is not written.
	if _, selected := claim.Annotations[objects.AnnSelectedNode]; !selected {
		return claim
	}
	dropped := *claim
	dropped.Annotations = maps.Clone(claim.Annotations)
	delete(dropped.Annotations, objects.AnnSelectedNode)
	if _, err := c.api.Claims.Update(p, &dropped); err != nil {
		c.log.Info(4, "Failed to delete annotation 'storagehelpers.AnnSelectedNode' for PersistentVolumeClaim", pvc(claim), failure(err))
		return claim
	}
	// BIND-023: the own cache gets the edited copy, with the version that it was made from.
	if err := c.cacheClaim(&dropped); err != nil {
		return claim
	}
	return &dropped
}
