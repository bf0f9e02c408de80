package envtest

import (
	"encoding/base64"
	"reflect"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

var (
	hubType   = reflect.TypeFor[conversion.Hub]()
	spokeType = reflect.TypeFor[conversion.Convertible]()
)

// convertible returns the kinds of a scheme whose types convert their versions: one of the versions is the hub, all others are convertible.
func convertible(s *runtime.Scheme) map[schema.GroupKind]bool {
	type versions struct{ hubs, spokes, others int }
	kinds := map[schema.GroupKind]versions{}
	for gvk, value := range s.AllKnownTypes() {
		v, t := kinds[gvk.GroupKind()], reflect.PointerTo(value)
		switch {
		case t.Implements(hubType):
			v.hubs++
		case t.Implements(spokeType):
			v.spokes++
		default:
			v.others++
		}
		kinds[gvk.GroupKind()] = v
	}
	found := map[schema.GroupKind]bool{}
	for kind, v := range kinds {
		// API-490: the same types as controller-runtime looks for.
		if v.hubs == 1 && v.spokes > 0 && v.others == 0 {
			found[kind] = true
		}
	}
	return found
}

// installer stores definitions whose objects the test converts.
type installer struct {
	hooks       *WebhookInstallOptions
	convertible map[schema.GroupKind]bool
}

// setConversion says how the objects of a definition are converted: by the webhooks of the test, or not at all. It reports whether it has changed the
// definition.
func (i *installer) setConversion(definition *unstructured.Unstructured) bool {
	spec, _ := definition.Object["spec"].(map[string]any)
	preserve, _ := spec["preserveUnknownFields"].(bool)
	if spec == nil || preserve {
		return false
	}
	group, _, _ := unstructured.NestedString(spec, "group")
	kind, _, _ := unstructured.NestedString(spec, "names", "kind")
	_, given := spec["conversion"]
	if !i.hooks.IgnoreSchemeConvertible && !i.convertible[schema.GroupKind{Group: group, Kind: kind}] {
		// API-490: manifests name webhooks that a test need not serve.
		delete(spec, "conversion")
		return given
	}
	spec["conversion"] = map[string]any{
		"strategy": string(apiextensions.WebhookConverter),
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1", "v1beta1"},
			"clientConfig": map[string]any{
				"url":      i.hooks.url("convert"),
				"caBundle": base64.StdEncoding.EncodeToString(i.hooks.LocalServingCAData),
			},
		},
	}
	return true
}
