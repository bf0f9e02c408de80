package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// modifiedClaim is a bound claim whose volume is to have other attributes; any other is left as it is.
func (x *explainer) modifiedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	wanted, has := objects.ValueOf(claim.Spec.VolumeAttributesClassName), objects.ValueOf(claim.Status.CurrentVolumeAttributesClassName)
	status := claim.Status.ModifyVolumeStatus
	// VAC-003
	if status == nil && wanted == has {
		return
	}
	what := fmt.Sprintf("it asks for the attributes of class %q and has those of %q", wanted, has)
	driver, able := x.modifierOf(pv)
	switch {
	case !able:
		// VAC-002
		e.say("VAC-002", what+": "+driver+" does not change volumes")
		e.next(Somebody, "has to name the class it had, or move the data to another claim")
		e.never("nobody changes a volume of that kind")
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInProgress:
		x.modifying(e, claim, driver, status.TargetVolumeAttributesClassName)
	case wanted == "":
		// VAC-004
		e.say("VAC-004", what+": a volume is not changed back to having no class")
		e.next(Somebody, "has to name a class that has the attributes wanted")
		e.never("no class is no change")
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumePending:
		x.modifyPending(e, what, wanted, driver)
	case status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible && status.TargetVolumeAttributesClassName == wanted:
		e.say("VAC-013", fmt.Sprintf("%s: the driver was told to change the volume, and cannot%s", what, modifyError(claim)))
		e.next(Somebody, "has to name another class")
		e.Changes = Change{When: Never, Rule: "VAC-014", Text: "the driver is asked again after 5 min and more, and has no other answer until the class or the driver has changed"}
	case x.attributes[wanted] == nil:
		// VAC-006
		e.say("VAC-006", fmt.Sprintf("%s: class %q does not exist", what, wanted))
		e.next(Somebody, fmt.Sprintf("has to create VolumeAttributesClass %q, or to name another", wanted))
		e.never("nothing makes a class")
	default:
		e.say("VAC-007", what+": the change has not begun")
		e.next(actors.Resizer(driver), "has to change the volume")
		e.at(x.Now, "VAC-007", "as soon as it looks at the claim")
	}
}

// modifierOf is the driver of the volume, and whether it changes volumes.
func (x *explainer) modifierOf(pv *corev1.PersistentVolume) (driver string, able bool) {
	if pv.Spec.CSI == nil {
		return "an in-tree plugin", false
	}
	backend, known := x.backends().Driver(pv.Spec.CSI.Driver)
	return pv.Spec.CSI.Driver, !known || backends.Can(backend, storage.Modify)
}

// modifyError is what the driver said last, after a colon; "" if it did not complain.
func modifyError(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf(": %s: %s", c.Reason, c.Message)
		}
	}
	return ""
}

// modifying is a claim whose volume is being changed (VAC-007), with or without an error.
func (x *explainer) modifying(e *Explanation, claim *corev1.PersistentVolumeClaim, driver, target string) {
	said := modifyError(claim)
	switch {
	case x.attributes[target] == nil:
		// VAC-005
		e.say("VAC-005", fmt.Sprintf("its volume is being changed to class %q, which does not exist any more", target))
		e.next(Somebody, fmt.Sprintf("has to create VolumeAttributesClass %q again, or to name another", target))
		e.never("what was begun is brought to its end first, and for that its class is needed")
	case said != "":
		rule := "VAC-012"
		if strings.Contains(conditionMessage(claim, corev1.PersistentVolumeClaimVolumeModifyingVolume), "Waiting for retry") {
			rule = "VAC-013"
		}
		e.say(rule, fmt.Sprintf("its volume is being changed to class %q, and the driver failed%s", target, said))
		e.next(actors.Resizer(driver), "tries again")
		e.at(x.Now, "VAC-001", "at the next attempt, at most 5 min after the last")
	default:
		e.say("VAC-007", fmt.Sprintf("its volume is being changed to class %q", target))
		e.next(actors.Resizer(driver), "has to change the volume")
		e.at(x.Now, "VAC-011", "as soon as the driver has changed it; after an error it tries again, at most 5 min apart")
	}
	if wanted := objects.ValueOf(claim.Spec.VolumeAttributesClassName); wanted != target {
		e.Notes = append(e.Notes, fmt.Sprintf("then it is changed to class %q, which it asks for by now", wanted))
	}
}

// modifyPending is a claim that named a class that did not exist (VAC-006).
func (x *explainer) modifyPending(e *Explanation, what, wanted, driver string) {
	if x.attributes[wanted] == nil {
		e.say("VAC-006", fmt.Sprintf("%s: class %q does not exist", what, wanted))
		e.next(Somebody, fmt.Sprintf("has to name a class that exists; if %q is created, %s has to be restarted as well", wanted, actors.Resizer(driver)))
	} else {
		e.say("VAC-006", fmt.Sprintf("%s: class %q was created too late", what, wanted))
		e.next(Somebody, fmt.Sprintf("has to restart %s, or to name another class and then this one again", actors.Resizer(driver)))
	}
	e.Changes = Change{When: Never, Rule: "VAC-001", Text: "a class that comes later is not noticed"}
}
