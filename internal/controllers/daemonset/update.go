package daemonset

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// generationOf returns the number of the template, "" if it is not valid.
func generationOf(set *appsv1.DaemonSet) string {
	n, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// updated reports whether a pod has the current template (DS-040).
func (u *update) updated(pod *corev1.Pod) bool {
	generation := generationOf(u.set)
	// DS-040: one of both labels is enough.
	return u.hash != "" && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == u.hash || generation != "" && pod.Labels[generationLabel] == generation
}

// surge returns how many of n nodes may have two pods during an update.
func (u *update) surge(n int) int {
	rolling := u.set.Spec.UpdateStrategy.RollingUpdate
	if u.set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || rolling == nil || rolling.MaxSurge == nil {
		return 0
	}
	return scaled(rolling.MaxSurge, n)
}

func scaled(v *intstr.IntOrString, n int) int {
	m, err := intstr.GetScaledValueFromIntOrPercent(v, n, true)
	if err != nil {
		return 0
	}
	return m
}

// roll replaces pods of an earlier template (DS-040).
func (u *update) roll(p *engine.Process) error {
	byNode, err := u.podsByNode(p, false)
	if err != nil {
		return err
	}
	desired := 0
	for _, node := range u.nodes {
		if run, _ := admits(u.set, node); run {
			desired++
			if _, ok := byNode[node.Name]; !ok {
				byNode[node.Name] = nil
			}
		}
	}
	surge, unavailable := u.surge(desired), 0
	if rolling := u.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
		unavailable = scaled(rolling.MaxUnavailable, desired)
	}
	if desired > 0 && unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	// SIM: nodes are visited by name; upstream in the order of a map.
	names := slices.Sorted(maps.Keys(byNode))
	if surge == 0 {
		return u.rollDown(p, names, byNode, unavailable)
	}
	return u.rollUp(p, names, byNode, surge, desired)
}

// onePerTemplate returns the pod of a node with the current template and the one with another. It reports false if there are several of one.
func (u *update) onePerTemplate(pods []*corev1.Pod) (newPod, oldPod *corev1.Pod, ok bool) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		slot := &oldPod
		if u.updated(pod) {
			slot = &newPod
		}
		if *slot != nil {
			return nil, nil, false
		}
		*slot = pod
	}
	return newPod, oldPod, true
}

// rollDown deletes old pods, as long as at most maxUnavailable are not available (DS-041).
func (u *update) rollDown(p *engine.Process, names []string, byNode map[string][]*corev1.Pod, most int) error {
	down := 0
	var broken, candidates []*corev1.Pod
	for _, name := range names {
		newPod, oldPod, ok := u.onePerTemplate(byNode[name])
		switch {
		case !ok || (newPod == nil) == (oldPod == nil):
			down++
		case newPod != nil:
			if !u.available(p, newPod) {
				down++
			}
		case !u.available(p, oldPod):
			// DS-041: an old pod that is not available is replaced in any case.
			broken = append(broken, oldPod)
			down++
		case down < most:
			candidates = append(candidates, oldPod)
		}
	}
	n := min(max(most-down, 0), len(candidates))
	return u.apply(p, nil, append(broken, candidates[:n]...))
}

// rollUp creates new pods beside old ones, at most maxSurge at a time, and deletes old pods whose successor is available (DS-042).
func (u *update) rollUp(p *engine.Process, names []string, byNode map[string][]*corev1.Pod, most, desired int) error {
	var remove, misplaced []*corev1.Pod
	var required, candidates []string
	surging, available := 0, 0
	for _, name := range names {
		newPod, oldPod, ok := u.onePerTemplate(byNode[name])
		if !ok {
			surging++
			continue
		}
		if pod := oldPod; pod != nil && u.available(p, pod) || pod == nil && newPod != nil && u.available(p, newPod) {
			available++
		}
		switch {
		case oldPod == nil:
			continue
		case newPod != nil && u.available(p, newPod):
			remove = append(remove, oldPod)
			continue
		case newPod != nil:
			surging++
			continue
		}
		node, ok := u.controller.nodes.Get(name)
		if !ok {
			return fmt.Errorf("couldn't get node for nodeName %q: %w", name, apierrors.NewNotFound(corev1.Resource("node"), name))
		}
		run, _ := admits(u.set, node)
		switch {
		case !run && !u.available(p, oldPod):
			remove = append(remove, oldPod)
		case !run:
			misplaced = append(misplaced, oldPod)
		case !u.available(p, oldPod):
			required = append(required, name)
		case surging < most:
			candidates = append(candidates, name)
		}
	}
	// DS-042: a pod on a node that no longer admits new ones goes when enough others are available.
	remove = append(remove, misplaced[:min(max(available-desired, 0), len(misplaced))]...)
	n := min(max(most-surging, 0), len(candidates))
	return u.apply(p, append(required, candidates[:n]...), remove)
}

// history returns the revision of the template and the others (DS-030).
func (u *update) history(p *engine.Process) (current *appsv1.ControllerRevision, old []*appsv1.ControllerRevision, err error) {
	all, err := u.revisions.Claim(p, u.set, u.ref, u.selector, u.fresh)
	if err != nil {
		return nil, nil, err
	}
	data, err := workload.TemplatePatch(&u.set.Spec.Template)
	if err != nil {
		return nil, nil, err
	}
	var same []*appsv1.ControllerRevision
	number := int64(1)
	for _, r := range all {
		if _, ok := r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; !ok {
			c := r.DeepCopy()
			c.Labels = maps.Clone(c.Labels)
			c.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = c.Name
			if r, err = writeRevision(p, c); err != nil {
				return nil, nil, err
			}
		}
		if bytes.Equal(r.Data.Raw, data) {
			same = append(same, r)
			continue
		}
		old = append(old, r)
		number = max(number, r.Revision+1)
	}
	if len(same) == 0 {
		current, err = u.newRevision(p, data, number)
		return current, old, err
	}
	if current, err = u.only(p, same); err != nil {
		return nil, nil, err
	}
	if current.Revision < number {
		// DS-031: a rollback renumbers the earlier revision.
		c := current.DeepCopy()
		c.Revision = number
		if _, err := writeRevision(p, c); err != nil {
			return nil, nil, err
		}
	}
	return current, old, nil
}

func writeRevision(p *engine.Process, r *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	r.APIVersion, r.Kind = apiVersion, "ControllerRevision"
	updated, err := p.API().Update(p, r, api.Main, store.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return plain.As[*appsv1.ControllerRevision](updated)
}

// only returns the newest of several revisions with one content, labels all pods with it, and deletes the others.
func (u *update) only(p *engine.Process, same []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	newest := same[0]
	for _, r := range same[1:] {
		if r.Revision >= newest.Revision {
			newest = r
		}
	}
	if len(same) == 1 {
		return newest, nil
	}
	pods, err := u.claim(p)
	if err != nil {
		return nil, err
	}
	hash := newest.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	for _, pod := range pods {
		if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash {
			continue
		}
		if _, err := p.API().Pods.PatchWith(p, api.KeyOf(pod), func(pod *corev1.Pod) error {
			pod.Labels = maps.Clone(pod.Labels)
			pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
			return nil
		}, api.Main); err != nil {
			return nil, err
		}
	}
	for _, r := range same {
		if r.Name == newest.Name {
			continue
		}
		// DS-031: of several revisions with one content the newest stays.
		if _, err := p.API().Delete(p, api.Ref{Kind: workload.RevisionKind, Key: api.KeyOf(r)}, api.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	return newest, nil
}

// newRevision stores the revision of the template (DS-030).
func (u *update) newRevision(p *engine.Process, data []byte, number int64) (*appsv1.ControllerRevision, error) {
	hash := workload.TemplateHash(&u.set.Spec.Template, u.set.Status.CollisionCount)
	r := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{Namespace: u.set.Namespace, Name: u.set.Name + "-" + hash, Labels: maps.Clone(u.set.Spec.Template.Labels),
			Annotations: maps.Clone(u.set.Annotations), OwnerReferences: []metav1.OwnerReference{u.ref}},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	created, err := p.API().Create(p, r, store.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return nil, err
		}
		return plain.As[*appsv1.ControllerRevision](created)
	}
	taken := err
	existing, err := p.API().Get(p, api.Ref{Kind: workload.RevisionKind, Key: api.KeyOf(r)})
	if err != nil {
		return nil, err
	}
	stored, err := plain.As[*appsv1.ControllerRevision](existing)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(stored.Data.Raw, data) {
		return stored, nil
	}
	fresh, err := u.fresh(p)
	if err != nil {
		return nil, err
	}
	set, err := plain.As[*appsv1.DaemonSet](fresh)
	if err != nil {
		return nil, err
	}
	set = set.DeepCopy()
	if !reflect.DeepEqual(set.Status.CollisionCount, u.set.Status.CollisionCount) {
		return nil, errors.New("found a stale collision count of DaemonSet while processing; will retry until it is updated")
	}
	if set.Status.CollisionCount == nil {
		set.Status.CollisionCount = new(int32)
	}
	// DS-032: another content has the name.
	*set.Status.CollisionCount++
	set.APIVersion, set.Kind = apiVersion, kindName
	if _, err := p.API().Update(p, set, api.Status, store.UpdateOptions{}); err != nil {
		return nil, err
	}
	return nil, taken
}

// truncate deletes the oldest revisions that no pod has, down to revisionHistoryLimit (DS-033).
func (u *update) truncate(p *engine.Process, old []*appsv1.ControllerRevision) error {
	byNode, err := u.podsByNode(p, true)
	if err != nil {
		return err
	}
	surplus := len(old) - int(*u.set.Spec.RevisionHistoryLimit)
	if surplus <= 0 {
		return nil
	}
	live := map[string]bool{}
	for _, pods := range byNode {
		for _, pod := range pods {
			if hash := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != "" {
				live[hash] = true
			}
		}
	}
	workload.SortRevisions(old)
	for _, r := range old {
		if surplus <= 0 {
			break
		}
		if live[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] {
			continue
		}
		// DS-033: revisions of pods are not deleted, and do not count.
		if _, err := p.API().Delete(p, api.Ref{Kind: workload.RevisionKind, Key: api.KeyOf(r)}, api.DeleteOptions{}); err != nil {
			return err
		}
		surplus--
	}
	return nil
}

// writeStatus counts pods and writes the status if it has changed (DS-050). observed is set if the sync has acted on the spec.
func (u *update) writeStatus(p *engine.Process, observed bool) error {
	byNode, err := u.podsByNode(p, false)
	if err != nil {
		return err
	}
	status := *u.set.Status.DeepCopy()
	status.DesiredNumberScheduled, status.CurrentNumberScheduled, status.NumberMisscheduled = 0, 0, 0
	status.NumberReady, status.UpdatedNumberScheduled, status.NumberAvailable = 0, 0, 0
	for _, node := range u.nodes {
		run, _ := admits(u.set, node)
		pods := byNode[node.Name]
		switch {
		case run:
			status.DesiredNumberScheduled++
		case len(pods) > 0:
			status.NumberMisscheduled++
			continue
		}
		if len(pods) == 0 || !run {
			continue
		}
		status.CurrentNumberScheduled++
		// DS-050: of several pods of a node the oldest counts.
		byAge(pods)
		if workload.Ready(pods[0]) != nil {
			status.NumberReady++
			if u.available(p, pods[0]) {
				status.NumberAvailable++
			}
		}
		if u.updated(pods[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	if !reflect.DeepEqual(status, u.set.Status) || status.ObservedGeneration < u.set.Generation {
		if err := u.storeStatus(p, status, observed); err != nil {
			return fmt.Errorf("error storing status for daemon set %s: %w", u.key, err)
		}
	}
	if seconds := u.set.Spec.MinReadySeconds; seconds > 0 && status.NumberReady != status.NumberAvailable {
		u.queue.AddAfter(u.key, time.Duration(seconds)*time.Second)
	}
	return nil
}

func (u *update) storeStatus(p *engine.Process, status appsv1.DaemonSetStatus, observed bool) error {
	set := u.set
	for attempt := 1; ; attempt++ {
		c := set.DeepCopy()
		c.APIVersion, c.Kind = apiVersion, kindName
		status.ObservedGeneration, status.CollisionCount, status.Conditions = c.Status.ObservedGeneration, c.Status.CollisionCount, c.Status.Conditions
		c.Status = status
		if observed {
			c.Status.ObservedGeneration = u.set.Generation
		}
		updated, err := p.API().Update(p, c, api.Status, store.UpdateOptions{})
		if err == nil {
			u.written.Wrote(u.key, "daemonsets", updated)
			return nil
		}
		// DS-052: a failed write is repeated once, with the newest version of the set.
		if attempt == 2 {
			return err
		}
		fresh, failed := u.fresh(p)
		if failed != nil {
			return failed
		}
		if set, failed = plain.As[*appsv1.DaemonSet](fresh); failed != nil {
			return failed
		}
	}
}
