package expand

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// volumePatch is a patch of a PersistentVolume (EXP-005).
type volumePatch struct {
	Metadata *volumePatchMetadata `json:"metadata,omitempty"`
	Spec     *volumePatchSpec     `json:"spec,omitempty"`
}

type volumePatchMetadata struct {
	Annotations map[string]*string `json:"annotations"`
}

type volumePatchSpec struct {
	Capacity        corev1.ResourceList `json:"capacity,omitempty"`
	AttributesClass *string             `json:"volumeAttributesClassName,omitempty"`
}

func (patch volumePatch) apply(p *engine.Process, name string) (*corev1.PersistentVolume, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		panic("expand: a patch cannot be written as JSON: " + err.Error())
	}
	// EXP-005: the patch has no version, so it never conflicts.
	return p.API().Volumes.Patch(p, name, data, api.Main)
}

// setPreResize sets the annotation pre-resize-capacity; nil removes it.
func (patch *volumePatch) setPreResize(value *string) {
	patch.Metadata = &volumePatchMetadata{Annotations: map[string]*string{objects.AnnPreResizeCapacity: value}}
}

// capacityPatch returns a patch that sets the capacity of a volume. It is empty if that is the capacity already.
func capacityPatch(pv *corev1.PersistentVolume, size apiresource.Quantity) volumePatch {
	var patch volumePatch
	if was := pv.Spec.Capacity[corev1.ResourceStorage]; was.Cmp(size) != 0 || was.String() != size.String() {
		patch.Spec = &volumePatchSpec{Capacity: corev1.ResourceList{corev1.ResourceStorage: size}}
	}
	return patch
}

// removePreResize removes the annotation pre-resize-capacity.
func removePreResize(p *engine.Process, pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	var patch volumePatch
	patch.setPreResize(nil)
	newer, err := patch.apply(p, pv.Name)
	if err != nil {
		return pv, fmt.Errorf("failed removing annotation %s from pv %q: %w", objects.AnnPreResizeCapacity, pv.Name, err)
	}
	return newer, nil
}
