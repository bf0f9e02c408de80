// Package datasource is the volume-data-source-validator: it emits an Event about each claim whose data source no volume populator handles.
//
// A VolumePopulator says which kind of data source a populator handles. The real validator is deployed with the CustomResourceDefinition of
// that kind, so it starts with the first VolumePopulator (SNAP-070). It only warns; nothing else reads VolumePopulators.
package datasource

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind is the kind of VolumePopulators.
const Kind api.Kind = "VolumePopulator.populator.storage.k8s.io"

const (
	reason = "UnrecognizedDataSourceKind"
	text   = "The datasource for this PVC does not match any registered VolumePopulator"
)

// New adds the validator (SNAP-070). populators contains the VolumePopulators.
func New(e *engine.Engine, populators store.Table[*plain.Object]) (*engine.Actor, error) {
	return e.NewActor(actors.DataSourceValidator, func(a *engine.Actor) {
		claims := engine.NewInformer(a, e.Store().Claims)
		known := engine.NewInformer(a, populators)
		recorder := a.NewRecorder(actors.DataSourceValidator)
		queue := a.NewQueue(engine.QueueConfig{Name: "pvc", Sync: func(p *engine.Process, key string) error {
			claim, ok := claims.Get(key)
			if !ok || claim.Spec.DataSourceRef == nil {
				return nil
			}
			source := schema.GroupKind{Group: objects.ValueOf(claim.Spec.DataSourceRef.APIGroup), Kind: claim.Spec.DataSourceRef.Kind}
			if !isHandled(source, known) {
				// SNAP-070: each sync of the claim warns again.
				recorder.Event(p, claim, corev1.EventTypeWarning, reason, text)
			}
			return nil
		}})
		// SNAP-070: changes of VolumePopulators sync no claim.
		add := func(claim *corev1.PersistentVolumeClaim) { queue.Add(api.KeyOf(claim)) }
		claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{Add: add, Update: func(_, claim *corev1.PersistentVolumeClaim) { add(claim) }})
		known.Handle(engine.Handler[*plain.Object]{})
	})
}

// isHandled reports whether Kubernetes itself or a populator handles data sources of a kind.
func isHandled(source schema.GroupKind, populators engine.Informer[*plain.Object]) bool {
	switch source {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Group: objkinds.SnapshotGroup, Kind: "VolumeSnapshot"}:
		return true
	}
	for _, populator := range populators.List() {
		if handled, ok := populator.Content()["sourceKind"].(map[string]any); ok && handled["group"] == source.Group && handled["kind"] == source.Kind {
			return true
		}
	}
	return false
}
