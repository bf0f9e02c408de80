package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/storage"
)

// explainError adds what the error of a driver means, and which log to read.
func (x *explainer) explainError(e *Explanation, a evidence.Assumption, driver string) {
	e.todo(x.readLog(a.Operation, driver, a.Node))
	if meaning := a.Meaning(x.Now); meaning != "" {
		e.Notes = append(e.Notes, meaning)
	}
}

// readLog returns the advice to read the log about a call of a driver, with the command if the plugin's pod is known.
func (x *explainer) readLog(op storage.Op, driver, node string) string {
	text := "read " + evidence.Log(op, driver, node)
	container := evidence.Sidecar(op)
	pod := x.controllerPlugin(driver, container)
	if container == "" {
		pod = x.nodePlugin(driver, node)
	}
	if pod == nil {
		return text
	}
	return fmt.Sprintf("%s: kubectl logs -n %s %s --all-containers", text, pod.Namespace, pod.Name)
}

// controllerPlugin returns a pod with that sidecar of a driver; nil if it is unknown which one that is. Pods do not name their driver, so of
// several drivers only one is known whose name begins with a word of the pod's name.
func (x *explainer) controllerPlugin(driver, sidecar string) *corev1.Pod {
	var all, named []*corev1.Pod
	word, _, _ := strings.Cut(driver, ".")
	for _, pod := range sorted(x.Pods) {
		if !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == sidecar }) {
			continue
		}
		all = append(all, pod)
		if slices.Contains(strings.Split(pod.Name, "-"), word) {
			named = append(named, pod)
		}
	}
	switch {
	case len(named) > 0:
		return named[0]
	case len(all) > 0 && len(x.drivers) == 1:
		return all[0]
	}
	return nil
}

// nodePlugin returns the pod on a node that registers a driver with the kubelet: the path of its socket has the name of the driver.
func (x *explainer) nodePlugin(driver, node string) *corev1.Pod {
	for _, pod := range sorted(x.Pods) {
		if pod.Spec.NodeName != node {
			continue
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if slices.ContainsFunc(append(slices.Clone(c.Args), c.Command...), func(arg string) bool { return strings.Contains(arg, "/"+driver+"/") }) {
				return pod
			}
		}
	}
	return nil
}
