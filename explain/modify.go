package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// modifiedClaim explains a bound claim that asks for another VolumeAttributesClass. It leaves e unchanged for other claims.
func (x *explainer) modifiedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	wanted, has := objects.ValueOf(claim.Spec.VolumeAttributesClassName), objects.ValueOf(claim.Status.CurrentVolumeAttributesClassName)
	status := claim.Status.ModifyVolumeStatus
	// VAC-003: nothing to modify.
	if status == nil && wanted == has {
		return
	}
	what := fmt.Sprintf("it asks for VolumeAttributesClass %q and has %q", wanted, has)
	driver, able := x.modifierOf(pv)
	switch {
	case !able:
		// VAC-002: the driver cannot modify volumes.
		e.because("VAC-002", what+": "+driver+" cannot modify volumes")
		e.todo("set the previous class again, or move the data to another claim")
		e.manual("no component modifies this volume")
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInProgress:
		x.modifying(e, claim, driver, status.TargetVolumeAttributesClassName)
	case wanted == "":
		// VAC-004: removing the class is not a modification.
		e.because("VAC-004", what+": removing the class does not modify the volume")
		e.todo("set a class with the attributes that you want")
		e.manual("without a class nothing is modified")
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumePending:
		x.modifyPending(e, what, wanted, driver)
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible &&
		status.TargetVolumeAttributesClassName == wanted:
		failure, _ := x.modifyError(claim, driver)
		e.because("VAC-013", fmt.Sprintf("%s: the driver cannot modify the volume that way%s", what, failure))
		e.todo("set another class")
		e.Changes = Change{When: Manual, Rule: "VAC-014",
			Text: "each retry, 5m and more apart, fails the same way until the class or the driver changes"}
	case x.attributes[wanted] == nil:
		// VAC-006: the class is missing.
		e.because("VAC-006", fmt.Sprintf("%s: class %q %s", what, wanted, x.missing("volumeattributesclasses")))
		e.todo(fmt.Sprintf("create VolumeAttributesClass %q, or set another class", wanted))
		e.manual("no component creates classes")
	default:
		e.because("VAC-007", what+": the modification has not started")
		e.next(actors.Resizer(driver), "modifies the volume")
		e.automatic(x.Now, "VAC-007", "with its next sync of the claim")
	}
}

// modifierOf returns the driver of the volume, and whether it can modify volumes.
func (x *explainer) modifierOf(pv *corev1.PersistentVolume) (driver string, able bool) {
	if pv.Spec.CSI == nil {
		return "an in-tree plugin", false
	}
	backend, known := x.backends().Driver(pv.Spec.CSI.Driver)
	return pv.Spec.CSI.Driver, !known || backends.Can(backend, storage.Modify)
}

// modifyError returns the last error of the driver after a colon, "" if there is none. final reports that the driver no longer modifies the
// volume; otherwise it may.
func (x *explainer) modifyError(claim *corev1.PersistentVolumeClaim, driver string) (text string, final bool) {
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && c.Status == corev1.ConditionTrue {
			// VAC-012, VAC-013: the reason is the code of the driver's error.
			text = ": " + c.Message
			if c.Reason != "" {
				text = ": " + c.Reason + text
			}
			return text,
				!backends.UnknownOutcome(storage.Modify, storage.Errorf(storage.Code(c.Reason), "%s", c.Message))
		}
	}
	if a, ok := x.modifyFails(claim, driver); ok && a.Message != "" {
		return fmt.Sprintf(": %s: %s", a.Code, a.Message), !backends.UnknownOutcome(storage.Modify, storage.Errorf(a.Code, "%s", a.Message))
	}
	return "", false
}

// modifyFails returns what is assumed about a driver that refuses to modify the volume of a claim.
func (x *explainer) modifyFails(claim *corev1.PersistentVolumeClaim, driver string) (evidence.Assumption, bool) {
	pv := x.volumes[claim.Spec.VolumeName]
	if pv == nil {
		return evidence.Assumption{}, false
	}
	return x.Evidence.Call(driver, backends.Handle(pv), "", storage.Modify)
}

// modifying explains a claim whose volume is being modified (VAC-007), after an error or not.
func (x *explainer) modifying(e *Explanation, claim *corev1.PersistentVolumeClaim, driver, target string) {
	failure, final := x.modifyError(claim, driver)
	switch {
	case x.attributes[target] == nil:
		// VAC-005: a started modification is finished first.
		e.because("VAC-005", fmt.Sprintf("its volume is being modified to class %q, which no longer exists", target))
		e.todo(fmt.Sprintf("create VolumeAttributesClass %q again, or set another class", target))
		e.manual("a started modification is finished first, and needs its class")
	case failure != "":
		// VAC-012: the driver may still modify the volume. VAC-013: it does not.
		rule := "VAC-012"
		if final {
			rule = "VAC-013"
		}
		e.because(rule, fmt.Sprintf("its volume is being modified to class %q, and the driver failed%s", target, failure))
		if a, ok := x.modifyFails(claim, driver); ok {
			e.assume(a)
			x.explainError(e, a, driver)
			e.todo("or set another class")
			e.manual("each retry, within 5m, fails the same way")
			break
		}
		e.next(actors.Resizer(driver), "retries")
		e.automatic(x.Now, "VAC-001", "retried within 5m")
	default:
		e.because("VAC-007", fmt.Sprintf("its volume is being modified to class %q", target))
		e.next(actors.Resizer(driver), "modifies the volume")
		e.automatic(x.Now, "VAC-011", "when the driver has modified it; failures are retried within 5m")
	}
	if wanted := objects.ValueOf(claim.Spec.VolumeAttributesClassName); wanted != target {
		e.Notes = append(e.Notes, fmt.Sprintf("next it is modified to class %q, which the claim asks for now", wanted))
	}
}

// modifyPending explains a claim whose class did not exist when the resizer synced it (VAC-006).
func (x *explainer) modifyPending(e *Explanation, what, wanted, driver string) {
	if x.attributes[wanted] == nil {
		e.because("VAC-006", fmt.Sprintf("%s: class %q %s", what, wanted, x.missing("volumeattributesclasses")))
		e.todo(fmt.Sprintf("set a class that exists; or create class %q and restart %s", wanted, actors.Resizer(driver)))
	} else {
		e.because("VAC-006", fmt.Sprintf("%s: class %q was created after the resizer looked for it", what, wanted))
		e.todo(fmt.Sprintf("restart %s, or set another class and then this one again", actors.Resizer(driver)))
	}
	e.Changes = Change{When: Manual, Rule: "VAC-001", Text: "the resizer does not notice a class that is created later"}
}
