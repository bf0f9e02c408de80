package explain

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/evidence"
)

// This file reads texts. The rest of the package reads phases, reasons and other fields; here Kubernetes gives nothing but a message. The
// texts are those of Kubernetes 1.36; the comments name the upstream function that writes them. A text that is not listed gives a less
// exact rule, never a wrong one.

// bindErrors maps messages of the PodScheduled condition to rules. The first entry that is part of the message decides.
var bindErrors = []struct{ part, rule string }{
	{"context deadline exceeded", "SCHED-167"},             // volumeBinder.BindPodVolumes
	{"failed to get node", "SCHED-150"},                    // volumeBinder.checkBindings
	{"pod does not exist any more", "SCHED-151"},           // volumeBinder.checkBindings
	{"failed to check binding", "SCHED-152"},               // volumeBinder.checkBindings
	{"node affinity doesn't match node", "SCHED-154"},      // volumeBinder.checkBindings
	{"ClaimRef got reset for pv", "SCHED-155"},             // volumeBinder.checkBindings
	{"failed to check provisioning pvc", "SCHED-157"},      // volumeBinder.checkBindings
	{"selectedNode annotation reset for PVC", "SCHED-159"}, // volumeBinder.checkBindings
	{"provisioning failed for PVC", "SCHED-160"},           // volumeBinder.checkBindings
	{"running PreBind plugin", "SCHED-143"},                // frameworkImpl.RunPreBindPlugins
}

// bindFailure returns why the scheduler's last attempt could not bind a pod to the node it had chosen; ok is false if there was no such
// attempt (SCHED-169).
func bindFailure(pod *corev1.Pod) (rule, message string, ok bool) {
	for _, c := range pod.Status.Conditions {
		// SCHED-230: reason SchedulerError marks a failure after a node was chosen.
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != "SchedulerError" {
			continue
		}
		for _, known := range bindErrors {
			if strings.Contains(c.Message, known.part) {
				return known.rule, c.Message, true
			}
		}
		return "SCHED-169", c.Message, true
	}
	return "", "", false
}

// mountErrors maps messages of the Events FailedMount and FailedMapVolume to rules. The first entry that starts the message decides.
var mountErrors = []struct{ prefix, rule string }{
	// operationGenerator.GenerateMountVolumeFunc
	{"MountVolume.FindPluginBySpec failed", "MNT-190"},
	{"MountVolume.NodeAffinity check failed", "MNT-191"},
	{"MountVolume.NewMounter initialization failed", "MNT-192"},
	{"MountVolume.MountOptionSupport check failed", "MNT-193"},
	{"MountVolume.WaitForAttach failed", "MNT-195"},
	{"MountVolume.MountDevice failed", "MNT-196"},
	{"MountVolume.GetDeviceMountPath failed", "MNT-196"},
	{"MountVolume.SetUp failed", "MNT-197"},
	{"MountVolume.Setup failed while expanding volume", "MNT-198"},
	// operationGenerator.GenerateMapVolumeFunc
	{"MapVolume.NodeAffinity check failed", "MNT-220"},
	{"MapVolume.NewBlockVolumeMapper initialization failed", "MNT-220"},
	{"MapVolume.WaitForAttach failed", "MNT-222"},
	{"MapVolume.SetUpDevice failed", "MNT-223"},
	{"MapVolume.MapPodDevice failed", "MNT-225"},
	{"MapVolume.EvalHostSymlinks failed", "MNT-226"},
	{"MapVolume failed", "MNT-226"},
	{"MapVolume.MapBlockVolume failed", "MNT-227"},
	{"MapVolume.MarkVolumeAsMounted failed while expanding volume", "MNT-229"},
	// Kubelet.SyncPod
	{"Unable to attach or mount volumes", "MNT-381"},
}

// mountRule returns the rule behind a mount failure.
func mountRule(message string) string {
	// MNT-194, MNT-221: GenerateMountVolumeFunc and GenerateMapVolumeFunc, for a ReadWriteOncePod volume that another pod uses.
	if strings.Contains(message, "uses the ReadWriteOncePod access mode") {
		if strings.HasPrefix(message, "MapVolume.") {
			return "MNT-221"
		}
		return "MNT-194"
	}
	if len(evidence.MissingFilesOf(message)) > 0 {
		return "MNT-316"
	}
	if _, conflict := evidence.ConflictOf(message); conflict {
		return "MNT-339"
	}
	for _, known := range mountErrors {
		if strings.HasPrefix(message, known.prefix) {
			return known.rule
		}
	}
	return "MNT-160"
}

// supply says how to supply a Secret, a ConfigMap or a key.
func supply(namespace string, missing evidence.MissingFile) string {
	object := string(missing.Kind) + " " + namespace + "/" + missing.Name
	switch {
	case missing.Key == "":
		return "create " + object
	case missing.Name != "":
		return "add key " + missing.Key + " to " + object
	}
	return "add key " + missing.Key + " to the " + string(missing.Kind) + " that the volume names"
}

// missingVolume returns the message of a container that could not be created because a volume was not mounted (MNT-385). The kubelet's
// makeMounts and makeBlockVolumes write it; the reason of the state is the same for other failures.
func missingVolume(pod *corev1.Pod) (message string, ok bool) {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && strings.HasPrefix(waiting.Message, "cannot find volume ") {
			return waiting.Message, true
		}
	}
	return "", false
}

// saysInUse reports whether a failed expansion says that the volume must not be in use. The message is a gRPC error of the driver, as
// status.Error prints it, or comes from expandAndRecover of the external-resizer, which then does not call the driver.
func saysInUse(message string) bool {
	return strings.Contains(message, "code = FailedPrecondition") || strings.Contains(message, "only supports offline expansion")
}

// createErrors maps messages of Events FailedCreate to rules, and to what the user has to do. The first entry that is part of the message decides.
var createErrors = []struct{ part, rule, todo string }{
	{"exceeded quota", "QUO-020", "raise the ResourceQuota, or delete what uses it"}, // quotaAccessor.CheckRequest
	{"usage per PersistentVolumeClaim", "QUO-041", "change the LimitRange, or create the StatefulSet again with another request (kubectl delete --cascade=orphan keeps its pods)"},
	{"usage per ", "QUO-042", "change the LimitRange, or what the template of the pods requests"},
	{"ratio per ", "QUO-042", "change the LimitRange, or what the template of the pods requests"},   // limitRequestRatioConstraint
	{"must specify", "QUO-021", "give each container the requests and limits that the quota names"}, // podEvaluator.Constraints
}

// createRule returns the rule behind a failure to create a pod, and what the user has to do.
func createRule(message, otherwise string) (rule, todo string) {
	for _, known := range createErrors {
		if strings.Contains(message, known.part) {
			return known.rule, known.todo
		}
	}
	return otherwise, "remove the cause that the message names"
}
