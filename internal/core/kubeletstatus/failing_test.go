package kubeletstatus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestContainers checks statuses of pods with sidecars and with containers that cannot be created, as the kubelet of Kubernetes reports them
// (internal/proof/kubelet).
func TestContainers(t *testing.T) {
	container := func(name string) corev1.Container { return corev1.Container{Name: name} }
	beside := func(name string) corev1.Container {
		return corev1.Container{Name: name, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
	}
	const sidecars, unready, incomplete = "Ready=False [side main]", "Ready=False [main]", "Initialized=False "
	secret := func(name string) []Failure { return []Failure{{name, "no secret"}} }
	steps := map[string]func(*corev1.Pod, []Failure) corev1.PodStatus{
		"waits": func(p *corev1.Pod, _ []Failure) corev1.PodStatus { return Waiting(nil, p) },
		"runs":  func(p *corev1.Pod, _ []Failure) corev1.PodStatus { return Running(nil, p) },
		"fails": func(p *corev1.Pod, f []Failure) corev1.PodStatus { return Failing(nil, p, f) },
		"ends": func(p *corev1.Pod, _ []Failure) corev1.PodStatus {
			return Terminated(nil, p, Exited, corev1.PodSucceeded, "", "")
		},
		"crashes": func(p *corev1.Pod, _ []Failure) corev1.PodStatus {
			return Terminated(nil, p, Exited, corev1.PodFailed, "", "")
		},
		"stops": func(p *corev1.Pod, _ []Failure) corev1.PodStatus {
			return Terminated(nil, p, Incomplete, corev1.PodFailed, "", "")
		},
		"is late": func(p *corev1.Pod, _ []Failure) corev1.PodStatus {
			return Terminated(nil, p, Exited, corev1.PodFailed, "Late", "")
		},
	}
	for _, tc := range []struct {
		rule, name string
		init, main []corev1.Container
		steps      string
		failures   []Failure
		want       string
	}{
		{"MNT-379", "sidecar waits", []corev1.Container{beside("side")}, []corev1.Container{container("main")}, "waits", nil,
			"Pending Started=False " + incomplete + "[side] " + sidecars + " side=PodInitializing main=PodInitializing"},
		{"MNT-379", "sidecar runs", []corev1.Container{beside("side"), container("once")}, []corev1.Container{container("main")}, "waits, runs", nil,
			"Running Started=True Initialized=True Ready=True side=running,ready once=Completed:0,ready main=running,ready"},
		{"MNT-379", "sidecar ends with the pod", []corev1.Container{beside("side"), container("once")}, []corev1.Container{container("main")}, "waits, runs, crashes", nil,
			"Failed Started=False Initialized=True Ready=False side=Completed:0 once=Completed:0,ready main=Error:1"},
		{"MNT-399", "succeeded", nil, []corev1.Container{container("main")}, "runs, ends", nil,
			"Succeeded Started=False Initialized=True,PodCompleted Ready=False main=Completed:0"},
		{"MNT-399", "failed", nil, []corev1.Container{container("main")}, "runs, crashes", nil,
			"Failed Started=False Initialized=True Ready=False main=Error:1"},
		{"MNT-401", "stopped by the kubelet", nil, []corev1.Container{container("main")}, "runs, is late", nil,
			"Failed Started=False Initialized=True Ready=False main=Completed:0"},
		{"MNT-378", "one of two", nil, []corev1.Container{container("main"), container("other")}, "waits, fails", secret("main"),
			"Pending Started=True Initialized=True " + unready + " main=CreateContainerConfigError:no secret other=running,ready"},
		{"MNT-378", "and then stopped", nil, []corev1.Container{container("main"), container("other")}, "waits, fails, stops", secret("main"),
			"Pending Started=False Initialized=True Ready=False [main other] main=ContainerCreating other=Completed:0"},
		{"MNT-378", "and then created", nil, []corev1.Container{container("main"), container("other")}, "waits, fails, runs", secret("main"),
			"Running Started=True Initialized=True Ready=True main=running,ready other=running,ready"},
		{"MNT-378", "second of three init containers", []corev1.Container{container("first"), container("second"), container("third")}, []corev1.Container{container("main")},
			"waits, fails", secret("second"), "Pending Started=True " + incomplete + "[second third] " + unready +
				" first=Completed:0,ready second=CreateContainerConfigError:no secret third=PodInitializing main=PodInitializing"},
		{"MNT-378", "sidecar", []corev1.Container{beside("side")}, []corev1.Container{container("main")}, "waits, fails", secret("side"),
			"Pending Started=True " + incomplete + "[side] " + sidecars + " side=CreateContainerConfigError:no secret main=PodInitializing"},
		{"MNT-378", "after a sidecar", []corev1.Container{beside("side")}, []corev1.Container{container("main")}, "waits, fails", secret("main"),
			"Pending Started=True Initialized=True " + unready + " side=running,ready main=CreateContainerConfigError:no secret"},
		{"MNT-378", "a pod that ran before keeps its phase", nil, []corev1.Container{container("main")}, "runs, fails", secret("main"),
			"Running Started=True Initialized=True " + unready + " main=CreateContainerConfigError:no secret"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Spec.InitContainers, pod.Spec.Containers = tc.init, tc.main
			for step := range strings.SplitSeq(tc.steps, ", ") {
				pod.Status = steps[step](pod, tc.failures)
			}
			if diff := cmp.Diff(tc.want, inShort(&pod.Status)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.rule, diff)
			}
		})
	}
}

// inShort is a status in one line. ContainersReady must be like Ready.
func inShort(s *corev1.PodStatus) string {
	parts := []string{string(s.Phase)}
	var ready corev1.PodCondition
	for _, c := range s.Conditions {
		name := string(c.Type)
		switch c.Type {
		case corev1.PodReady:
			ready = c
		case corev1.PodReadyToStartContainers:
			name = "Started"
		case corev1.ContainersReady:
			if ready.Status != c.Status || ready.Message != c.Message {
				parts = append(parts, "and the containers differ")
			}
			continue
		}
		text := fmt.Sprintf("%s=%s", name, c.Status)
		if c.Status == corev1.ConditionTrue && c.Reason != "" {
			text += "," + c.Reason
		}
		if _, names, ok := strings.Cut(c.Message, "status: "); ok {
			text += " " + names
		}
		parts = append(parts, text)
	}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		text := c.Name + "="
		switch state := c.State; {
		case state.Running != nil:
			text += "running"
		case state.Terminated != nil:
			text += fmt.Sprintf("%s:%d", state.Terminated.Reason, state.Terminated.ExitCode)
		default:
			text += strings.TrimSuffix(state.Waiting.Reason+":"+state.Waiting.Message, ":")
		}
		if c.Ready {
			text += ",ready"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
