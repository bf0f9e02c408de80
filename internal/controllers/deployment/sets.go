package deployment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// The annotations of a Deployment and its sets.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	// desiredAnnotation of a set is the number of replicas of the Deployment, maxAnnotation that number with maxSurge.
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation     = "deployment.kubernetes.io/max-replicas"
	// historyLimit is the number of characters of a revision history.
	historyLimit = 2000
)

// ownAnnotations are not copied between a Deployment and its sets (DEP-004).
var ownAnnotations = []string{corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation,
	appsv1.DeprecatedRollbackTo}

// findSets returns the set of the current template and all others, from the oldest to the newest. It corrects the annotations of the former
// (DEP-004, DEP-005). Without such a set it creates one if create is set, else the first result is nil.
func (u *rollout) findSets(p *engine.Process, create bool) (newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet, err error) {
	slices.SortStableFunc(u.sets, byAge)
	newSet = Current(u.d, u.sets)
	for _, set := range u.sets {
		if set != newSet {
			old = append(old, set)
		}
	}
	next := int64(1)
	for _, set := range old {
		if n, err := revisionOf(set); err == nil {
			next = max(next, n+1)
		}
	}
	switch {
	case newSet != nil:
		newSet, err = u.updateSet(p, newSet, next)
	case create:
		newSet, err = u.createSet(p, old, next)
	}
	return newSet, old, err
}

// Current returns the set of the current template of a Deployment among its sets, which are in any order. It is nil if there is none.
func Current(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (current *appsv1.ReplicaSet) {
	for _, set := range sets {
		// DEP-002: of several sets with the template the oldest is the new one.
		if (current == nil || byAge(set, current) < 0) && sameTemplate(&set.Spec.Template, &d.Spec.Template) {
			current = set
		}
	}
	return current
}

// byAge compares sets by creation and name.
func byAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// sameTemplate compares templates without the label pod-template-hash.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// revisionOf returns the number of a set, 0 if it has none.
func revisionOf(set *appsv1.ReplicaSet) (int64, error) {
	value, ok := set.Annotations[revisionAnnotation]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(value, 10, 64)
}

// updateSet brings the annotations and minReadySeconds of the new set up to date, or else the revision of the Deployment.
func (u *rollout) updateSet(p *engine.Process, set *appsv1.ReplicaSet, next int64) (*appsv1.ReplicaSet, error) {
	c := set.DeepCopy()
	if annotate(u.d, c, next) || c.Spec.MinReadySeconds != u.d.Spec.MinReadySeconds {
		c.Spec.MinReadySeconds = u.d.Spec.MinReadySeconds
		p.Decide("DEP-004", c, "the set takes annotations and minReadySeconds of deployment %s", u.d.Name)
		return u.writeSet(p, c)
	}
	changed := u.setRevision(c.Annotations[revisionAnnotation])
	if hasDeadline(u.d) && condition(&u.d.Status, appsv1.DeploymentProgressing) == nil {
		// DEP-072: progress counts from the moment in which the set is found.
		setCondition(&u.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet",
			fmt.Sprintf("Found new replica set %q", c.Name), p.Now())
		changed = true
	}
	if changed {
		if err := u.updateStatus(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// setRevision changes the revision of the Deployment, and reports whether it has changed. It is written with the status (DEP-005).
func (u *rollout) setRevision(revision string) bool {
	if u.d.Annotations[revisionAnnotation] == revision {
		return false
	}
	u.d.Annotations = maps.Clone(u.d.Annotations)
	if u.d.Annotations == nil {
		u.d.Annotations = map[string]string{}
	}
	u.d.Annotations[revisionAnnotation] = revision
	return true
}

// annotate gives the new set the annotations of the Deployment and the revision, if its own is lower. It reports whether they have changed.
func annotate(d *appsv1.Deployment, set *appsv1.ReplicaSet, next int64) (changed bool) {
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for name, value := range d.Annotations {
		// DEP-004: all annotations are copied but those of the controller and of kubectl apply.
		if now, ok := set.Annotations[name]; !slices.Contains(ownAnnotations, name) && (!ok || now != value) {
			set.Annotations[name], changed = value, true
		}
	}
	was, had := set.Annotations[revisionAnnotation]
	number := int64(0)
	if was != "" {
		var err error
		if number, err = strconv.ParseInt(was, 10, 64); err != nil {
			return false
		}
	}
	if number >= next {
		return changed
	}
	// DEP-005: the new set has the highest revision. An earlier one stays in its history.
	set.Annotations[revisionAnnotation] = strconv.FormatInt(next, 10)
	if had {
		appendHistory(set.Annotations, was)
	}
	return true
}

// appendHistory adds a revision to the history. The oldest ones are removed if it grows too long.
func appendHistory(annotations map[string]string, revision string) {
	history := annotations[historyAnnotation]
	if history == "" {
		annotations[historyAnnotation] = revision
		return
	}
	all, length := strings.Split(history, ","), len(history)+len(revision)+1
	for length > historyLimit && len(all) > 0 {
		length -= len(all[0]) + 1
		all = all[1:]
	}
	if length <= historyLimit {
		annotations[historyAnnotation] = strings.Join(append(all, revision), ",")
	}
}

// createSet creates the set of the template.
func (u *rollout) createSet(p *engine.Process, old []*appsv1.ReplicaSet, next int64) (*appsv1.ReplicaSet, error) {
	template := u.d.Spec.Template.DeepCopy()
	hash := workload.TemplateHash(template, u.d.Status.CollisionCount)
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	selector := u.d.Spec.Selector.DeepCopy()
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	// DEP-003: the hash is part of the name, and a label of the set, its selector and its pods.
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey], selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash, hash
	set := &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.d.Namespace, Name: u.d.Name[:min(len(u.d.Name), validation.DNS1123SubdomainMaxLength-1-len(hash))] + "-" + hash,
			Labels: maps.Clone(template.Labels), OwnerReferences: []metav1.OwnerReference{workload.ControllerRef(u.d, apiVersion, kindName)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: u.d.Spec.MinReadySeconds, Selector: selector, Template: *template},
	}
	replicas := u.newReplicas(set, old)
	set.Spec.Replicas = &replicas
	annotate(u.d, set, next)
	annotateReplicas(u.d, set)
	p.Decide("DEP-002", u.obj, "no set has the template: create %s with %d replicas", set.Name, replicas)
	created, err := u.storeSet(p, set)
	if err != nil {
		return nil, err
	}
	exists := created.UID == ""
	if exists {
		obj, ok := u.controller.sets.Get(api.KeyOf(set))
		if !ok {
			return nil, apierrors.NewNotFound(appsv1.Resource("replicaset"), set.Name)
		}
		created = plain.Shared[*appsv1.ReplicaSet](obj)
		if ref := metav1.GetControllerOfNoCopy(created); ref == nil || ref.UID != u.d.UID || !sameTemplate(&u.d.Spec.Template, &created.Spec.Template) {
			return nil, u.noteCollision(p, set)
		}
	} else if replicas > 0 {
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name, replicas)
	}
	changed := u.setRevision(strconv.FormatInt(next, 10))
	if !exists && hasDeadline(u.d) {
		setCondition(&u.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated",
			fmt.Sprintf("Created new replica set %q", created.Name), p.Now())
		changed = true
	}
	if changed {
		err = u.updateStatus(p)
	}
	return created, err
}

// storeSet creates a set. A set whose name is taken is returned without a uid.
func (u *rollout) storeSet(p *engine.Process, set *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	created, err := p.API().Create(p, set, store.CreateOptions{})
	switch {
	case err == nil:
		return plain.As[*appsv1.ReplicaSet](created)
	case apierrors.IsAlreadyExists(err):
		return &appsv1.ReplicaSet{}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, err
	}
	// DEP-007: the failure is a condition and an Event.
	text := fmt.Sprintf("Failed to create new replica set %q: %v", set.Name, err)
	if hasDeadline(u.d) {
		setCondition(&u.d.Status, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", text, p.Now())
		_ = u.updateStatus(p)
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "ReplicaSetCreateError", "%s", text)
	return nil, err
}

// noteCollision counts a name that a set of another template has (DEP-006). It returns the error of the creation, so that the key is retried.
func (u *rollout) noteCollision(p *engine.Process, set *appsv1.ReplicaSet) error {
	if u.d.Status.CollisionCount == nil {
		u.d.Status.CollisionCount = new(int32)
	}
	*u.d.Status.CollisionCount++
	p.Decide("DEP-006", u.obj, "set %s has another template or owner: collision %d", set.Name, *u.d.Status.CollisionCount)
	_ = u.updateStatus(p)
	return apierrors.NewAlreadyExists(appsv1.Resource("replicasets"), set.Name)
}

// writeSet updates a set.
func (u *rollout) writeSet(p *engine.Process, set *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	set.APIVersion, set.Kind = apiVersion, "ReplicaSet"
	updated, err := p.API().Update(p, set, api.Main, store.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return plain.As[*appsv1.ReplicaSet](updated)
}

// cleanUp deletes old sets without pods, the lowest revisions first, down to revisionHistoryLimit (DEP-050).
func (u *rollout) cleanUp(p *engine.Process, old []*appsv1.ReplicaSet) error {
	limit := u.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == unlimited {
		return nil
	}
	var alive []*appsv1.ReplicaSet
	for _, set := range old {
		if set.DeletionTimestamp == nil {
			alive = append(alive, set)
		}
	}
	surplus := len(alive) - int(*limit)
	if surplus <= 0 {
		return nil
	}
	slices.SortStableFunc(alive, func(a, b *appsv1.ReplicaSet) int {
		numberA, errA := revisionOf(a)
		numberB, errB := revisionOf(b)
		if errA != nil || errB != nil {
			return byAge(a, b)
		}
		return cmp.Or(cmp.Compare(numberA, numberB), byAge(a, b))
	})
	for _, set := range alive[:surplus] {
		// DEP-050: a set that has pods, or that its controller has not seen in this version, stays.
		if set.Status.Replicas != 0 || *set.Spec.Replicas != 0 || set.Generation > set.Status.ObservedGeneration {
			continue
		}
		p.Decide("DEP-050", set, "deployment %s retains %d old sets", u.d.Name, *limit)
		_, err := p.API().Delete(p, api.Ref{Kind: setKind, Key: api.KeyOf(set)}, api.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
