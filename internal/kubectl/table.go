// Package kubectl prints objects as the command of that name does, so that what people know carries over.
package kubectl

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/store"
)

// columns are the headers of each kind that has more than NAME and AGE.
var columns = map[store.Kind][]string{
	store.PersistentVolume:      {"NAME", "CAPACITY", "ACCESS MODES", "RECLAIM POLICY", "STATUS", "CLAIM", "STORAGECLASS", "VOLUMEATTRIBUTESCLASS", "REASON", "AGE"},
	store.PersistentVolumeClaim: {"NAMESPACE", "NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS", "VOLUMEATTRIBUTESCLASS", "AGE"},
	store.StorageClass:          {"NAME", "PROVISIONER", "RECLAIMPOLICY", "VOLUMEBINDINGMODE", "ALLOWVOLUMEEXPANSION", "AGE"},
}

// Get writes what `kubectl get KINDS -A` prints: a table for each of the kinds that has objects. When several kinds are asked for,
// names carry their kind. now is the time that ages are counted to.
func Get(w io.Writer, now time.Time, kinds []store.Kind, objs []store.Object) error {
	printed := false
	for _, kind := range kinds {
		var rows []store.Object
		for _, obj := range objs {
			if store.KindOf(obj) == kind {
				rows = append(rows, obj)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if printed {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := table(w, now, kind, rows, len(kinds) > 1); err != nil {
			return err
		}
		printed = true
	}
	if !printed {
		_, err := fmt.Fprintln(w, "No resources found")
		return err
	}
	return nil
}

func table(w io.Writer, now time.Time, kind store.Kind, objs []store.Object, prefixed bool) error {
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	header, ok := columns[kind]
	if !ok {
		header = []string{"NAME", "AGE"}
	}
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, obj := range objs {
		name := obj.GetName()
		if prefixed {
			name = resourceName(kind) + "/" + name
		}
		fmt.Fprintln(t, strings.Join(row(obj, name, Age(now, obj)), "\t"))
	}
	return t.Flush()
}

func row(obj store.Object, name, age string) []string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		claim := ""
		if ref := obj.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []string{name, storage(obj.Spec.Capacity), AccessModes(obj.Spec.AccessModes), string(obj.Spec.PersistentVolumeReclaimPolicy),
			status(obj, string(obj.Status.Phase)), claim, obj.Spec.StorageClassName, orUnset(obj.Spec.VolumeAttributesClassName), obj.Status.Reason, age}
	case *corev1.PersistentVolumeClaim:
		capacity, modes := "", ""
		if obj.Spec.VolumeName != "" {
			capacity, modes = storage(obj.Status.Capacity), AccessModes(obj.Status.AccessModes)
		}
		class := ""
		if obj.Spec.StorageClassName != nil {
			class = *obj.Spec.StorageClassName
		}
		return []string{obj.Namespace, name, status(obj, string(obj.Status.Phase)), obj.Spec.VolumeName, capacity, modes, class,
			orUnset(obj.Spec.VolumeAttributesClassName), age}
	case *storagev1.StorageClass:
		policy, mode := "Delete", "Immediate"
		if obj.ReclaimPolicy != nil {
			policy = string(*obj.ReclaimPolicy)
		}
		if obj.VolumeBindingMode != nil {
			mode = string(*obj.VolumeBindingMode)
		}
		return []string{name, obj.Provisioner, policy, mode, fmt.Sprint(obj.AllowVolumeExpansion != nil && *obj.AllowVolumeExpansion), age}
	}
	return []string{name, age}
}

// resourceName is what stands before the slash of a name when tables of several kinds are printed.
func resourceName(kind store.Kind) string {
	name := strings.ToLower(string(kind))
	if group := kind.GroupVersionKind().Group; group != "" {
		name += "." + group
	}
	return name
}

// Age is how long an object has existed, as kubectl abbreviates it.
func Age(now time.Time, obj store.Object) string {
	return duration.HumanDuration(now.Sub(obj.GetCreationTimestamp().Time))
}

// AccessModes abbreviates access modes, in their fixed order and each once: RWO,ROX,RWX,RWOP.
func AccessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, known := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		for _, mode := range modes {
			if mode == known.mode {
				short = append(short, known.name)
				break
			}
		}
	}
	return strings.Join(short, ",")
}

func storage(list corev1.ResourceList) string {
	size, ok := list[corev1.ResourceStorage]
	if !ok {
		return ""
	}
	return size.String()
}

func status(obj store.Object, phase string) string {
	if obj.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return phase
}

func orUnset(s *string) string {
	if s == nil {
		return "<unset>"
	}
	return *s
}
