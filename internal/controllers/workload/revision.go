package workload

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// RevisionKind is the kind of revisions.
const RevisionKind api.Kind = "ControllerRevision.apps"

// HashLabel is the label of a revision with its hash.
const HashLabel = "controller.kubernetes.io/hash"

// Revisions are the revisions of controllers.
type Revisions struct {
	Informer engine.Informer[*plain.Object]
	// Table is needed for Claim.
	Table store.Table[*plain.Object]
}

// Claim returns the revisions of a controller, in the order of their keys. It adopts those without a controller that the selector matches,
// and releases those of the owner that it no longer matches (WORK-001). fresh reads the owner from the API server.
func (r Revisions) Claim(p *engine.Process, owner api.Object, ref metav1.OwnerReference, selector labels.Selector,
	fresh func(*engine.Process) (api.Object, error)) ([]*appsv1.ControllerRevision, error) {
	var claimed []*appsv1.ControllerRevision
	var errs []error
	var mayAdopt func() error
	for _, obj := range r.Informer.List() {
		if obj.Namespace != owner.GetNamespace() {
			continue
		}
		now, matches := metav1.GetControllerOfNoCopy(obj), selector.Matches(labels.Set(obj.Labels))
		switch {
		case now != nil && now.UID != owner.GetUID():
		case now != nil && matches:
			claimed = append(claimed, plain.Shared[*appsv1.ControllerRevision](obj))
		case owner.GetDeletionTimestamp() != nil, now == nil && (!matches || obj.DeletionTimestamp != nil):
		case now != nil:
			// WORK-001: a revision that the selector no longer matches is released.
			p.Decide("WORK-001", obj, "%s no longer selects the revision", owner.GetName())
			err := PatchOwners(p, r.Table, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference { return WithoutOwner(refs, owner) })
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
				errs = append(errs, err)
			}
		default:
			if mayAdopt == nil {
				err := MayAdopt(p, owner, ref.Kind, fresh)
				mayAdopt = func() error { return err }
			}
			if err := mayAdopt(); err != nil {
				errs = append(errs, fmt.Errorf("can't adopt ControllerRevision %v/%v (%v): %w", obj.Namespace, obj.Name, obj.UID, err))
				continue
			}
			// WORK-001: a revision without a controller that the selector matches is adopted.
			p.Decide("WORK-001", obj, "%s selects the revision, which has no controller", owner.GetName())
			err := PatchOwners(p, r.Table, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
				return append(WithoutOwner(refs, owner), ref)
			})
			switch {
			case err == nil:
				claimed = append(claimed, plain.Shared[*appsv1.ControllerRevision](obj))
			case !apierrors.IsNotFound(err):
				errs = append(errs, err)
			}
		}
	}
	return claimed, Aggregate(errs)
}

// PatchOwners changes the owner references of the newest version of an object, if it still has the uid.
func PatchOwners(p *engine.Process, table store.Table[*plain.Object], obj *plain.Object,
	change func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	_, err := p.API().Write(p, "patch", api.RefTo(obj), func() (api.Object, error) {
		return table.PatchWith(api.KeyOf(obj), func(newest *plain.Object) error {
			newest.UID = obj.UID
			newest.OwnerReferences = change(newest.OwnerReferences)
			return nil
		}, api.Main)
	})
	return err
}

// WithoutOwner returns a copy of the references without that to the owner.
func WithoutOwner(refs []metav1.OwnerReference, owner api.Object) []metav1.OwnerReference {
	var others []metav1.OwnerReference
	for _, ref := range refs {
		if ref.UID != owner.GetUID() {
			others = append(others, ref)
		}
	}
	return others
}

// TemplateHash returns the hash of a template and the number of collisions (DEP-003). Upstream hashes how Go prints the template, and so does
// this: names that contain it are those of a real cluster.
func TemplateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%v", dump.ForHash(*template))
	if collisions != nil {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisions))))
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// List returns the revisions that the selector matches and that the owner or no controller owns, from the oldest to the newest (WORK-010).
func (r Revisions) List(owner api.Object, selector labels.Selector) []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	for _, obj := range r.Informer.List() {
		if obj.Namespace != owner.GetNamespace() || !selector.Matches(labels.Set(obj.Labels)) {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil && ref.UID != owner.GetUID() {
			continue
		}
		list = append(list, plain.Shared[*appsv1.ControllerRevision](obj))
	}
	SortRevisions(list)
	return list
}

// SortRevisions sorts revisions by number, then by creation, then by name.
func SortRevisions(list []*appsv1.ControllerRevision) {
	slices.SortStableFunc(list, func(a, b *appsv1.ControllerRevision) int {
		switch {
		case a.Revision != b.Revision:
			if a.Revision < b.Revision {
				return -1
			}
			return 1
		case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
			return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// TemplatePatch returns the content of a revision: a patch that replaces the template (WORK-011).
func TemplatePatch(template *corev1.PodTemplateSpec) ([]byte, error) {
	data, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// TemplateOf returns the template in a revision.
func TemplateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var content struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := json.Unmarshal(revision.Data.Raw, &content)
	return &content.Spec.Template, err
}

// NewRevision returns a revision of the owner with this template (WORK-011).
func NewRevision(owner api.Object, ref metav1.OwnerReference, template *corev1.PodTemplateSpec, number int64, collisions *int32) (
	*appsv1.ControllerRevision, error) {
	data, err := TemplatePatch(template)
	if err != nil {
		return nil, err
	}
	r := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		Data:     runtime.RawExtension{Raw: data}, Revision: number,
	}
	hash := hashRevision(data, collisions)
	r.Namespace, r.OwnerReferences = owner.GetNamespace(), []metav1.OwnerReference{ref}
	r.Name = revisionName(owner.GetName(), hash)
	r.Labels, r.Annotations = maps.Clone(template.Labels), maps.Clone(owner.GetAnnotations())
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[HashLabel] = hash
	return r, nil
}

func revisionName(owner, hash string) string {
	return owner[:min(len(owner), 223)] + "-" + hash
}

// hashRevision hashes the content of a revision and the number of collisions.
func hashRevision(data []byte, collisions *int32) string {
	h := fnv.New32()
	h.Write(data)
	if collisions != nil {
		h.Write([]byte(strconv.FormatInt(int64(*collisions), 10)))
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// SameRevision reports whether two revisions have the same content.
func SameRevision(a, b *appsv1.ControllerRevision) bool { return bytes.Equal(a.Data.Raw, b.Data.Raw) }

// Restates reports whether the template of a revision, written anew, has the content of another: then they differ in form only (WORK-012).
func Restates(revision, proposed *appsv1.ControllerRevision) bool {
	template, err := TemplateOf(revision)
	if err != nil {
		return false
	}
	data, err := TemplatePatch(template)
	return err == nil && bytes.Equal(data, proposed.Data.Raw)
}

// Create stores a revision. If its name is taken by another content, the number of collisions grows, and with it the name changes (WORK-013).
func (r Revisions) Create(p *engine.Process, owner api.Object, revision *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	c := revision.DeepCopy()
	for {
		c.Name = revisionName(owner.GetName(), hashRevision(c.Data.Raw, collisions))
		created, err := plainAs[*appsv1.ControllerRevision](p.API().Create(p, c.DeepCopy(), store.CreateOptions{}))
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		existing, err := plainAs[*appsv1.ControllerRevision](p.API().Get(p, api.Ref{Kind: RevisionKind, Key: api.KeyOf(c)}))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(existing.Data.Raw, c.Data.Raw) {
			return existing, nil
		}
		// WORK-013: another content has the name.
		*collisions++
	}
}

// Renumber gives a revision another number.
func (r Revisions) Renumber(p *engine.Process, revision *appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	c := revision.DeepCopy()
	for attempt := 1; ; attempt++ {
		if c.Revision == number {
			return c, nil
		}
		c.Revision = number
		updated, err := plainAs[*appsv1.ControllerRevision](p.API().Update(p, c, api.Main, store.UpdateOptions{}))
		if !apierrors.IsConflict(err) || attempt == Attempts {
			return updated, err
		}
		p.Sleep(Backoff(attempt))
		if fresh, ok := r.Informer.Get(api.KeyOf(c)); ok {
			c = plain.Shared[*appsv1.ControllerRevision](fresh).DeepCopy()
		}
	}
}

// Delete deletes a revision.
func (r Revisions) Delete(p *engine.Process, revision *appsv1.ControllerRevision) error {
	_, err := p.API().Delete(p, api.Ref{Kind: RevisionKind, Key: api.KeyOf(revision)}, api.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Adopt makes the owner the controller of a revision.
func (r Revisions) Adopt(p *engine.Process, ref metav1.OwnerReference, revision *appsv1.ControllerRevision) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": revision.UID,
		"ownerReferences": append(slices.Clone(revision.OwnerReferences), ref)}})
	if err != nil {
		return err
	}
	_, err = p.API().Patch(p, api.Ref{Kind: RevisionKind, Key: api.KeyOf(revision)}, patch, api.Main)
	return err
}

func plainAs[T api.Object](obj api.Object, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return plain.As[T](obj)
}
