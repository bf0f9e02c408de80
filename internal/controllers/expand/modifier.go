package expand

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// modifier is the half of an external-resizer that modifies volumes.
type modifier struct {
	*resizer
	queue      *engine.Queue
	infeasible *infeasibleSet
	uncertain  map[string]bool // claims, by key, whose modification may still be running in the driver (VAC-012)
}

func newModifier(r *resizer) *modifier {
	m := &modifier{resizer: r, infeasible: newInfeasibleSet(r.cfg.RetryMax), uncertain: map[string]bool{}}
	m.queue = r.newQueue("modified claims", "VAC-001", m.sync)
	return m
}

// rememberInProgress marks modifications in progress as uncertain.
func (m *modifier) rememberInProgress(claims []*corev1.PersistentVolumeClaim) {
	for _, claim := range claims {
		// VAC-005: the result of a call of an earlier life is unknown.
		if isModifying(claim) {
			m.uncertain[api.KeyOf(claim)] = true
		}
	}
}

func isModifying(claim *corev1.PersistentVolumeClaim) bool {
	status := claim.Status.ModifyVolumeStatus
	return status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInProgress
}

// wantedClass returns the class that the claim names, "" for none.
func wantedClass(claim *corev1.PersistentVolumeClaim) string {
	return objects.ValueOf(claim.Spec.VolumeAttributesClassName)
}

// hasWantedClass reports whether the volume has the class that the claim names.
func hasWantedClass(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.ModifyVolumeStatus == nil && wantedClass(claim) == objects.ValueOf(claim.Status.CurrentVolumeAttributesClassName)
}

// modificationChanged reports whether a change of a claim may require a modification.
func (m *modifier) modificationChanged(old, claim *corev1.PersistentVolumeClaim) bool {
	// VAC-001: a claim that waits, or has failed, is queued when it names another class.
	if wantedClass(old) == wantedClass(claim) && claim.Status.ModifyVolumeStatus != nil || claim.Status.Phase != corev1.ClaimBound {
		return false
	}
	_, ok := m.volumes.get(old.Spec.VolumeName)
	return ok
}

// enqueue queues a claim if there is something to do for it.
func (m *modifier) enqueue(claim *corev1.PersistentVolumeClaim) {
	if m.hasWork(claim) {
		m.queue.Add(api.KeyOf(claim))
	}
}

// hasWork reports whether a sync of the claim would do something, or fail.
func (m *modifier) hasWork(claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.VolumeName == "" {
		return false
	}
	pv, ok := m.volumes.get(claim.Spec.VolumeName)
	return !ok || m.responsible(claim, pv) && (!hasWantedClass(claim) || !m.infeasible.empty() && m.infeasible.has(api.KeyOf(claim)))
}

func (m *modifier) responsible(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	// VAC-002: bound claims with a volume of this driver.
	return claim.Status.Phase == corev1.ClaimBound && pv.Spec.CSI != nil && pv.Spec.CSI.Driver == m.driver
}

func (m *modifier) sync(p *engine.Process, key string) error {
	claim, ok := m.claims.get(key)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, ok := m.volumes.get(claim.Spec.VolumeName)
	if !ok {
		// VAC-002: the cache may be out of date.
		return absent(fmt.Errorf("PV not found: %q of claim %s", claim.Spec.VolumeName, key))
	}
	if !m.responsible(claim, pv) {
		return nil
	}
	if err := m.checkInfeasible(p, key, claim); err != nil {
		return err
	}
	// VAC-003: the volume has the class already.
	if hasWantedClass(claim) {
		return nil
	}
	if wantedClass(claim) == "" && !isModifying(claim) {
		return m.rollBack(p, claim)
	}
	// VAC-005: a modification that may be in progress is finished first.
	if isModifying(claim) && (m.uncertain[key] || wantedClass(claim) == "") {
		target := claim.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName
		class, ok := m.classes.Get(target)
		if !ok {
			return m.missingClass(p, claim, target)
		}
		p.Decide("VAC-005", claim, "go on to change volume %s to %s", pv.Name, target)
		return m.change(p, key, claim, pv, class)
	}
	return m.begin(p, key, claim, pv)
}

// checkInfeasible returns an error if the modification has failed as infeasible recently (VAC-014).
func (m *modifier) checkInfeasible(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim) error {
	status := claim.Status.ModifyVolumeStatus
	// VAC-014: another class is tried at once.
	if status == nil || claim.Spec.VolumeAttributesClassName == nil ||
		status.TargetVolumeAttributesClassName != *claim.Spec.VolumeAttributesClassName {
		m.infeasible.remove(key)
		return nil
	}
	waits := m.infeasible.contains(key, p.Now())
	m.addInfeasible(p, key, claim)
	if waits {
		return errors.New("skipping volume modification for pvc " + key + ", because modification previously failed with infeasible error")
	}
	return nil
}

func (m *modifier) addInfeasible(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim) {
	// VAC-014: an infeasible modification is added.
	if status := claim.Status.ModifyVolumeStatus; status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible {
		m.infeasible.add(key, p.Now())
	}
}

// rollBack handles a claim that no longer names a class, while no modification is in progress (VAC-004).
func (m *modifier) rollBack(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	if !hasConditionOf(claim, corev1.PersistentVolumeClaimVolumeModifyingVolume) {
		return nil
	}
	// VAC-004: the status of the last modification stays.
	m.events.Event(p, claim, corev1.EventTypeNormal, reasonModifyCanceled, "Cancelled modify.")
	return m.markRolledBack(p, claim)
}

// missingClass emits an Event and returns the error for a class that does not exist.
func (m *modifier) missingClass(p *engine.Process, claim *corev1.PersistentVolumeClaim, class string) error {
	// VAC-005, VAC-006: an Event reports the missing class.
	m.events.Event(p, claim, corev1.EventTypeWarning, reasonModifyFailed, "VAC %q does not exist.", class)
	return fmt.Errorf("get VAC with vac name %s in VACInformer cache failed: volumeattributesclass.storage.k8s.io %q not found", class, class)
}

// begin starts the modification to the class that the claim names.
func (m *modifier) begin(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	class, ok := m.classes.Get(wantedClass(claim))
	if !ok {
		// VAC-006: this is not an error, so there is no retry.
		p.Decide("VAC-006", claim, "the class %s does not exist", wantedClass(claim))
		_ = m.missingClass(p, claim, wantedClass(claim))
		_, err := m.markPending(p, claim)
		return err
	}
	p.Decide("VAC-007", claim, "change volume %s to %s", pv.Name, class.Name)
	// VAC-007: the driver is called only after the status is written.
	claim, err := m.markInProgress(p, claim)
	if err != nil {
		return err
	}
	m.events.Event(p, claim, corev1.EventTypeNormal, reasonModify, "external resizer is modifying volume %s with vac %s", claim.Name,
		class.Name)
	return m.change(p, key, claim, pv, class)
}

// change calls the driver and records the result.
func (m *modifier) change(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume,
	class *storagev1.VolumeAttributesClass) error {
	if err := m.callDriver(p, claim, pv, class); err != nil {
		return m.changeFailed(p, key, claim, class, err)
	}
	newer, err := m.markCompleted(p, claim, pv)
	if err != nil {
		// VAC-011: the modification stays in progress.
		return fmt.Errorf("cannot get error status from modify volume err: modify volume failed to mark pvc %s modify volume completed: %w ",
			claim.Name, err)
	}
	m.events.Event(p, newer, corev1.EventTypeNormal, reasonModifySuccessful, "external resizer modified volume %s with vac %s successfully",
		claim.Name, class.Name)
	return nil
}

// callDriver modifies the volume in the driver.
func (m *modifier) callDriver(p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume,
	class *storagev1.VolumeAttributesClass) error {
	// VAC-010: the driver gets the parameters of the class.
	id, parameters := backends.Handle(pv), class.Parameters
	if m.opts.ExtraMetadata {
		parameters = maps.Clone(class.Parameters)
		if parameters == nil {
			parameters = map[string]string{}
		}
		parameters["csi.storage.k8s.io/pvc/name"] = claim.Name
		parameters["csi.storage.k8s.io/pvc/namespace"] = claim.Namespace
		parameters["csi.storage.k8s.io/pv/name"] = pv.Name
	}
	// VAC-015: a Secret that cannot be read is an error like one of the driver.
	secrets, err := readSecret(p, modifySecret(pv))
	if err != nil {
		return err
	}
	req := storage.ModifyRequest{ID: id, Parameters: parameters, Secrets: secrets}
	return m.calls.Call(p, storage.Modify, id, "", func() error { return m.backend.(storage.Modifier).Modify(backends.OwnModify(req)) })
}

// readSecret reads the content of a Secret, nil for no reference.
func readSecret(p *engine.Process, ref *corev1.SecretReference) (map[string]string, error) {
	content, err := p.API().Secret(p, ref)
	if err != nil {
		return nil, fmt.Errorf("error getting secret %s in namespace %s: %w", ref.Name, ref.Namespace, err)
	}
	return content, nil
}

// modifySecret returns the secret of a modification, nil for none.
func modifySecret(pv *corev1.PersistentVolume) *corev1.SecretReference {
	// VAC-015: the annotations of the PersistentVolume name it; else it is that of expansions.
	name, namespace := pv.Annotations[objects.AnnModifySecretName], pv.Annotations[objects.AnnModifySecretNamespace]
	if name != "" && namespace != "" {
		return &corev1.SecretReference{Name: name, Namespace: namespace}
	}
	if pv.Spec.CSI == nil {
		return nil
	}
	return pv.Spec.CSI.ControllerExpandSecretRef
}

// changeFailed records an error of the driver, in the claim and in memory (VAC-012, VAC-013).
func (m *modifier) changeFailed(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim,
	class *storagev1.VolumeAttributesClass, err error) error {
	code, text, ok := statusOf(err)
	if !ok {
		// VAC-013: an error that is not from the driver is not recorded.
		return fmt.Errorf("cannot get error status from modify volume err: %w", err)
	}
	status, shown := corev1.PersistentVolumeClaimModifyVolumeInProgress, err.Error()
	final := !backends.UnknownOutcome(storage.Modify, err)
	if !final {
		// VAC-012: the target must not change until the result is known.
		m.uncertain[key] = true
		shown += ". Still modifying to VAC " + class.Name
	} else {
		// VAC-013: one of the final errors means infeasible.
		if code == storage.InvalidArgument {
			status = corev1.PersistentVolumeClaimModifyVolumeInfeasible
		}
		delete(m.uncertain, key)
	}
	claim, markErr := m.markFailed(p, claim, status, final, code, text)
	if markErr != nil {
		return markErr
	}
	m.addInfeasible(p, key, claim)
	m.events.Event(p, claim, corev1.EventTypeWarning, reasonModifyFailed, shown)
	return err
}

// statusOf returns the gRPC status of an error; ok is false if it has none.
func statusOf(err error) (code storage.Code, text string, ok bool) {
	if code, text, ok := backends.Status(err); ok {
		return code, text, true
	}
	_, ok = errors.AsType[*backends.PanicError](err)
	return storage.CodeOf(err), err.Error(), ok
}

func hasConditionOf(claim *corev1.PersistentVolumeClaim, condition corev1.PersistentVolumeClaimConditionType) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition })
}
