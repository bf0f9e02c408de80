package conformance

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// observe returns the state of the cluster, and what its controllers did since the trace entry with that number.
func observe(c *volsim.Cluster, syms *symbols, since uint64) Observation {
	o := Observation{Events: [][]string{}, Writes: []string{}}
	for _, pv := range c.Volumes.List() {
		o.Objects = append(o.Objects, volumeState(pv, syms))
	}
	for _, claim := range c.Claims.List() {
		o.Objects = append(o.Objects, claimState(claim, syms))
	}
	slices.SortFunc(o.Objects, func(a, b ObjectState) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for e := range c.Trace().Since(since) {
		if e.Actor == api.User {
			continue
		}
		switch e.Type {
		case trace.Emitted:
			o.Events = append(o.Events, []string{string(e.Object.Kind), syms.symbolic(e.Object.Key), e.Verb, e.Reason})
		case trace.Write:
			if what := describeWrite(e); what != "" {
				o.Writes = append(o.Writes, writeSubject(e.Object, syms)+" "+what)
			}
		}
	}
	slices.SortFunc(o.Events, slices.Compare)
	o.Events = slices.CompactFunc(o.Events, slices.Equal)
	return o
}

// writeKinds are the short names of kinds in writes.
var writeKinds = map[api.Kind]string{api.PersistentVolume: "PV", api.PersistentVolumeClaim: "PVC"}

func writeSubject(ref api.Ref, syms *symbols) string {
	kind, ok := writeKinds[ref.Kind]
	if !ok {
		kind = string(ref.Kind)
	}
	return kind + " " + syms.symbolic(ref.Key)
}

// splitWrite splits a write into object and operation. A symbolic uid in the object contains spaces as well.
func splitWrite(write string) (object, what string) {
	write, removed := strings.CutSuffix(write, removedSuffix)
	i := strings.LastIndexByte(write, ' ')
	object, what = write[:max(i, 0)], write[i+1:]
	if removed {
		what += removedSuffix
	}
	return object, what
}

const removedSuffix = " removed"

// describeWrite returns the operation of a write: create, delete, spec, meta or status:<phase>, with "removed" if it removed the object.
// It is empty for a write that failed or changed nothing.
func describeWrite(e trace.Entry) string {
	if e.Err != nil || e.Old == e.New {
		return ""
	}
	what := "meta"
	switch {
	case e.Old == nil:
		what = "create"
	case e.Verb == "delete":
		what = "delete"
	case strings.HasSuffix(e.Verb, "-"+string(api.Status)):
		what = "status:" + phaseOf(cmp.Or(e.New, e.Old))
	case e.New != nil && !apiequality.Semantic.DeepEqual(specOf(e.Old), specOf(e.New)):
		what = "spec"
	}
	if e.New == nil {
		what += removedSuffix
	}
	return what
}

func specOf(obj api.Object) any {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return obj.Spec
	case *corev1.PersistentVolumeClaim:
		return obj.Spec
	}
	return nil
}

func phaseOf(obj api.Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return string(obj.Status.Phase)
	case *corev1.PersistentVolumeClaim:
		return string(obj.Status.Phase)
	}
	return ""
}

func volumeState(pv *corev1.PersistentVolume, syms *symbols) ObjectState {
	s := metaState(api.PersistentVolume, pv, syms)
	s.Phase = string(pv.Status.Phase)
	s.HasMessage = pv.Status.Message != ""
	s.HasReason = pv.Status.Reason != ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		s.ClaimRef = &ClaimRef{Namespace: ref.Namespace, Name: ref.Name, UID: syms.symbolic(string(ref.UID))}
	}
	s.Capacity = storageOf(pv.Spec.Capacity)
	s.AccessModes = texts(pv.Spec.AccessModes)
	s.StorageClassName = &pv.Spec.StorageClassName
	s.ReclaimPolicy = string(pv.Spec.PersistentVolumeReclaimPolicy)
	s.VolumeMode = text(pv.Spec.VolumeMode)
	s.VolumeAttributesClassName = text(pv.Spec.VolumeAttributesClassName)
	return s
}

func claimState(claim *corev1.PersistentVolumeClaim, syms *symbols) ObjectState {
	s := metaState(api.PersistentVolumeClaim, claim, syms)
	s.UID = syms.symbolic(string(claim.UID))
	s.Phase = string(claim.Status.Phase)
	s.VolumeName = syms.symbolic(claim.Spec.VolumeName)
	s.Capacity = storageOf(claim.Status.Capacity)
	s.Request = storageOf(claim.Spec.Resources.Requests)
	s.AccessModes = texts(claim.Status.AccessModes)
	s.StorageClassName = claim.Spec.StorageClassName
	s.VolumeMode = text(claim.Spec.VolumeMode)
	s.VolumeAttributesClassName = text(claim.Status.CurrentVolumeAttributesClassName)
	return s
}

// observedAnnotations are the prefixes of observed annotation keys.
var observedAnnotations = []string{"pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"}

func metaState(kind api.Kind, obj api.Object, syms *symbols) ObjectState {
	s := ObjectState{
		Kind:       string(kind),
		Namespace:  obj.GetNamespace(),
		Name:       syms.symbolic(obj.GetName()),
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Finalizers: slices.Sorted(slices.Values(obj.GetFinalizers())),
	}
	for key, value := range obj.GetAnnotations() {
		if !slices.ContainsFunc(observedAnnotations, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = syms.symbolic(value)
	}
	return s
}

func storageOf(list corev1.ResourceList) Quantity {
	q, ok := list[corev1.ResourceStorage]
	if !ok {
		return ""
	}
	return Quantity(q.String())
}

func texts[S ~string](list []S) []string {
	var all []string
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

func text[S ~string](s *S) string {
	if s == nil {
		return ""
	}
	return string(*s)
}
