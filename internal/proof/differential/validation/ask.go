package validation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Create asks both sides about a new object.
func (k Kind) Create(obj api.Object) (ours, theirs Verdict, err error) {
	s, err := k.ourStore()
	if err != nil {
		return ours, theirs, err
	}
	var created api.Object
	var refusal error
	var warned warnings
	s.Warned(warned.add, func() {
		created, refusal = s.CreateWith(obj.DeepCopyObject().(api.Object), store.CreateOptions{})
	})
	given := obj.DeepCopyObject().(api.Object)
	if refusal == nil {
		// The API server generates random uids and name suffixes.
		given.SetUID(created.GetUID())
		given.SetName(created.GetName())
	} else {
		given.SetUID(types.UID("some"))
		if prefix := given.GetGenerateName(); given.GetName() == "" && prefix != "" {
			given.SetName(names.SimpleNameGenerator.GenerateName(prefix))
		}
	}
	if ours, err = verdict(created, refusal, warned); err != nil {
		return ours, theirs, err
	}
	given.SetCreationTimestamp(metav1.NewTime(At))
	if k.finalizer != "" && !slices.Contains(given.GetFinalizers(), k.finalizer) {
		given.SetFinalizers(append(given.GetFinalizers(), k.finalizer))
	}
	in, err := k.internalOf(given)
	if err != nil {
		return ours, theirs, err
	}
	dedupOwners(in, k.context(obj), false)
	if err := k.admitPod(in, nil, obj, admission.Create); err != nil {
		theirs, err = verdict(nil, err, nil)
		return ours, theirs, err
	}
	if err := k.admit(setdefault.PluginName, in, nil, obj, admission.Create); err != nil {
		return ours, theirs, err
	}
	var theirWarnings warnings
	if err := rest.BeforeCreate(k.strategy, warning.WithWarningRecorder(k.context(obj), &theirWarnings), in); err != nil {
		theirs, err = verdict(nil, err, nil)
		return ours, theirs, err
	}
	if err := k.checkRuntime(in, obj); err != nil {
		theirs, err = verdict(nil, err, nil)
		return ours, theirs, err
	}
	out, err := externalOf(in, obj)
	if err != nil {
		return ours, theirs, err
	}
	theirs, err = verdict(out, nil, theirWarnings)
	return ours, theirs, err
}

// Update asks both sides about a new version of an object, or of its status.
func (k Kind) Update(old, obj api.Object, sub api.Subresource) (ours, theirs Verdict, err error) {
	s, err := k.ourStore()
	if err != nil {
		return ours, theirs, err
	}
	stored, err := s.Load(old.DeepCopyObject().(api.Object))
	if err != nil {
		return ours, theirs, err
	}
	obj = obj.DeepCopyObject().(api.Object)
	obj.SetUID(stored.GetUID())
	obj.SetCreationTimestamp(stored.GetCreationTimestamp())
	obj.SetResourceVersion(stored.GetResourceVersion())
	oldIn, err := k.internalOf(stored)
	if err != nil {
		return ours, theirs, err
	}
	in, err := k.internalOf(obj)
	if err != nil {
		return ours, theirs, err
	}
	var updated api.Object
	var refusal error
	var warned, theirWarnings warnings
	s.Warned(warned.add, func() { updated, refusal = s.UpdateWith(obj.DeepCopyObject().(api.Object), sub, store.UpdateOptions{}) })
	if ours, err = verdict(updated, refusal, warned); err != nil {
		return ours, theirs, err
	}
	var strategy rest.RESTUpdateStrategy = k.strategy
	if sub == api.Status {
		strategy = k.status
	}
	dedupOwners(in, k.context(obj), false)
	if sub == api.Main {
		if err := k.admitPod(in, oldIn, obj, admission.Update); err != nil {
			return ours, theirs, err
		}
	}
	refusal = rest.BeforeUpdate(strategy, warning.WithWarningRecorder(k.context(obj), &theirWarnings), in, oldIn)
	if refusal == nil && sub == api.Main {
		refusal = k.admit(resize.PluginName, in, oldIn, obj, admission.Update)
	}
	if refusal != nil {
		theirs, err = verdict(nil, refusal, nil)
		return ours, theirs, err
	}
	out, err := externalOf(in, obj)
	if err != nil {
		return ours, theirs, err
	}
	theirs, err = verdict(out, nil, theirWarnings)
	return ours, theirs, err
}
