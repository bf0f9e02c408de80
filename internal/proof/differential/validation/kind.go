package validation

import (
	"context"
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/apiserver/pkg/endpoints/handlers" // for dedupOwners
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // defaults and conversions
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install" // defaults and conversions
	noderegistry "k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential"
)

// strategy holds the rules of the API server for a kind.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// Kind is a kind under comparison.
type Kind struct {
	Kind api.Kind
	// Bases returns valid objects.
	Bases func() []api.Object

	internal  func() runtime.Object // an empty object of the API server's own type
	strategy  strategy
	status    rest.RESTUpdateStrategy // nil if there is no such subresource
	finalizer string                  // that admission adds
	gates     gates.Set
}

// HasStatus reports whether the kind has a status subresource.
func (k Kind) HasStatus() bool { return k.status != nil }

// Kinds are all kinds except Events.
func Kinds() []Kind {
	var none gates.Set
	return []Kind{
		{api.PersistentVolume, volumes, func() runtime.Object { return &core.PersistentVolume{} }, persistentvolume.Strategy,
			persistentvolume.StatusStrategy, "kubernetes.io/pv-protection", none},
		{api.PersistentVolumeClaim, claims, func() runtime.Object { return &core.PersistentVolumeClaim{} }, persistentvolumeclaim.Strategy,
			persistentvolumeclaim.StatusStrategy, "kubernetes.io/pvc-protection", none},
		{api.StorageClass, classes, func() runtime.Object { return &storage.StorageClass{} }, storageclass.Strategy, nil, "", none},
		{api.VolumeAttributesClass, attributesClasses, func() runtime.Object { return &storage.VolumeAttributesClass{} },
			volumeattributesclass.Strategy, nil, "kubernetes.io/vac-protection", none},
		{api.VolumeAttachment, attachments, func() runtime.Object { return &storage.VolumeAttachment{} }, volumeattachment.Strategy,
			volumeattachment.StatusStrategy, "", none},
		{api.CSIDriver, drivers, func() runtime.Object { return &storage.CSIDriver{} }, csidriver.Strategy, nil, "", none},
		{api.CSINode, csiNodes, func() runtime.Object { return &storage.CSINode{} }, csinode.Strategy, nil, "", none},
		{api.CSIStorageCapacity, capacities, func() runtime.Object { return &storage.CSIStorageCapacity{} }, csistoragecapacity.Strategy,
			nil, "", none},
		{api.Node, nodes, func() runtime.Object { return &core.Node{} }, noderegistry.Strategy, noderegistry.StatusStrategy, "", none},
		{api.Pod, pods, func() runtime.Object { return &core.Pod{} }, podregistry.Strategy, podregistry.StatusStrategy, "", none},
	}
}

// ClaimsAcross is the kind of claims, with the gate CrossNamespaceVolumeDataSource. The caller turns it on on the other side.
func ClaimsAcross() Kind {
	k := Kinds()[1]
	k.Bases = func() []api.Object { return append(claims(), claimsAcross()...) }
	k.gates.CrossNamespaceVolumeDataSource = true
	return k
}

// At is the time of all requests: Create and Update must be called in a bubble of testing/synctest in which no time has passed, because
// strategies read the clock.
var At = differential.Epoch

// dedupOwners removes repeated owner references, as the API server does with each object before validation.
//
//go:linkname dedupOwners k8s.io/apiserver/pkg/endpoints/handlers.dedupOwnerReferencesAndAddWarning
func dedupOwners(obj runtime.Object, ctx context.Context, afterAdmission bool)

// internalOf returns an object as the API server has it after decoding.
func (k Kind) internalOf(obj api.Object) (runtime.Object, error) {
	into := k.internal()
	given := obj.DeepCopyObject()
	legacyscheme.Scheme.Default(given)
	if err := legacyscheme.Scheme.Convert(given, into, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	return into, nil
}

// externalOf is the inverse of internalOf.
func externalOf(in runtime.Object, like api.Object) (api.Object, error) {
	out, err := legacyscheme.Scheme.New(store.GroupVersionKind(api.KindOf(like)))
	if err != nil {
		return nil, err
	}
	if err := legacyscheme.Scheme.Convert(in, out, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(like), err)
	}
	legacyscheme.Scheme.Default(out)
	return out.(api.Object), nil
}

func (k Kind) context(obj api.Object) context.Context {
	return genericapirequest.WithNamespace(context.Background(), obj.GetNamespace())
}
