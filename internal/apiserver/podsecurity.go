package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	standards "k8s.io/pod-security-admission/api"
	checks "k8s.io/pod-security-admission/policy"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Labels of a namespace say which Pod Security Standard its pods must meet (API-573 to API-575). They are checked before policies and webhooks that validate.

// podSecurityPrefix begins the labels of namespaces that the admission reads.
const podSecurityPrefix = "pod-security.kubernetes.io/"

// podCarriers are the kinds with pods, or with templates of pods.
var podCarriers = []api.Kind{
	api.Pod, "ReplicationController", "PodTemplate", "ReplicaSet.apps", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "CronJob.batch",
}

// plainSubresources are the subresources of a pod that cannot change what the standards are about.
var plainSubresources = []string{"exec", "attach", resources.SubresourceBinding, resources.SubresourceEviction, "log", "portforward", "proxy", string(api.Status)}

// maxPodsChecked is how many pods of a namespace are checked when its label changes.
const maxPodsChecked = 3000

// securityChecks has the checks of all versions of the standards.
var securityChecks = sync.OnceValue(func() checks.Evaluator {
	evaluator, err := checks.NewEvaluator(checks.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the library's own checks
	}
	return evaluator
})

// followPodSecurity notes when a namespace gets a label of the standards. Without one, writes of pods cost nothing.
func (s *Server) followPodSecurity() {
	s.store.OnOther(func(t store.Table[*plain.Object]) {
		if t.Kind() != store.NamespaceKind {
			return
		}
		note := func(namespace *plain.Object) {
			if !s.podSecurity && hasSecurityLabels(namespace) {
				s.podSecurity = true
				s.reviewControllersByPolicies()
			}
		}
		for _, namespace := range t.List() {
			note(namespace)
		}
		if _, err := t.Watch(store.WatchOptions[*plain.Object]{}, func(c api.Change[*plain.Object]) { note(c.Object) }); err != nil {
			panic(err) // a watch from now on needs no history
		}
	})
}

func hasSecurityLabels(namespace api.Object) bool {
	for label := range namespace.GetLabels() {
		if strings.HasPrefix(label, podSecurityPrefix) {
			return true
		}
	}
	return false
}

// needsPodSecurity reports whether a request may have to meet a standard, or sets one.
func (s *Server) needsPodSecurity(r *request) bool {
	if r.verb != resources.VerbCreate && r.verb != resources.VerbUpdate && r.verb != resources.VerbPatch {
		return false
	}
	return r.resource.Kind == store.NamespaceKind && r.subresource == "" || s.podSecurity && slices.Contains(podCarriers, r.resource.Kind)
}

// labelsOfNamespace returns the labels of a namespace. A namespace that does not exist has none.
func (s *Server) labelsOfNamespace(name string) map[string]string {
	namespace, err := s.store.Get(store.NamespaceKind, name)
	if err != nil {
		return nil
	}
	return namespace.GetLabels()
}

// checkPodSecurity refuses a write that violates the standard of its namespace, or warns about it.
func (q *reviews) checkPodSecurity(a *attributes, obj, old []byte) error {
	kind := a.resource.Kind
	switch {
	case a.operation != admissionv1.Create && a.operation != admissionv1.Update:
		return nil
	case kind == store.NamespaceKind && a.subresource == "":
		return q.checkSecurityLabels(a, obj, old)
	case !q.server.podSecurity, !slices.Contains(podCarriers, kind):
		return nil
	case kind == api.Pod && slices.Contains(plainSubresources, a.subresource), kind != api.Pod && a.subresource != "":
		return nil
	}
	standard, _ := standardOf(q.server.labelsOfNamespace(a.namespace))
	if standard.FullyPrivileged() {
		return nil
	}
	carried, err := podIn(a.resource, obj)
	if err != nil || carried == nil {
		return err
	}
	if kind == api.Pod && a.operation == admissionv1.Update {
		before, err := podIn(a.resource, old)
		if err != nil || sameImages(&carried.Spec, &before.Spec) {
			return err
		}
	}
	if kind == api.Pod {
		// API-574: only pods are refused.
		if v := violations(standard.Enforce, carried); !v.Allowed {
			text := fmt.Errorf("violates PodSecurity %q: %s", standard.Enforce.String(), v.ForbiddenDetail())
			return apierrors.NewForbidden(a.resource.GroupResource(), a.name, text)
		}
	}
	if v := violations(standard.Warn, carried); !v.Allowed {
		q.request.warnings = append(q.request.warnings, fmt.Sprintf("would violate PodSecurity %q: %s", standard.Warn.String(), v.ForbiddenDetail()))
	}
	return nil
}

// standardOf returns what labels require. Without a label everything is allowed.
func standardOf(labels map[string]string) (standards.Policy, field.ErrorList) {
	privileged := standards.LevelVersion{Level: standards.LevelPrivileged, Version: standards.LatestVersion()}
	return standards.PolicyToEvaluate(labels, standards.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
}

func violations(lv standards.LevelVersion, pod *corev1.PodTemplateSpec) checks.AggregateCheckResult {
	return checks.AggregateCheckResults(securityChecks().EvaluatePod(lv, &pod.ObjectMeta, &pod.Spec))
}

// podIn returns the pod that an object is or makes; nil if it makes none.
func podIn(r *resources.Resource, data []byte) (*corev1.PodTemplateSpec, error) {
	typed := reflect.New(reflect.TypeOf(r.Sample).Elem()).Interface()
	if err := json.Unmarshal(data, typed); err != nil {
		return nil, err
	}
	switch o := typed.(type) {
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, nil
	case *corev1.PodTemplate:
		return &o.Template, nil
	case *corev1.ReplicationController:
		return o.Spec.Template, nil
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, nil
	case *appsv1.Deployment:
		return &o.Spec.Template, nil
	case *appsv1.StatefulSet:
		return &o.Spec.Template, nil
	case *appsv1.DaemonSet:
		return &o.Spec.Template, nil
	case *batchv1.Job:
		return &o.Spec.Template, nil
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, nil
	}
	return nil, nil
}

// sameImages reports whether an update of a pod leaves what the standards are about: it changes no image and adds no container.
func sameImages(spec, old *corev1.PodSpec) bool {
	image := func(a, b corev1.Container) bool { return a.Image == b.Image }
	if !slices.EqualFunc(spec.Containers, old.Containers, image) || !slices.EqualFunc(spec.InitContainers, old.InitContainers, image) {
		return false
	}
	return !slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return !slices.ContainsFunc(old.EphemeralContainers, func(o corev1.EphemeralContainer) bool { return o.Name == c.Name && o.Image == c.Image })
	})
}

// checkSecurityLabels validates the labels of a namespace, and warns about its pods if it enforces a stricter standard.
func (q *reviews) checkSecurityLabels(a *attributes, obj, old []byte) error {
	standard, wrong := standardOf(labelsIn(obj))
	var before standards.Policy
	var wrongBefore field.ErrorList
	if a.operation == admissionv1.Update {
		before, wrongBefore = standardOf(labelsIn(old))
	}
	// API-573: labels that were wrong before may stay.
	if len(wrong) > 0 && !reflect.DeepEqual(wrong, wrongBefore) {
		return apierrors.NewInvalid(a.resource.GVK().GroupKind(), a.name, wrong)
	}
	enforce := standard.Enforce
	relaxed := enforce.Version == before.Enforce.Version && standards.CompareLevels(enforce.Level, before.Enforce.Level) < 1
	if a.operation == admissionv1.Update && enforce != before.Enforce && enforce.Level != standards.LevelPrivileged && !relaxed {
		q.request.warnings = append(q.request.warnings, q.server.violatingPods(a.name, enforce)...)
	}
	return nil
}

// violatingPods returns warnings about the pods of a namespace that violate a standard (API-575): those with the same violations together.
func (s *Server) violatingPods(namespace string, enforce standards.LevelVersion) (warnings []string) {
	pods := s.podsToCheck(namespace)
	checked := pods[:min(len(pods), maxPodsChecked)]
	names := map[string][]string{}
	for _, pod := range checked {
		if v := violations(enforce, &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}); !v.Allowed {
			names[v.ForbiddenReason()] = append(names[v.ForbiddenReason()], pod.Name)
		}
	}
	if len(checked) < len(pods) {
		warnings = append(warnings, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", len(checked), len(pods)))
	}
	if len(names) > 0 {
		warnings = append(warnings, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, enforce.String()))
	}
	var about []string
	for reason, same := range names {
		switch first := slices.Min(same); len(same) {
		case 1:
			about = append(about, fmt.Sprintf("%s: %s", first, reason))
		case 2:
			about = append(about, fmt.Sprintf("%s (and 1 other pod): %s", first, reason))
		default:
			about = append(about, fmt.Sprintf("%s (and %d other pods): %s", first, len(same)-1, reason))
		}
	}
	slices.Sort(about)
	return append(warnings, about...)
}

// podsToCheck returns the pods of a namespace, the first of each controller before the others.
func (s *Server) podsToCheck(namespace string) (pods []*corev1.Pod) {
	var others []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, obj := range s.store.List(api.Pod) {
		pod := obj.(*corev1.Pod)
		if pod.Namespace != namespace {
			continue
		}
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner != nil && seen[owner.UID] {
			others = append(others, pod)
			continue
		}
		if owner != nil {
			seen[owner.UID] = true
		}
		pods = append(pods, pod)
	}
	return append(pods, others...)
}
