package store

import (
	"encoding/base64"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// otherStrategy returns the rules of a kind without a typed table.
func otherStrategy(kind *objkinds.Kind) strategy.Of[*plain.Object] {
	s := commonRules(kind)
	s.Encode = omitEmptyLists(kind)
	s.SpecChanged = specChanges(kind)
	if kind.Group == objkinds.SnapshotGroup || kind.Group == objkinds.GroupSnapshotGroup {
		s.Defaults = dropNulls
	}
	return addOwnRules(kind, s)
}

// commonRules returns the rules that all kinds without typed tables have (API-300 to API-303).
func commonRules(kind *objkinds.Kind) strategy.Of[*plain.Object] {
	return strategy.Of[*plain.Object]{
		Shallow: func(obj *plain.Object) *plain.Object {
			return obj.Copy()
		},
		PrepareCreate: func(obj *plain.Object, _ metav1.Time) {
			// API-302: a client cannot create an object with a status that has a subresource.
			if kind.Status {
				obj.DropStatus()
			}
			// API-303: generation counts from 1.
			if kind.Generation {
				obj.Generation = 1
			}
		},
		PrepareUpdate: func(obj, old *plain.Object) {
			// API-302: an update of the main resource keeps the status.
			if kind.Status {
				obj.TakeStatus(old)
			}
		},
		PrepareStatus: func(obj, old *plain.Object, _ metav1.Time) {
			// API-302: an update of the status keeps everything else. API-450: of some kinds, and of custom ones, that includes the metadata.
			obj.SetContent(withStatus(old.Content(), obj.Content()))
			if kind.Custom || kind.StatusAlone {
				version, managed := obj.ResourceVersion, obj.ManagedFields
				obj.ObjectMeta = old.ObjectMeta
				obj.ResourceVersion, obj.ManagedFields = version, managed
			}
		},
		Equal: func(a, b *plain.Object) bool {
			return a.TypeMeta == b.TypeMeta && equalContents(a, b)
		},
	}
}

// omitEmptyLists returns the function that stores required lists without elements; nil for a kind that has no such list.
func omitEmptyLists(kind *objkinds.Kind) func(*plain.Object) {
	paths := requiredLists[kind.Name()]
	if paths == nil {
		return nil
	}
	return func(obj *plain.Object) {
		for _, path := range paths {
			storeNoList(obj, path)
		}
	}
}

// specChanges returns the function that reports whether a write raises generation; nil for a kind without generation.
func specChanges(kind *objkinds.Kind) func(obj, old *plain.Object) bool {
	switch {
	case kind.Name() == "EndpointSlice.discovery.k8s.io":
		// API-561: a change of labels does, too.
		return func(obj, old *plain.Object) bool {
			return !equalContents(obj, old) || !maps.Equal(obj.Labels, old.Labels)
		}
	case kind.Generation:
		// API-303: a change of anything but metadata and status does.
		return func(obj, old *plain.Object) bool { return !equalContents(obj, old) }
	}
	return nil
}

// addOwnRules adds the rules that only this kind has.
func addOwnRules(kind *objkinds.Kind, s strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	switch kind.Name() {
	case "StatefulSet.apps":
		s = strategy.StatefulSet.Add(s)
	case string(QuotaKind):
		s = strategy.ResourceQuota.Add(s)
	case string(LimitRangeKind):
		s = strategy.LimitRange.Add(s)
		update := s.ValidateUpdate
		s.ValidateUpdate = func(obj, old *plain.Object) field.ErrorList {
			return append(validateUpdatedPrefix(obj, old), update(obj, old)...)
		}
	case "PodTemplate":
		s = strategy.PodTemplate.Add(s)
	case "ReplicationController":
		s = strategy.ReplicationController.Add(s)
	case "ReplicaSet.apps":
		s = strategy.ReplicaSet.Add(s)
	case "Job.batch":
		s = strategy.Job(s)
	case "CronJob.batch":
		s = strategy.CronJob.Add(s)
	case "DaemonSet.apps":
		s = strategy.DaemonSet(s)
	case "Deployment.apps":
		s = strategy.Deployment(s)
	case "Secret":
		s.Defaults = defaultSecret
		s.ValidateUpdate = validateSecretUpdate
	case "ServiceAccount":
		s.ValidateUpdate = validateUpdatedPrefix
	case "ConfigMap":
		s.Defaults = func(obj *plain.Object) { fillBytes(obj, "binaryData") }
		s.ValidateUpdate = validateFrozen
	case "PodDisruptionBudget.policy":
		s = strategy.PodDisruptionBudget(s)
	case string(PriorityClassKind):
		s = priorityClassStrategy(s)
	case string(RuntimeClassKind):
		s = strategy.RuntimeClass.Add(s)
	case string(NamespaceKind):
		s = namespaceStrategy(s)
	}
	return s
}

// equalContents reports whether both objects have the same content.
func equalContents(a, b *plain.Object) bool {
	if x, y := a.Source(), b.Source(); x != nil && y != nil && reflect.TypeOf(x) == reflect.TypeOf(y) &&
		stringMapsDiffer(reflect.ValueOf(x).Elem(), reflect.ValueOf(y).Elem()) {
		return false
	}
	return reflect.DeepEqual(a.Content(), b.Content())
}

// stringMapsDiffer reports whether two structs differ in a field of type map[string]string, such as the data of a ConfigMap. It is a fast check
// before DeepEqual; false proves nothing.
func stringMapsDiffer(a, b reflect.Value) bool {
	for i := range a.NumField() {
		if a.Field(i).Type() == reflect.TypeFor[map[string]string]() &&
			!maps.Equal(a.Field(i).Interface().(map[string]string), b.Field(i).Interface().(map[string]string)) {
			return true
		}
	}
	return false
}

// validateUpdatedPrefix validates the generateName of an update of a kind that is validated like a new object then (API-042).
func validateUpdatedPrefix(obj, _ *plain.Object) field.ErrorList {
	return strategy.ValidateGenerateName(&obj.ObjectMeta)
}

// defaultSecret merges stringData into data and sets the type (API-308).
func defaultSecret(obj *plain.Object) {
	fillBytes(obj, "data")
	text, _ := obj.Content()["stringData"].(map[string]any)
	_, written := obj.Content()["stringData"]
	if kind, _ := obj.Content()["type"].(string); kind != "" && !written {
		return
	}
	obj.SetContent(maps.Clone(obj.Content()))
	if obj.Content() == nil {
		obj.SetContent(map[string]any{})
	}
	delete(obj.Content(), "stringData")
	if kind, _ := obj.Content()["type"].(string); kind == "" {
		obj.Content()["type"] = "Opaque"
	}
	if len(text) == 0 {
		return
	}
	old, _ := obj.Content()["data"].(map[string]any)
	data := maps.Clone(old)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range text {
		plain, _ := value.(string)
		data[name] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	obj.Content()["data"] = data
}

// withStatus returns content with the status of other. It modifies neither.
func withStatus(content, other map[string]any) map[string]any {
	status, has := other["status"]
	if old, had := content["status"]; !has && !had || has && had && reflect.DeepEqual(old, status) {
		return content
	}
	content = maps.Clone(content)
	if content == nil {
		content = map[string]any{}
	}
	delete(content, "status")
	if has {
		content["status"] = status
	}
	return content
}
