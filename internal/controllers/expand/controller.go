package expand

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/claimstatus"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// component is the source of the expand controller's Events.
const component = "volume_expand"

// Config configures the expand controller. The zero value has no in-tree plugins.
type Config struct {
	// Backends are the in-tree plugins; nil means none.
	Backends *backends.Set
	// Migration returns the CSI driver that took over from an in-tree plugin (PROV-051); nil: no plugin is migrated.
	Migration Migration
}

// controller is the expand controller between two crashes.
type controller struct {
	cfg    Config
	claims engine.Informer[*corev1.PersistentVolumeClaim]
	queue  *engine.Queue
	events *engine.Recorder
}

// New adds the expand controller of kube-controller-manager (EXP-010 to EXP-016).
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if cfg.Backends == nil {
		cfg.Backends = &backends.Set{}
	}
	return e.NewActor(actors.Expander, func(a *engine.Actor) {
		c := &controller{cfg: cfg, claims: engine.NewInformer(a, e.Store().Claims), events: a.NewRecorder(component)}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "volume_expand", Kind: api.PersistentVolumeClaim, Workers: defaultWorkers,
			Of: c, Work: engine.Work[*controller]((*controller).sync)})
		engine.Handle(c.claims, c, &claimHandlers)
	})
}

var claimHandlers = engine.Handlers[*controller, *corev1.PersistentVolumeClaim]{
	Add: (*controller).enqueue,
	Update: func(c *controller, old, claim *corev1.PersistentVolumeClaim) {
		// EXP-010: a smaller request is handled by the resizer.
		if request, capacity := requestOf(claim), capacityOf(claim); request.Cmp(requestOf(old)) > 0 || capacity.Cmp(capacityOf(old)) > 0 {
			c.enqueue(claim)
		}
	},
	Delete: (*controller).enqueue,
}

const defaultWorkers = 10

func (c *controller) enqueue(claim *corev1.PersistentVolumeClaim) {
	// EXP-010: only bound claims are queued.
	if claim.Status.Phase == corev1.ClaimBound {
		c.queue.Add(c.claims.KeyOf(claim))
	}
}

func (c *controller) sync(p *engine.Process, key string) error {
	claim, ok := c.claims.Get(key)
	if !ok {
		return nil
	}
	// EXP-011: the volume is read live.
	pv, err := p.API().Volumes.Get(p, claim.Spec.VolumeName)
	// EXP-011: any problem with the volume is retried.
	switch {
	case err != nil && apierrors.IsNotFound(err):
		p.Decide("EXP-011", claim, "volume %s does not exist", claim.Spec.VolumeName)
		return absent(err)
	case err != nil:
		return fmt.Errorf("failed to get PV %q: %w", claim.Spec.VolumeName, err)
	case !isBoundTo(pv, claim):
		p.Decide("EXP-011", claim, "volume %s is not bound to this claim", pv.Name)
		return absent(fmt.Errorf("volume %s is not bound to claim %s", pv.Name, key))
	}
	// EXP-012: without a larger request and an unfinished expansion there is nothing to do.
	if !wantsMore(claim) && !hasPreResize(pv) {
		return nil
	}
	if plugin, driver, ok := c.cfg.Migration.ofSource(&pv.Spec.PersistentVolumeSource); ok {
		return c.handOver(p, claim, plugin, driver)
	}
	plugin, err := c.expandable(pv)
	if plugin == nil {
		// EXP-014: more than one plugin changes only the type of the Event.
		eventType := corev1.EventTypeNormal
		if err != nil {
			eventType = corev1.EventTypeWarning
		}
		p.Decide("EXP-014", claim, "no in-tree plugin expands volume %s", pv.Name)
		c.events.Event(p, claim, eventType, reasonExternalExpanding, "waiting for an external controller to expand this PVC")
		return nil
	}
	// EXP-015: after a finished expansion, the annotation is removed.
	if !wantsMore(claim) && hasAll(claim, pv) && hasPreResize(pv) {
		p.Decide("EXP-015", claim, "the expansion of volume %s is finished", pv.Name)
		_, err := removePreResize(p, pv)
		return err
	}
	if err := c.expand(p, claim, pv, plugin); err != nil {
		// EXP-016: an error emits an Event, and the claim is retried.
		c.events.Event(p, claim, corev1.EventTypeWarning, reasonResizeFailed, err.Error())
		return err
	}
	return nil
}

// handOver leaves the claim to the resizer of the CSI driver that took over from the plugin (EXP-013).
func (c *controller) handOver(p *engine.Process, claim *corev1.PersistentVolumeClaim, plugin, driver string) error {
	// EXP-013: an Event and an annotation name the CSI driver.
	c.events.Event(p, claim, corev1.EventTypeNormal, reasonExternalExpanding,
		"CSI migration enabled for "+plugin+"; waiting for external resizer to expand the pvc")
	edited := objects.CopyOfClaim(claim)
	objects.SetClaimAnnotation(edited, objects.AnnStorageResizer, driver)
	if _, err := patchClaim(p, claim, edited); err != nil {
		err = fmt.Errorf("error setting resizer annotation to pvc %s, with error %w", api.KeyOf(claim), err)
		c.events.Event(p, claim, corev1.EventTypeWarning, reasonExternalExpanding, err.Error())
		return err
	}
	return nil
}

// patchClaim writes the status of a claim. Errors have the text of kube-controller-manager.
func patchClaim(p *engine.Process, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	newer, err := claimstatus.Patch(p, old, edited)
	if err != nil {
		return old, fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", old.Name, err)
	}
	return newer, nil
}
