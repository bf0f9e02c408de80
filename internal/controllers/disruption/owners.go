package disruption

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// scaled is a controller of pods with its replicas.
type scaled struct {
	uid      types.UID
	replicas int32
}

// scale returns the sum of the replicas of the controllers of pods (PDB-004).
func (c *controller) scale(p *engine.Process, pods []*corev1.Pod) (sum int32, unmanaged bool, err error) {
	known := map[types.UID]int32{}
	for _, pod := range pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			unmanaged = true
			continue
		}
		if _, ok := known[ref.UID]; ok {
			continue
		}
		owner, err := c.owner(p, pod.Namespace, ref)
		if err != nil {
			return 0, unmanaged, err
		}
		if owner == nil {
			return 0, unmanaged, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		known[owner.uid] = owner.replicas
	}
	for _, n := range known {
		sum += n
	}
	return sum, unmanaged, nil
}

// owner returns the controller that a pod names, or the Deployment above it; nil if there is none.
func (c *controller) owner(p *engine.Process, namespace string, ref *metav1.OwnerReference) (*scaled, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	apps := gv.Group == "apps" || gv.Group == "extensions"
	switch {
	case ref.Kind == "ReplicationController" && gv.Group == "":
		if obj := c.cached(replicationControllers, namespace, ref); obj != nil {
			return count(obj, plain.Shared[*corev1.ReplicationController](obj).Spec.Replicas), nil
		}
	case ref.Kind == "ReplicaSet" && apps:
		if owner := c.ofReplicaSet(namespace, ref); owner != nil {
			return owner, nil
		}
	case ref.Kind == "StatefulSet" && gv.Group == "apps":
		if obj := c.cached(statefulSets, namespace, ref); obj != nil {
			return count(obj, plain.Shared[*appsv1.StatefulSet](obj).Spec.Replicas), nil
		}
	}
	return c.byScale(p, namespace, ref, gv.WithKind(ref.Kind))
}

// cached returns the object of a reference; nil if the controller has received none, or one with another uid.
func (c *controller) cached(kind api.Kind, namespace string, ref *metav1.OwnerReference) *plain.Object {
	if c.owners[kind] == nil {
		return nil
	}
	obj, ok := c.owners[kind].Get(api.Key(namespace, ref.Name))
	if !ok || obj.UID != ref.UID {
		return nil
	}
	return obj
}

func count(obj *plain.Object, replicas *int32) *scaled {
	if replicas == nil {
		return &scaled{obj.UID, 1}
	}
	return &scaled{obj.UID, *replicas}
}

// ofReplicaSet returns the ReplicaSet, or its Deployment; nil if one of them does not exist.
func (c *controller) ofReplicaSet(namespace string, ref *metav1.OwnerReference) *scaled {
	set := c.cached(replicaSets, namespace, ref)
	if set == nil {
		return nil
	}
	above := metav1.GetControllerOfNoCopy(set)
	if above == nil || above.Kind != "Deployment" {
		return count(set, plain.Shared[*appsv1.ReplicaSet](set).Spec.Replicas)
	}
	// PDB-004: the ReplicaSets of a Deployment count once, with the replicas of the Deployment.
	if obj := c.cached(deployments, namespace, above); obj != nil {
		return count(obj, plain.Shared[*appsv1.Deployment](obj).Spec.Replicas)
	}
	return nil
}

// byScale reads the scale of a controller from the API server (PDB-009).
func (c *controller) byScale(p *engine.Process, namespace string, ref *metav1.OwnerReference, gvk schema.GroupVersionKind) (*scaled, error) {
	s := c.actor.Engine().Store()
	kind := api.Kind(objkinds.Name(gvk.Group, gvk.Kind))
	known := s.Describe(kind)
	if known == nil || !known.Serves(gvk.Version) {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	if !known.Scale {
		// PDB-009: the API server has no such path, so the request does not read the object: a read that fails does not matter.
		return nil, fmt.Errorf("%s does not implement the scale subresource", schema.GroupResource{Group: known.Group, Resource: known.Plural})
	}
	obj, err := p.API().Get(p, api.Ref{Kind: kind, Key: api.Key(namespace, ref.Name)})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case obj.GetUID() != ref.UID:
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := plain.Write(obj, u); err != nil {
		return nil, err
	}
	replicas, _, err := unstructured.NestedInt64(u.Object, "spec", "replicas")
	return &scaled{obj.GetUID(), int32(replicas)}, err
}
