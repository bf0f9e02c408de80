package deployment

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// rollbackTo returns the revision in the annotation that asks for a rollback (DEP-080).
func rollbackTo(d *appsv1.Deployment) (int64, bool) {
	value := d.Annotations[appsv1.DeprecatedRollbackTo]
	if value == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// rollBack takes the template of an earlier revision, 0 for the one before the newest, and removes the annotation (DEP-080).
func (u *rollout) rollBack(p *engine.Process, revision int64) error {
	newSet, old, err := u.findSets(p, true)
	if err != nil {
		return err
	}
	all := with(old, newSet)
	warn := func(reason, text string) {
		u.recorder.Event(p, u.obj, corev1.EventTypeWarning, reason, "%s", text)
	}
	if revision == 0 {
		if revision = lastRevision(all); revision == 0 {
			warn("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
			return u.writeRollback(p)
		}
	}
	for _, set := range all {
		if n, err := revisionOf(set); err != nil || n != revision {
			continue
		}
		if sameTemplate(&u.d.Spec.Template, &set.Spec.Template) {
			warn("DeploymentRollbackTemplateUnchanged", fmt.Sprintf("The rollback revision contains the same template as current deployment %q", u.d.Name))
			return u.writeRollback(p)
		}
		// DEP-080: template and annotations are those of the earlier set.
		p.Decide("DEP-080", u.obj, "roll back to revision %d", revision)
		Restore(u.d, set)
		if err := u.writeRollback(p); err != nil {
			return err
		}
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "DeploymentRollback", "Rolled back deployment %q to revision %d", u.d.Name, revision)
		return nil
	}
	warn("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
	return u.writeRollback(p)
}

// Restore gives a Deployment the template and the annotations of one of its sets. It reports false, and changes nothing, if the Deployment
// has the template already.
func Restore(d *appsv1.Deployment, set *appsv1.ReplicaSet) bool {
	if sameTemplate(&d.Spec.Template, &set.Spec.Template) {
		return false
	}
	d.Spec.Template = *set.Spec.Template.DeepCopy()
	delete(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	annotations := map[string]string{}
	for name, value := range d.Annotations {
		if slices.Contains(ownAnnotations, name) {
			annotations[name] = value
		}
	}
	for name, value := range set.Annotations {
		if !slices.Contains(ownAnnotations, name) {
			annotations[name] = value
		}
	}
	d.Annotations = annotations
	return true
}

// AtRevision returns the set with a revision, 0 for the second highest, as kubectl rollout undo finds it. It is nil if there is none.
func AtRevision(sets []*appsv1.ReplicaSet, revision int64) *appsv1.ReplicaSet {
	var newest, previous *appsv1.ReplicaSet
	numbers := map[*appsv1.ReplicaSet]int64{nil: -1}
	for _, set := range sets {
		n, err := revisionOf(set)
		if err != nil {
			continue
		}
		numbers[set] = n
		switch {
		case revision > 0 && n == revision:
			return set
		case n > numbers[newest]:
			newest, previous = set, newest
		case n > numbers[previous]:
			previous = set
		}
	}
	if revision > 0 {
		return nil
	}
	return previous
}

// lastRevision returns the second highest revision, 0 for none.
func lastRevision(sets []*appsv1.ReplicaSet) int64 {
	highest, second := int64(0), int64(0)
	for _, set := range sets {
		switch n, err := revisionOf(set); {
		case err != nil:
		case n >= highest:
			highest, second = n, highest
		case n > second:
			second = n
		}
	}
	return second
}

// writeRollback writes the Deployment without the annotation.
func (u *rollout) writeRollback(p *engine.Process) error {
	c := u.d.DeepCopy()
	c.APIVersion, c.Kind = apiVersion, kindName
	delete(c.Annotations, appsv1.DeprecatedRollbackTo)
	_, err := p.API().Update(p, c, api.Main, store.UpdateOptions{})
	return err
}
