package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/core/store"
)

// readRun reads the command run.
func readRun(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "image", value: true}, option{long: "restart", value: true},
		option{long: "labels", short: "l", value: true}, option{long: "env", value: true, list: true}, option{long: "overrides", value: true},
		option{long: "override-type", value: true}, option{long: "command"}, option{long: "port", value: true})
	if err != nil {
		return nil, err
	}
	if len(a.rest) == 0 {
		return nil, usageOf("run", "missing name of the pod")
	}
	if _, err := newPod(s, a); err != nil {
		return nil, err
	}
	return func(r *runner) error {
		pod, err := newPod(s, a) // a cluster keeps the object that it receives
		if err != nil {
			return err
		}
		return r.create(pod, store.CreateOptions{})
	}, nil
}

// newPod returns the pod that run creates.
func newPod(s *Script, a arguments) (*corev1.Pod, error) {
	name := a.rest[0]
	if !a.has("image") {
		return nil, errors.New("missing --image=IMAGE")
	}
	container := corev1.Container{Name: name, Image: a.get("image", "")}
	asCommand, err := a.flag("command")
	if err != nil {
		return nil, err
	}
	if container.Args = a.rest[1:]; asCommand {
		container.Command, container.Args = container.Args, nil
	}
	for _, pair := range a.options["env"] {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("invalid --env=%s: want KEY=VALUE", pair)
		}
		container.Env = append(container.Env, corev1.EnvVar{Name: key, Value: value})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: a.get("namespace", s.inNamespace()), Labels: map[string]string{"run": name}}}
	if a.has("labels") {
		pod.Labels = map[string]string{}
		for pair := range strings.SplitSeq(a.get("labels", ""), ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return nil, fmt.Errorf("invalid --labels=%s: want KEY=VALUE,...", a.get("labels", ""))
			}
			pod.Labels[key] = value
		}
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicy(a.get("restart", string(corev1.RestartPolicyAlways)))
	switch pod.Spec.RestartPolicy {
	case corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
	default:
		return nil, fmt.Errorf("invalid restart policy: %s", pod.Spec.RestartPolicy)
	}
	pod.Spec.Containers = []corev1.Container{container}
	if !a.has("overrides") {
		return pod, nil
	}
	return overridden(pod, a.get("overrides", ""), a.get("override-type", "merge"))
}

// overridden returns the pod with the patch of --overrides.
func overridden(pod *corev1.Pod, text, kind string) (*corev1.Pod, error) {
	patch, err := readPatchText(text, kind == "json")
	if err != nil {
		return nil, fmt.Errorf("invalid --overrides: %w", err)
	}
	convert, ok := patchKinds[kind]
	if !ok {
		return nil, fmt.Errorf("invalid --override-type=%s: want merge, strategic or json", kind)
	}
	if patch, err = convert(patch, pod); err != nil {
		return nil, fmt.Errorf("invalid --overrides: %w", err)
	}
	doc, err := json.Marshal(document.Of(pod))
	if err != nil {
		return nil, err
	}
	if doc, err = jsonpatch.MergePatch(doc, patch); err != nil {
		return nil, fmt.Errorf("invalid --overrides: %w", err)
	}
	result := &corev1.Pod{}
	if err := json.Unmarshal(doc, result); err != nil {
		return nil, fmt.Errorf("invalid --overrides: %w", err)
	}
	return result, nil
}
