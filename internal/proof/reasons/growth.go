package reasons

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// resizer is the driver's external-resizer.
const resizer = "external-resizer/" + Driver

// grown returns BoundPair after a request for 20Gi, with the given resize status.
func grown(status corev1.ClaimResourceStatus, change ...func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)) []api.Object {
	claim, pv := BoundPair()
	size := resource.MustParse("20Gi")
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = size
	if status != "" {
		objects.SetAllocated(claim, size)
		objects.SetResizeStatus(claim, status)
	}
	switch status {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress,
		corev1.PersistentVolumeClaimNodeResizeInfeasible:
		pv.Spec.Capacity[corev1.ResourceStorage] = size
	}
	for _, f := range change {
		f(claim, pv)
	}
	return []api.Object{claim, pv}
}

// failing adds a condition with a message.
func failing(condition corev1.PersistentVolumeClaimConditionType, message string) func(*corev1.PersistentVolumeClaim,
	*corev1.PersistentVolume) {
	return failingWith(condition, "", message)
}

// failingWith adds a condition whose reason is the code of a driver's error.
func failingWith(condition corev1.PersistentVolumeClaimConditionType, code storage.Code, message string) func(*corev1.PersistentVolumeClaim,
	*corev1.PersistentVolume) {
	return func(claim *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
		claim.Status.Conditions = append(claim.Status.Conditions, corev1.PersistentVolumeClaimCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: string(code), Message: message,
			LastTransitionTime: metav1.NewTime(Now.Add(-time.Minute)),
		})
	}
}

// sourced replaces the volume's source.
func sourced(opts ...fake.Option) func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	return func(_ *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = fake.Volume("x", "1Gi", opts...).Spec.PersistentVolumeSource
	}
}

// Growth ask about the claim data, which requests more than it has.
func Growth() []Row {
	const (
		inProgress = corev1.PersistentVolumeClaimControllerResizeInProgress
		infeasible = corev1.PersistentVolumeClaimControllerResizeInfeasible
		pending    = corev1.PersistentVolumeClaimNodeResizePending
		nodeBusy   = corev1.PersistentVolumeClaimNodeResizeInProgress
		nodeNever  = corev1.PersistentVolumeClaimNodeResizeInfeasible
		outside    = corev1.PersistentVolumeClaimControllerResizeError
		onNode     = corev1.PersistentVolumeClaimNodeResizeError
	)
	inUse := "failed to expand pvc with rpc error: code = FailedPrecondition desc = volume is published"
	claim, _ := BoundPair()
	offline := Event(claim, "VolumeResizeFailed",
		"Unable to expand default/data because CSI driver "+Driver+" only supports offline expansion and volume is currently in-use")
	runner := Runs(User("p", "n1"))
	ready := ManagedNode("n1", true, true)
	and := func(objs []api.Object, more ...api.Object) []api.Object { return append(objs, more...) }
	migrated := func(_ *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
		pv.Annotations = map[string]string{objects.AnnMigratedTo: "ebs.csi.aws.com"}
	}
	legacy := func(c *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
		failing(corev1.PersistentVolumeClaimFileSystemResizePending, objects.ResizePendingMessage)(c, pv)
		pv.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("20Gi")
	}
	return asking("pvc/data", []Row{
		{Rule: "EXP-021", Name: "the resizer has not begun", Objs: grown(""), When: explain.Automatic, Actor: resizer},
		{Rule: "EXP-021", Name: "the driver is expanding it", Objs: grown(inProgress), When: explain.Automatic, Actor: resizer},
		{Rule: "EXP-025", Name: "the driver failed", Objs: grown(inProgress, failing(outside, "failed to expand pvc with no")),
			When: explain.Automatic, Actor: resizer},
		{Rule: "EXP-025", Name: "EXP-026: the driver reports that the size is infeasible",
			Objs: grown(infeasible, failing(outside, "too large")), Actor: Admin},
		{Rule: "EXP-025", Name: "the driver expands only unused volumes",
			Objs: and(grown(inProgress, failing(outside, inUse)), runner, ready), Actor: Admin},
		{Rule: "EXP-025", Name: "an Event reports that it must not be in use", Objs: and(grown(inProgress), offline, runner, ready),
			Actor: Admin},
		{Rule: "EXP-025", Name: "its last user is being deleted",
			Objs: and(grown(inProgress, failing(outside, inUse)), Deleting(Runs(User("p", "n1"))), ready), Root: "MNT-387",
			When: explain.Automatic, After: time.Minute, Actor: "kubelet"},
		{Rule: "EXP-025", Name: "its last user is gone", Objs: grown(inProgress, failing(outside, inUse)), When: explain.Automatic,
			Actor: resizer},
		{Rule: "EXP-023", Name: "no pod uses it", Objs: grown(pending), Actor: Admin},
		{Rule: "EXP-023", Name: "EXP-030: a resizer that records no progress has finished, and no pod uses it", Objs: grown("", legacy),
			Actor: Admin},
		{Rule: "EXP-023", Name: "its pod has no node", Objs: and(grown(pending), User("p", "")), Root: "SCHED-022", Actor: "kubelet"},
		{Rule: "EXP-023", Name: "its pod is about to be placed", Objs: and(grown(pending), User("p", ""), fake.Node("n1")),
			Root: "SCHED-026", When: explain.Automatic, Actor: "kubelet"},
		{Rule: "EXP-040", Name: "the kubelet has not noticed", Objs: and(grown(pending), runner, ready, attachment1()),
			When: explain.Automatic, Actor: "kubelet/n1"},
		{Rule: "EXP-040", Name: "EXP-041: the kubelet is expanding it", Objs: and(grown(nodeBusy), runner, ready, attachment1()),
			When: explain.Automatic, Actor: "kubelet/n1"},
		{Rule: "EXP-040", Name: "its node is not ready", Objs: and(grown(pending), runner, NotReady(ManagedNode("n1", true, true))),
			Actor: Admin},
		{Rule: "EXP-040", Name: "another pod is on a node that is ready",
			Objs: and(grown(pending), runner, NotReady(ManagedNode("n1", true, true)), Runs(User("q", "n2")), fake.Node("n2")),
			When: explain.Automatic, Actor: "kubelet/n2"},
		{Rule: "EXP-040", Name: "its pod has not started", Objs: and(grown(pending), User("p", "n1"), ready, attachment1()),
			Root: "MNT-380", When: explain.Automatic, Actor: "kubelet/n1"},
		{Rule: "EXP-042", Name: "the node failed",
			Objs: and(grown(nodeBusy, failing(onNode, "failed to expand pvc with no")), runner, ready, attachment1()),
			When: explain.Automatic, Actor: "kubelet/n1"},
		{Rule: "EXP-042", Name: "the node does not while it is used",
			Objs: and(grown(nodeBusy, failing(onNode, inUse)), runner, ready, attachment1()), Actor: Admin},
		{Rule: "EXP-042", Name: "EXP-030: the node reports that the size is infeasible",
			Objs: and(grown(nodeNever, failing(onNode, "too large")), runner, ready), When: explain.Automatic, Actor: resizer},
		{Rule: "EXP-014", Name: "no plugin expands NFS", Objs: grown("", sourced(fake.NFSSource("server", "/share"))), Actor: Admin},
		{Rule: "EXP-014", Name: "the driver cannot", Objs: grown(""),
			Backends: set(fake.CSI(Driver, fake.Without(storage.Expand, storage.NodeExpand))), Actor: Admin,
			Dumped: &Dumped{Rule: "EXP-021", When: explain.Automatic, Actor: resizer}},
		{Rule: "EXP-021", Name: "EXP-013: a driver took over from the plugin", Objs: grown("", migrated), When: explain.Automatic,
			Actor: "external-resizer/ebs.csi.aws.com"},
		{Rule: "EXP-016", Name: "EXP-015: FlexVolume", Objs: grown("", sourced(fake.FlexSource("example.com/flex"))),
			When: explain.Automatic, Actor: actors.Expander},
		{Rule: "EXP-016", Name: "FlexVolume, begun", Objs: grown(inProgress, sourced(fake.FlexSource("example.com/flex"))),
			When: explain.Automatic, Actor: actors.Expander},
		{Rule: "BIND-060d", Name: "EXP-012: it asks for no more than it has",
			Objs: func() []api.Object { claim, pv := BoundPair(); return []api.Object{claim, pv} }(), When: explain.Settled},
	})
}

func attachment1() api.Object { return Attachment("n1", true) }

// Attributes ask about the claim data, whose VolumeAttributesClass changes.
func Attributes() []Row {
	const (
		pending    = corev1.PersistentVolumeClaimModifyVolumePending
		inProgress = corev1.PersistentVolumeClaimModifyVolumeInProgress
		infeasible = corev1.PersistentVolumeClaimModifyVolumeInfeasible
		failed     = corev1.PersistentVolumeClaimVolumeModifyVolumeError
		modifying  = corev1.PersistentVolumeClaimVolumeModifyingVolume
	)
	type change = func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
	modified := func(wanted string, status corev1.PersistentVolumeClaimModifyVolumeStatus, target string, changes ...change) []api.Object {
		claim, pv := BoundPair()
		current := "silver"
		claim.Status.CurrentVolumeAttributesClassName, pv.Spec.VolumeAttributesClassName = &current, &current
		if wanted != "" {
			claim.Spec.VolumeAttributesClassName = &wanted
		}
		if status != "" {
			claim.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{Status: status, TargetVolumeAttributesClassName: target}
		}
		for _, f := range changes {
			f(claim, pv)
		}
		return []api.Object{claim, pv, attributes("silver")}
	}
	with := func(objs []api.Object, classes ...string) []api.Object {
		for _, class := range classes {
			objs = append(objs, attributes(class))
		}
		return objs
	}
	both := func(claim *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
	}
	return asking("pvc/data", []Row{
		{Rule: "BIND-060d", Name: "VAC-003: the requested class is current", Objs: modified("silver", "", ""), When: explain.Settled},
		{Rule: "VAC-007", Name: "not started", Objs: with(modified("gold", "", ""), "gold"), When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-007", Name: "VAC-011: the driver is expanding it", Objs: with(modified("gold", inProgress, "gold"), "gold"),
			When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-012", Name: "the driver may still be modifying it",
			Objs: with(modified("gold", inProgress, "gold", failing(modifying, `Modifying volume to "gold" is still in progress.`),
				failingWith(failed, storage.DeadlineExceeded, "late")), "gold"), When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-013", Name: "the driver failed",
			Objs: with(modified("gold", inProgress, "gold", failing(modifying, `Modifying volume to "gold" failed. Waiting for retry.`),
				failingWith(failed, storage.Internal, "no")), "gold"), When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-013", Name: "VAC-014: the driver reports that it cannot",
			Objs: with(modified("gold", infeasible, "gold", failing(failed, "no")), "gold"), Actor: Admin},
		{Rule: "VAC-007", Name: "another class is named after that",
			Objs: with(modified("bronze", infeasible, "gold", failing(failed, "no")), "gold", "bronze"), When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-007", Name: "VAC-005: the started modification comes first",
			Objs: with(modified("bronze", inProgress, "gold"), "gold", "bronze"), When: explain.Automatic, Actor: resizer},
		{Rule: "VAC-005", Name: "the class of the started modification is gone", Objs: modified("gold", inProgress, "gold"), Actor: Admin},
		{Rule: "VAC-006", Name: "the class is missing", Objs: modified("gold", "", ""), Actor: Admin},
		{Rule: "VAC-006", Name: "the resizer has noticed that the class is missing", Objs: modified("gold", pending, ""), Actor: Admin},
		{Rule: "VAC-006", Name: "VAC-001: the class was created too late", Objs: with(modified("gold", pending, ""), "gold"), Actor: Admin},
		{Rule: "VAC-004", Name: "it names no class any more", Objs: modified("", "", ""), Actor: Admin},
		{Rule: "VAC-002", Name: "NFS has no attributes", Objs: modified("gold", "", "", sourced(fake.NFSSource("server", "/share"))),
			Actor: Admin},
		{Rule: "VAC-002", Name: "the driver does not change volumes", Objs: with(modified("gold", "", ""), "gold"),
			Backends: set(fake.CSI(Driver, fake.Without(storage.Modify))), Actor: Admin,
			Dumped: &Dumped{Rule: "VAC-007", When: explain.Automatic, Actor: resizer}},
		{Rule: "EXP-021", Name: "VAC-006: it grows, and its class is missing", Objs: modified("gold", "", "", both),
			When: explain.Automatic, Actor: resizer},
	})
}
