package dump

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// loadRevisions stores the revisions that the status of workloads names, each with the template of its workload. A dump need not have revisions,
// and its templates may be redacted; if the controller has seen the template, its status says which revision it is.
func (c *Cluster) loadRevisions() error {
	for _, kind := range []api.Kind{snapshot.StatefulSets, snapshot.DaemonSets, snapshot.Deployments} {
		for _, obj := range c.Objects(kind).List() {
			var revised api.Object
			switch kind {
			case snapshot.StatefulSets:
				revised = c.revisionOf(as[appsv1.StatefulSet](obj))
			case snapshot.DaemonSets:
				revised = c.daemonRevisionOf(as[appsv1.DaemonSet](obj))
			default:
				revised = c.keptTemplate(as[appsv1.Deployment](obj))
			}
			if revised == nil {
				continue
			}
			if err := internals.Load(c.Cluster, revised); err != nil {
				return c.dump.sourceOf(api.RefTo(obj)).locate(err)
			}
		}
	}
	return nil
}

// revisionOf returns the revision of the template of a StatefulSet; nil if its controller has not seen the template (STS-041).
func (c *Cluster) revisionOf(set *appsv1.StatefulSet) api.Object {
	if set.Status.UpdateRevision == "" || set.Status.ObservedGeneration < set.Generation {
		return nil
	}
	return c.newestRevision(set, "StatefulSet", &set.Spec.Template, set.Status.UpdateRevision, nil)
}

// daemonRevisionOf is revisionOf for a DaemonSet: its pods name the revision, if all are updated (DS-030).
func (c *Cluster) daemonRevisionOf(set *appsv1.DaemonSet) api.Object {
	if set.Status.ObservedGeneration < set.Generation || set.Status.UpdatedNumberScheduled < set.Status.DesiredNumberScheduled {
		return nil
	}
	hash := ""
	for _, pod := range c.Pods.List() {
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.UID != set.UID {
			continue
		}
		own := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if hash != "" && own != hash {
			return nil
		}
		hash = own
	}
	if hash == "" {
		return nil
	}
	return c.newestRevision(set, "DaemonSet", &set.Spec.Template, set.Name+"-"+hash, map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash})
}

// newestRevision returns the newest revision of a workload, with this name and, if the dump does not have it, these labels; nil if there is none.
func (c *Cluster) newestRevision(set api.Object, kind string, template *corev1.PodTemplateSpec, name string, labels map[string]string) api.Object {
	yes := true
	ref := metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: set.GetName(), UID: set.GetUID(), Controller: &yes,
		BlockOwnerDeletion: &yes}
	number := int64(0)
	for _, obj := range c.Objects(workload.RevisionKind).List() {
		stored := as[appsv1.ControllerRevision](obj)
		if owner := metav1.GetControllerOfNoCopy(obj); owner == nil || owner.UID != set.GetUID() {
			continue
		}
		number = max(number, stored.Revision)
		if stored.Name == name {
			stored.Data.Raw, _ = workload.TemplatePatch(template)
			return stored
		}
	}
	revision, err := workload.NewRevision(set, ref, template, number+1, nil)
	if err != nil {
		return nil
	}
	revision.Name, revision.UID = name, apitypes.UID("revision-"+string(set.GetUID()))
	revision.CreationTimestamp = set.GetCreationTimestamp()
	maps.Copy(revision.Labels, labels)
	return revision
}

// keptTemplate returns the newest ReplicaSet of a Deployment with the template of the Deployment, if its controller has seen that (DEP-002).
func (c *Cluster) keptTemplate(deployment *appsv1.Deployment) api.Object {
	revision := deployment.Annotations[revisionAnnotation]
	if revision == "" || deployment.Status.ObservedGeneration < deployment.Generation {
		return nil
	}
	var newest *appsv1.ReplicaSet
	for _, obj := range c.Objects(snapshot.ReplicaSets).List() {
		if owner := metav1.GetControllerOfNoCopy(obj); owner == nil || owner.UID != deployment.UID {
			continue
		}
		set := as[appsv1.ReplicaSet](obj)
		template := deployment.Spec.Template.DeepCopy()
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = set.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if equality.Semantic.DeepEqual(&set.Spec.Template, template) {
			return nil // the new set, as the controller finds it
		}
		if set.Annotations[revisionAnnotation] == revision {
			newest = set
			newest.Spec.Template = *template
		}
	}
	if newest == nil {
		return nil
	}
	return newest
}

// revisionAnnotation has the number of a rollout, in a Deployment and its ReplicaSets.
const revisionAnnotation = "deployment.kubernetes.io/revision"
