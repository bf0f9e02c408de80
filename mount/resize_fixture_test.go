package mount

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

const (
	infeasible = corev1.PersistentVolumeClaimNodeResizeInfeasible
	inProgress = corev1.PersistentVolumeClaimNodeResizeInProgress
	pending    = corev1.PersistentVolumeClaimNodeResizePending
	succeeded  = `MountVolume.NodeExpandVolume succeeded for volume "pv1" n1`
	readOnly   = `MountVolume.NodeExpandVolume failed for volume "pv1" requested read-only file system`
)

// grow does the work of user and controller to expand c1, up to the part of the node (MNT-400).
func (w *fixture) grow(size string, changes ...func(*corev1.PersistentVolumeClaim)) {
	w.T.Helper()
	quantity := resource.MustParse(size)
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: quantity}
	})
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity}
		objects.SetAllocated(c, quantity)
		objects.SetResizeStatus(c, pending)
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
			{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue},
			{Type: "Other", Status: corev1.ConditionTrue},
			{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, Message: objects.ResizePendingMessage},
		}
		for _, change := range changes {
			change(c)
		}
	})
}

// claim describes the size of c1: "2Gi of 2Gi", with the status and the conditions of an expansion.
func (w *fixture) claim() string {
	w.T.Helper()
	c, err := w.Store().Claims.Get("default/c1")
	w.OK(err)
	capacity, allocated := c.Status.Capacity[corev1.ResourceStorage], c.Status.AllocatedResources[corev1.ResourceStorage]
	words := []string{capacity.String() + " of " + allocated.String()}
	if status := objects.ResizeStatus(c); status != "" {
		words = append(words, string(status))
	}
	for _, condition := range c.Status.Conditions {
		words = append(words, string(condition.Type))
	}
	return strings.Join(words, " ")
}

// conditionMessage returns the message of a condition of c1.
func (w *fixture) conditionMessage(kind corev1.PersistentVolumeClaimConditionType) string {
	w.T.Helper()
	c, err := w.Store().Claims.Get("default/c1")
	w.OK(err)
	for _, condition := range c.Status.Conditions {
		if condition.Type == kind {
			return condition.Message
		}
	}
	return ""
}

// nextSync advances until the next sync of p1 has had its effects.
func (w *fixture) nextSync() {
	w.T.Helper()
	w.Advance(59 * time.Second)
	want(w.T, "MNT-069: steps before the sync", w.steps(), nil)
	worker := w.node.kubelet.workers[w.stored("p1").UID]
	w.Advance(worker.ticker.TickAfter(w.Now()).Sub(w.Now()))
	w.Advance(100 * time.Millisecond)
}

// steps returns the writes of claims and the storage calls since the mark, in order.
func (w *fixture) steps() []string {
	var steps []string
	for e := range w.Since() {
		switch {
		case e.Type == trace.Write && e.Object.Kind == api.PersistentVolumeClaim && e.Verb != "load" && e.Actor != api.User:
			claim, _ := e.New.(*corev1.PersistentVolumeClaim)
			if claim == nil || e.Err != nil {
				steps = append(steps, e.Verb+" refused")
				continue
			}
			capacity := claim.Status.Capacity[corev1.ResourceStorage]
			steps = append(steps, fmt.Sprintf("%s %s %s", e.Verb, capacity.String(), objects.ResizeStatus(claim)))
		case e.Type == trace.Storage && e.Verb == "end":
			steps = append(steps, endedCall(e))
		}
	}
	return steps
}

func count(lines []string, part string) int {
	n := 0
	for _, line := range lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}
