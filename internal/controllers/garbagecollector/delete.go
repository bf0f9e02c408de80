package garbagecollector

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

// errUnobserved is the error of a check of a virtual node whose object exists: it is repeated until the informers deliver the object.
var errUnobserved = errors.New("the informers have not delivered the object yet")

// errUnknownKind is the error for an owner of a kind that the server does not know. Upstream waits for the kind, too.
type errUnknownKind struct{ apiVersion, kind string }

func (e errUnknownKind) Error() string {
	return fmt.Sprintf("unable to get REST mapping for %s/%s.", e.apiVersion, e.kind)
}

func splitVersion(apiVersion string) (group, version string) {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return "", apiVersion
	}
	return group, version
}

// queued returns the node of a key in a queue. It reports false if the key's object has left the graph, or is known differently by now.
func (c *collector) queued(key string) (*node, bool) {
	_, uid, _ := strings.Cut(key, " ")
	n, ok := c.nodes[types.UID(uid)]
	return n, ok && n.key() == key
}

// attemptToDelete checks one node: whether it exists, and whether it has a living owner.
func (c *collector) attemptToDelete(p *engine.Process, key string) error {
	c.emit(p)
	n, ok := c.queued(key)
	if !ok {
		return nil
	}
	err := c.check(p, n)
	if _, unknown := errors.AsType[errUnknownKind](err); unknown {
		return &engine.Retry{Err: err, Background: true}
	}
	if err == nil && n.virtual && n.uid != "" && c.nodes[n.uid] == n && n.key() == key {
		return &engine.Retry{Err: errUnobserved}
	}
	return err
}

func (c *collector) check(p *engine.Process, n *node) error {
	// API-274: an object that is being deleted is left alone, unless it waits for its dependents.
	if n.beingDeleted && !n.deletingDependents {
		return nil
	}
	id := n.identity
	obj, err := c.read(p, id)
	switch {
	case apierrors.IsNotFound(err), err == nil && obj.GetUID() != id.uid:
		c.notFound(id)
		return nil
	case err != nil:
		return ignoreInvalidOwner(err)
	}
	if n.deletingDependents {
		return c.finishForeground(p, n, obj)
	}
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 {
		return nil
	}
	solid, dangling, waiting, err := c.classify(p, n, obj, refs)
	switch {
	case err != nil:
		return ignoreInvalidOwner(err)
	case len(solid) > 0:
		if len(dangling)+len(waiting) == 0 {
			return nil
		}
		// API-272, GC-022: an object with a living owner stays. It loses the references to owners that are gone or wait for it.
		p.Decide("API-272", obj, "%d of %d owners are gone", len(dangling)+len(waiting), len(refs))
		return c.dropOwners(p, n, obj, append(uids(dangling), uids(waiting)...))
	case len(waiting) > 0 && len(n.dependents) > 0:
		return c.cascadeForeground(p, n, obj)
	}
	// API-271: an object without a living owner is deleted. A policy that its finalizers imply counts (GC-003).
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	if len(waiting) > 0 {
		p.Decide("GC-020", obj, "an owner is being deleted in the foreground")
	} else {
		p.Decide("API-271", obj, "all owners are gone")
	}
	return c.delete(p, n, obj, policy)
}

// cascadeForeground deletes an object with dependents in the foreground, because one of its owners is (GC-023).
func (c *collector) cascadeForeground(p *engine.Process, n *node, obj api.Object) error {
	for _, dependent := range n.sorted() {
		if !dependent.deletingDependents {
			continue
		}
		// GC-024: dependents that wait for their own dependents may form a cycle, so the object no longer blocks its owners.
		p.Decide("GC-024", obj, "its dependent %s waits for its own dependents, so it no longer blocks its owners", dependent.name)
		err := c.patchOwners(p, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
			refs = slices.Clone(refs)
			for i := range refs {
				// GC-024: the strategic merge patch names only references that block; that of a custom object replaces all.
				if blocks(&refs[i]) || c.custom(api.KindOf(obj)) {
					refs[i].BlockOwnerDeletion = new(bool)
				}
			}
			return refs
		})
		if err != nil {
			return err
		}
		break
	}
	// GC-023: it waits for its own dependents in turn.
	p.Decide("GC-023", obj, "an owner is being deleted in the foreground, and the object has dependents")
	return c.delete(p, n, obj, metav1.DeletePropagationForeground)
}

// finishForeground removes the finalizer of an object that no dependent blocks any more, or else queues those that do (GC-020).
func (c *collector) finishForeground(p *engine.Process, n *node, obj api.Object) error {
	blocking := n.blocking()
	if len(blocking) == 0 {
		// GC-020: no dependent blocks the owner any more.
		p.Decide("GC-020", obj, "no dependent blocks its deletion any more")
		return c.removeFinalizer(p, n, metav1.FinalizerDeleteDependents)
	}
	for _, dependent := range blocking {
		if !dependent.deletingDependents {
			c.deletes.Add(dependent.key())
		}
	}
	return nil
}

// attemptToOrphan removes an owner from its dependents, and then the finalizer from the owner (GC-030).
func (c *collector) attemptToOrphan(p *engine.Process, key string) error {
	n, ok := c.queued(key)
	if !ok {
		return nil
	}
	var errs []string
	dependents := n.sorted()
	// GC-030: all dependents at the same time.
	parallel.Do(p, "orphans", len(dependents), len(dependents), func(p *engine.Process, i int) {
		err := c.orphan(p, dependents[i], n.uid)
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Sprintf("orphaning %s failed, %v", dependents[i].key(), err))
		}
	})
	if len(errs) > 0 {
		return fmt.Errorf("failed to orphan dependents of owner %s, got errors: %s", n.key(), strings.Join(errs, ", "))
	}
	return c.removeFinalizer(p, n, metav1.FinalizerOrphanDependents)
}

func (c *collector) orphan(p *engine.Process, dependent *node, owner types.UID) error {
	kind, key, err := c.locate(dependent.identity)
	if err != nil {
		return err
	}
	obj, ok := c.view(kind).Object(key)
	if !ok {
		return nil
	}
	// GC-030: the dependents stay, without the owner.
	p.Decide("GC-030", obj, "its owner is being deleted, and leaves its dependents")
	return c.dropOwners(p, dependent, obj, []types.UID{owner})
}

// locate returns the kind and the key of an identity.
func (c *collector) locate(id identity) (api.Kind, string, error) {
	kind, namespaced, ok := c.kindOf(id.apiVersion, id.kind)
	if !ok {
		return "", "", errUnknownKind{id.apiVersion, id.kind}
	}
	switch {
	case !namespaced:
		return kind, id.name, nil
	case id.namespace == "":
		return "", "", errNamespacedOwner
	}
	return kind, api.Key(id.namespace, id.name), nil
}

// read reads an object from the API server.
func (c *collector) read(p *engine.Process, id identity) (api.Object, error) {
	kind, key, err := c.locate(id)
	if err != nil {
		return nil, err
	}
	return p.API().Get(p, api.Ref{Kind: kind, Key: key})
}

var errNamespacedOwner = errors.New("cluster-scoped objects cannot refer to namespaced owners")

// ignoreInvalidOwner returns nil for an error that no retry can resolve.
func ignoreInvalidOwner(err error) error {
	if errors.Is(err, errNamespacedOwner) {
		return nil
	}
	return err
}

// classify asks the API server about the owners of an object, and splits the references: solid ones have a living owner, dangling ones have
// none, and the owners of waiting ones are being deleted in the foreground.
func (c *collector) classify(p *engine.Process, n *node, obj api.Object, refs []metav1.OwnerReference) (
	solid, dangling, waiting []metav1.OwnerReference, err error) {
	for i := range refs {
		owner, exists, err := c.owner(p, n, obj, &refs[i])
		switch {
		case err != nil:
			return nil, nil, nil, err
		case !exists:
			dangling = append(dangling, refs[i])
		case owner != nil && owner.GetDeletionTimestamp() != nil && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents):
			// GC-020: the owner waits for this object.
			waiting = append(waiting, refs[i])
		default:
			// API-272: an owner that is being deleted counts as alive.
			solid = append(solid, refs[i])
		}
	}
	return solid, dangling, waiting, nil
}

// owner reads an owner. It is nil for one that is assumed to exist.
func (c *collector) owner(p *engine.Process, n *node, obj api.Object, ref *metav1.OwnerReference) (owner api.Object, exists bool, err error) {
	// GC-012: an owner that was found absent is not asked about again.
	cluster, local := referred(ref, ""), referred(ref, n.namespace)
	if c.absent.has(cluster) || c.absent.has(local) {
		return nil, false, nil
	}
	// GC-040: nothing is known about this kind.
	if c.assumed(ref) {
		return nil, true, nil
	}
	kind, namespaced, ok := c.kindOf(ref.APIVersion, ref.Kind)
	if !ok {
		return nil, false, errUnknownKind{ref.APIVersion, ref.Kind}
	}
	id, key := local, api.Key(n.namespace, ref.Name)
	if !namespaced {
		id, key = cluster, ref.Name
	}
	// API-275: an object without a namespace cannot have an owner in one.
	if n.namespace == "" && namespaced {
		p.Decide("API-275", obj, "owner %s %s has a namespace, the object has none", ref.Kind, ref.Name)
		return nil, false, errNamespacedOwner
	}
	owner, err = p.API().Get(p, api.Ref{Kind: kind, Key: key})
	switch {
	case apierrors.IsNotFound(err), err == nil && owner.GetUID() != ref.UID:
		// API-270: an absent owner is dangling, and so is one whose name another object has now.
		c.absent.add(id)
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return owner, true, nil
}

func uids(refs []metav1.OwnerReference) []types.UID {
	var list []types.UID
	for i := range refs {
		list = append(list, refs[i].UID)
	}
	return list
}

// delete deletes an object, unless its owners have changed since it was read.
func (c *collector) delete(p *engine.Process, n *node, obj api.Object, policy metav1.DeletionPropagation) error {
	ref := api.RefTo(obj)
	// API-271: the object is deleted in this version only. Finalizers and grace periods may delay its removal.
	opts := api.DeleteOptions{UID: n.uid, ResourceVersion: obj.GetResourceVersion(), PropagationPolicy: policy}
	_, err := p.API().Delete(p, ref, opts)
	if apierrors.IsConflict(err) {
		live, liveErr := p.API().Get(p, ref)
		if liveErr == nil && live.GetUID() == n.uid && live.GetResourceVersion() != opts.ResourceVersion &&
			reflect.DeepEqual(live.GetOwnerReferences(), obj.GetOwnerReferences()) {
			// API-271: after a conflict it is deleted if it has changed, but not its owners.
			opts.ResourceVersion = ""
			_, err = p.API().Delete(p, ref, opts)
		} else if apierrors.IsNotFound(liveErr) {
			err = liveErr
		}
	}
	if apierrors.IsNotFound(err) {
		c.notFound(n.identity)
		return nil
	}
	return err
}

// dropOwners removes references from an object.
func (c *collector) dropOwners(p *engine.Process, n *node, obj api.Object, owners []types.UID) error {
	return c.patchOwners(p, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(slices.Clone(refs), func(ref metav1.OwnerReference) bool { return slices.Contains(owners, ref.UID) })
	})
}

// custom reports whether a kind is that of a CustomResourceDefinition.
func (c *collector) custom(kind api.Kind) bool {
	known := c.store.Describe(kind)
	return known != nil && known.Custom
}

// patchOwners changes the references of the newest version of an object (GC-004). obj is a version that was read before.
func (c *collector) patchOwners(p *engine.Process, obj api.Object, change func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	ref := api.RefTo(obj)
	_, err := p.API().Write(p, "patch", ref, func() (api.Object, error) {
		newest, err := c.store.Get(ref.Kind, ref.Key)
		if err != nil {
			return nil, err
		}
		meta := map[string]any{"uid": obj.GetUID()}
		if c.custom(ref.Kind) {
			// GC-004: custom objects have no strategic merge patch, so the patch is that of a version.
			newest, meta["resourceVersion"] = obj, obj.GetResourceVersion()
		}
		meta["ownerReferences"] = change(newest.GetOwnerReferences())
		patch, err := json.Marshal(map[string]any{"metadata": meta})
		if err != nil {
			return nil, err
		}
		return c.store.Patch(ref.Kind, ref.Key, patch, api.Main)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// finalizerAttempts and finalizerDelay limit the repetitions after a conflict.
const (
	finalizerAttempts = 4
	finalizerDelay    = 10 * time.Millisecond
)

// removeFinalizer removes a finalizer from an object (GC-005).
func (c *collector) removeFinalizer(p *engine.Process, n *node, finalizer string) error {
	delay := finalizerDelay
	for attempt := 1; ; attempt++ {
		obj, err := c.read(p, n.identity)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot finalize owner %s, because cannot get it: %v. The garbage collector will retry later", n.key(), err)
		}
		if !slices.Contains(obj.GetFinalizers(), finalizer) {
			return nil
		}
		rest := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(name string) bool { return name == finalizer })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": obj.GetResourceVersion(), "finalizers": rest}})
		if err != nil {
			return err
		}
		// GC-005: a conflict is repeated at once with the newest version.
		_, err = p.API().Patch(p, api.RefTo(obj), patch, api.Main)
		if !apierrors.IsConflict(err) || attempt == finalizerAttempts {
			return err
		}
		p.Sleep(delay)
		delay *= 5
	}
}
