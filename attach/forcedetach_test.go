package attach_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestDecideDetach(t *testing.T) {
	const yes, no = true, false
	tests := []struct {
		rule                                   string
		mounted, outOfService, expired, health bool
		detach, verify                         bool
	}{
		{"ATT-064", no, no, no, yes, yes, yes},
		{"ATT-064", no, no, no, no, yes, yes},
		{"ATT-064", no, no, yes, yes, yes, no},
		{"ATT-064", no, no, yes, no, yes, no},
		{"ATT-064", no, yes, no, yes, yes, no},
		{"ATT-064", no, yes, yes, no, yes, no},
		{"ATT-064", yes, yes, no, yes, yes, no},
		{"ATT-064", yes, yes, yes, no, yes, no},
		{"ATT-064", yes, no, yes, no, yes, no},
		{"ATT-064", yes, no, yes, yes, no, no},
		{"ATT-064", yes, no, no, yes, no, no},
		{"ATT-064", yes, no, no, no, no, no},
	}
	for _, tt := range tests {
		facts := attach.DetachFacts{Mounted: tt.mounted, OutOfService: tt.outOfService, Expired: tt.expired, Healthy: tt.health}
		got, verify := attach.DecideDetach(facts)
		if got.Waiting == tt.detach || verify != tt.verify || got.Why == "" {
			t.Errorf("%s: DecideDetach(%+v) = %+v, verify %v, want detach %v, verify %v", tt.rule, facts, got, verify, tt.detach, tt.verify)
		}
		if want := tt.detach && tt.mounted; got.Forced != want {
			t.Errorf("%s: DecideDetach(%+v).Forced = %v, want %v", tt.rule, facts, got.Forced, want)
		}
	}
}

func TestNodeFacts(t *testing.T) {
	conditions := func(statuses ...string) *corev1.Node {
		node := &corev1.Node{}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}}
		for _, status := range statuses {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady,
				Status: corev1.ConditionStatus(status)})
		}
		return node
	}
	taints := func(taints ...corev1.Taint) *corev1.Node { return &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}} }
	tests := []struct {
		rule, name            string
		node                  *corev1.Node
		healthy, outOfService bool
	}{
		{"ATT-063", "no node", nil, false, false},
		{"ATT-063", "ready", conditions("True"), true, false},
		{"ATT-063", "not ready", conditions("False"), false, false},
		{"ATT-063", "unknown is not ready", conditions("Unknown"), false, false},
		{"ATT-063", "the first condition decides", conditions("True", "False"), true, false},
		{"ATT-063", "no condition", conditions(), false, false},
		{"ATT-063", "the taint", taints(corev1.Taint{Key: "other"},
			corev1.Taint{Key: "node.kubernetes.io/out-of-service", Effect: "NoExecute", Value: "nodeshutdown"}), false, true},
		{"ATT-063", "its effect does not matter", taints(corev1.Taint{Key: "node.kubernetes.io/out-of-service", Effect: "PreferNoSchedule"}),
			false, true},
	}
	for _, tt := range tests {
		if got := objects.Healthy(tt.node); got != tt.healthy {
			t.Errorf("%s %s: Healthy = %v, want %v", tt.rule, tt.name, got, tt.healthy)
		}
		if got := objects.OutOfService(tt.node); got != tt.outOfService {
			t.Errorf("%s %s: OutOfService = %v, want %v", tt.rule, tt.name, got, tt.outOfService)
		}
	}
}

func TestAction(t *testing.T) {
	state := func(kind string) corev1.ContainerStatus {
		var s corev1.ContainerStatus
		switch kind {
		case "running":
			s.State.Running = &corev1.ContainerStateRunning{}
		case "waiting":
			s.State.Waiting = &corev1.ContainerStateWaiting{}
		case "terminated":
			s.State.Terminated = &corev1.ContainerStateTerminated{}
		}
		return s
	}
	tests := []struct {
		rule, name string
		node       string
		phase      corev1.PodPhase
		deleting   bool
		init, main []string
		want       attach.PodAction
	}{
		{"ATT-025", "no node", "", "Pending", false, nil, nil, attach.IgnoresPod},
		{"ATT-025", "no node and failed", "", "Failed", false, nil, nil, attach.IgnoresPod},
		{"ATT-025", "scheduled", "a", "Pending", false, nil, nil, attach.AddsVolumes},
		{"ATT-025", "unknown phase", "a", "Unknown", false, nil, nil, attach.AddsVolumes},
		{"ATT-026", "complete", "a", "Succeeded", false, nil, []string{"running"}, attach.RemovesVolumes},
		{"ATT-026", "failed", "a", "Failed", false, nil, nil, attach.RemovesVolumes},
		{"ATT-195", "deleting and running", "a", "Running", true, nil, []string{"terminated", "running"}, attach.AddsVolumes},
		{"ATT-025", "deleting, an init container runs", "a", "Running", true, []string{"running"}, []string{"waiting"}, attach.AddsVolumes},
		{"ATT-025", "deleting, an empty state counts as running", "a", "Running", true, nil, []string{""}, attach.AddsVolumes},
		{"ATT-025", "deleting, nothing runs", "a", "Running", true, []string{"terminated"}, []string{"waiting", "terminated"},
			attach.RemovesVolumes},
		{"ATT-025", "deleting, nothing known", "a", "Pending", true, nil, nil, attach.RemovesVolumes},
		{"ATT-025", "not deleting, nothing runs", "a", "Running", false, nil, []string{"terminated"}, attach.AddsVolumes},
	}
	for _, tt := range tests {
		pod := fake.Pod("p", fake.OnNode(tt.node))
		pod.Status.Phase = tt.phase
		if tt.deleting {
			pod.DeletionTimestamp = &metav1.Time{}
		}
		for _, kind := range tt.init {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, state(kind))
		}
		for _, kind := range tt.main {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, state(kind))
		}
		if got := attach.ActionFor(pod); got != tt.want {
			t.Errorf("%s %s: Action = %v, want %v", tt.rule, tt.name, got, tt.want)
		}
	}
}

func TestAttached(t *testing.T) {
	failure := &storagev1.VolumeError{Message: "no"}
	tests := []struct {
		rule, name string
		deleting   bool
		status     storagev1.VolumeAttachmentStatus
		want       bool
		err        string
	}{
		{"ATT-141", "nothing yet", false, storagev1.VolumeAttachmentStatus{}, false, ""},
		{"ATT-141", "attached", false, storagev1.VolumeAttachmentStatus{Attached: true}, true, ""},
		{"ATT-182", "attached, with an old error", false, storagev1.VolumeAttachmentStatus{Attached: true, AttachError: failure}, true, ""},
		{"ATT-142", "an error, of whatever attempt", false, storagev1.VolumeAttachmentStatus{AttachError: failure}, false, "no"},
		{"ATT-141", "a detach error is none", false, storagev1.VolumeAttachmentStatus{DetachError: failure}, false, ""},
		{"ATT-141", "being deleted comes first", true, storagev1.VolumeAttachmentStatus{Attached: true}, false,
			"volume attachment is being deleted"},
	}
	for _, tt := range tests {
		va := &storagev1.VolumeAttachment{Status: tt.status}
		if tt.deleting {
			va.DeletionTimestamp = &metav1.Time{}
		}
		got, err := attach.IsAttached(va)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.err {
			t.Errorf("%s %s: Attached = %v, %q, want %v, %q", tt.rule, tt.name, got, text, tt.want, tt.err)
		}
	}
}

func TestPublishMode(t *testing.T) {
	tests := []struct {
		rule, modes      string
		normal, multiple string // "" is an error
	}{
		{"ATT-176", "RWOP", "SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER"},
		{"ATT-176", "RWOP RWO", "", ""},
		{"ATT-176", "RWX", "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER"},
		{"ATT-176", "RWX ROX RWO", "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER"},
		{"ATT-176", "ROX RWO", "", ""},
		{"ATT-176", "ROX", "MULTI_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY"},
		{"ATT-176", "RWO", "SINGLE_NODE_WRITER", "SINGLE_NODE_MULTI_WRITER"},
		{"ATT-176", "", "", ""},
	}
	for _, tt := range tests {
		modes := fake.Volume("v", "1Gi", fake.Modes(strings.Fields(tt.modes)...)).Spec.AccessModes
		for _, multiple := range []bool{false, true} {
			want := tt.normal
			if multiple {
				want = tt.multiple
			}
			got, err := objects.PublishMode(modes, multiple)
			if got != want || (err != nil) != (want == "") {
				t.Errorf("%s: PublishMode(%s, %v) = %q, %v, want %q", tt.rule, tt.modes, multiple, got, err, want)
			}
		}
	}
}

func TestAttacherFinalizer(t *testing.T) {
	tests := []struct{ rule, driver, want string }{
		{"ATT-004", "ebs.csi.example.com", "external-attacher/ebs-csi-example-com"},
		{"ATT-004", "Ab-9_z", "external-attacher/Ab-9-z"},
		{"ATT-004", "ends.", "external-attacher/ends-X"},
		{"ATT-004", "ends-", "external-attacher/ends-X"},
		{"ATT-004", "é", "external-attacher/-X"},
	}
	for _, tt := range tests {
		if got := objects.AttacherFinalizer(tt.driver); got != tt.want {
			t.Errorf("%s: AttacherFinalizer(%q) = %q, want %q", tt.rule, tt.driver, got, tt.want)
		}
	}
}
