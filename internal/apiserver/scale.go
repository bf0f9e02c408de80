package apiserver

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// scale reads, replaces or patches the scale of an object.
func (s *Server) scale(r *request) ([]byte, int, error) {
	body := *r
	body.resource = resources.Scales
	var obj api.Object
	var err error
	switch r.verb {
	case resources.VerbGet:
		obj, err = s.call(r, r.ref(), func() (api.Object, error) { return s.scalable(r) })
	case resources.VerbUpdate:
		var opts metav1.UpdateOptions
		if err := parameters(r.query, &opts, metav1validation.ValidateUpdateOptions); err != nil {
			return nil, 0, err
		}
		r.describe(&opts, opts.DryRun)
		obj, err = s.changeScale(r, len(opts.DryRun) > 0, func(*autoscalingv1.Scale) (api.Object, error) {
			decoded, warnings, err := s.codec.decode(bodyOf(&body, opts.FieldValidation), resources.Scales.GVK())
			body.warnings = append(body.warnings, warnings...)
			if err != nil {
				return nil, err
			}
			return decoded.(api.Object), nil
		}, &body)
	default:
		obj, err = s.patchScale(r, &body)
	}
	r.warnings = body.warnings
	if err != nil {
		return nil, 0, err
	}
	scale, err := s.scaleOf(r.resource, obj)
	if err != nil {
		return nil, 0, err
	}
	body.format = r.format
	data, err := s.represent(&body, scale)
	r.shown = body.shown
	return data, http.StatusOK, err
}

// scalable returns the object whose scale is read. A custom object without replicas has none.
func (s *Server) scalable(r *request) (api.Object, error) {
	obj, err := s.live(r)
	if err != nil || !r.resource.Custom {
		return obj, err
	}
	at, _ := s.resources.ScalePaths(r.resource)
	if _, found, err := unstructured.NestedFieldNoCopy(obj.(*plain.Object).Content(), at.Spec...); !found || err != nil {
		// API-331: nothing defaults the field.
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", "."+strings.Join(at.Spec, ".")))
	}
	return obj, nil
}

func bodyOf(r *request, validation string) body { return body{r.body, r.contentType, validation} }

func (s *Server) patchScale(r, body *request) (api.Object, error) {
	patchType := patchTypeOf(r)
	if !s.accepts(body.resource, patchType) || r.resource.Custom && patchType == types.StrategicMergePatchType {
		return nil, errPatchType(r.resource)
	}
	var opts metav1.PatchOptions
	validate := func(opts *metav1.PatchOptions) fieldErrors {
		return metav1validation.ValidatePatchOptions(opts, patchType)
	}
	if err := parameters(r.query, &opts, validate); err != nil {
		return nil, err
	}
	r.describe(&opts, opts.DryRun)
	if patchType == types.ApplyYAMLPatchType {
		return s.changeScale(r, len(opts.DryRun) > 0, func(old *autoscalingv1.Scale) (api.Object, error) {
			return s.applyScale(r, body, old, opts)
		}, body)
	}
	p := patch{server: s, request: body, patchType: patchType, validation: opts.FieldValidation}
	return s.changeScale(r, len(opts.DryRun) > 0, func(old *autoscalingv1.Scale) (api.Object, error) {
		if patchType == types.StrategicMergePatchType {
			return p.strategic(old)
		}
		return p.document(old)
	}, body)
}

// applyScale applies a configuration to the scale of an object.
func (s *Server) applyScale(r, body *request, old *autoscalingv1.Scale, opts metav1.PatchOptions) (api.Object, error) {
	old.SetGroupVersionKind(resources.Scales.GVK())
	scale, err := s.merged(body, old, opts)
	if err != nil || !r.resource.Custom {
		return scale, err
	}
	// API-572: kube-apiserver cannot convert what was applied.
	var applied metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(body.body, &applied); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return nil, fmt.Errorf("failed to convert new object (%s/%s; %s) to proper version: request to convert CR to an invalid group/version: %s",
		applied.Namespace, applied.Name, resources.Scales.GVK(), resources.Scales.GroupVersion())
}

// ownersOfScale returns the managedFields of a scale after an update.
func (s *Server) ownersOfScale(manager string, scale, old *autoscalingv1.Scale) []metav1.ManagedFieldsEntry {
	entries, err := s.fields.Owners(resources.Scales, resources.SubresourceScale, manager, scale, old)
	if err != nil {
		return old.ManagedFields // they conform to the schema, so there is none
	}
	return entries
}

// scaleManagers converts the managedFields of an object to those of its scale, and back.
func (s *Server) scaleManagers(res *resources.Resource, live api.Object) (*managedfields.ScaleHandler, error) {
	mappings := managedfields.ResourcePathMappings{}
	for _, version := range s.resources.All() {
		if version.Kind != res.Kind {
			continue
		}
		at, _ := s.resources.ScalePaths(version)
		steps := make([]any, len(at.Spec))
		for i, name := range at.Spec {
			steps[i] = name
		}
		path, err := fieldpath.MakePath(steps...)
		if err != nil {
			return nil, err
		}
		mappings[version.GroupVersion().String()] = path
	}
	return managedfields.NewScaleHandler(live.GetManagedFields(), res.GroupVersion(), mappings), nil
}

// changeScale stores the replicas of a changed scale.
func (s *Server) changeScale(r *request, dryRun bool, change func(old *autoscalingv1.Scale) (api.Object, error), body *request) (api.Object, error) {
	return s.write(r, r.ref(), dryRun, func() (api.Object, error) {
		live, err := s.live(r)
		if err != nil {
			return nil, err
		}
		old, err := s.scaleOf(r.resource, live)
		if err != nil {
			return nil, err
		}
		// API-572: managedFields are those of the scale, which has only the owners of replicas.
		entries, err := s.scaleManagers(r.resource, live)
		if err != nil {
			return nil, err
		}
		if old.ManagedFields, err = entries.ToSubresource(); err != nil {
			return nil, err
		}
		obj, err := change(old)
		if err != nil {
			return nil, err
		}
		scale := obj.(*autoscalingv1.Scale)
		if err := body.checkIdentity(scale); err != nil {
			return nil, err
		}
		if scale, err = r.reviewScale(scale, old); err != nil {
			return nil, err
		}
		if n := scale.Spec.Replicas; n < 0 && !r.resource.Custom {
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: resources.Scales.Group, Kind: resources.Scales.KindName}, r.name, field.ErrorList{
				field.Invalid(field.NewPath("spec", "replicas"), int64(n), "must be greater than or equal to 0")})
		}
		if r.verb == resources.VerbPatch && scale.UID != live.GetUID() {
			return nil, apierrors.NewConflict(schema.GroupResource{Group: r.resource.Group, Resource: r.resource.Resource + "/scale"}, r.name,
				fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, live.GetUID()))
		}
		changed := live.(*plain.Object).Copy()
		changed.SetContent(runtime.DeepCopyJSON(changed.Content()))
		at, _ := s.resources.ScalePaths(r.resource)
		if err := unstructured.SetNestedField(changed.Content(), int64(scale.Spec.Replicas), at.Spec...); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		// API-331: a scale without a version is that of the newest object, also of kinds whose updates need one.
		changed.ResourceVersion = cmp.Or(scale.ResourceVersion, changed.ResourceVersion)
		if scale.UID != "" {
			changed.UID = scale.UID
		}
		if err := s.checkSchema(r, changed, live); err != nil {
			return nil, err
		}
		if s.fields != nil {
			if patchTypeOf(r) != types.ApplyYAMLPatchType {
				scale.ManagedFields = s.ownersOfScale(r.manager, scale, old)
			}
			if changed.ManagedFields, err = entries.ToParent(scale.ManagedFields); err != nil {
				return nil, err
			}
			return s.fields.Keep(func() (api.Object, error) { return s.store.UpdateWith(changed, api.Main, store.UpdateOptions{}) })
		}
		return s.store.UpdateWith(changed, api.Main, store.UpdateOptions{})
	})
}

// scaleOf returns the scale of an object.
func (s *Server) scaleOf(r *resources.Resource, obj api.Object) (*autoscalingv1.Scale, error) {
	obj, err := s.inVersion(r, obj)
	if err != nil {
		return nil, err
	}
	at, _ := s.resources.ScalePaths(r)
	content := obj.(*plain.Object).Content()
	number := func(path []string) int32 {
		value, _, _ := unstructured.NestedFieldNoCopy(content, path...)
		switch n := value.(type) {
		case int64:
			return int32(n)
		case float64:
			return int32(n)
		}
		return 0
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		CreationTimestamp: obj.GetCreationTimestamp(),
	}}
	scale.Spec.Replicas, scale.Status.Replicas = number(at.Spec), number(at.Status)
	selector, _, _ := unstructured.NestedFieldNoCopy(content, at.Selector...)
	scale.Status.Selector, err = selectorText(selector, r.Kind == "ReplicationController")
	return scale, err
}

// selectorText formats the selector of a workload. That of a ReplicationController consists of labels only.
func selectorText(selector any, onlyLabels bool) (string, error) {
	switch selector := selector.(type) {
	case string:
		return selector, nil
	case map[string]any:
		if onlyLabels {
			set := labels.Set{}
			for name, value := range selector {
				set[name] = fmt.Sprint(value)
			}
			return set.AsSelector().String(), nil
		}
		var typed metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &typed); err != nil {
			return "", apierrors.NewBadRequest(err.Error())
		}
		s, err := metav1.LabelSelectorAsSelector(&typed)
		if err != nil {
			return "", apierrors.NewBadRequest(err.Error())
		}
		return s.String(), nil
	}
	return "", nil
}
