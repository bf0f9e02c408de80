package health

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
)

// Log records a side: calls about conditions, when they end, and Events.
type Log []string

func (l *Log) add(at time.Duration, pod, text string) {
	*l = append(*l, fmt.Sprintf("%15d %s %s", at, pod, text))
}

// Sorted returns the log in order, the lines of one instant in that of their texts.
func (l Log) Sorted() []string { return slices.Sorted(slices.Values(l)) }

// newPod returns the pod of a step. Its uid is its name.
func newPod(s Scenario, step Step) *corev1.Pod {
	var options []fake.Option
	for _, name := range step.Volumes {
		if s.volume(name).Block {
			options = append(options, fake.BlockClaims(name))
		} else {
			options = append(options, fake.Claims(name))
		}
	}
	pod := fake.Pod(step.Pod, append(options, fake.OnNode("n1"), fake.UID(types.UID(step.Pod)))...)
	pod.Namespace = "default"
	return pod
}
