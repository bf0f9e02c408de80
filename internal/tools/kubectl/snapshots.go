package kubectl

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// custom returns a column of a CustomResourceDefinition: a field as it is, and nothing where it is missing.
func custom(name, kind, description string, path ...string) Column {
	return Column{Name: name, Type: kind, Description: description, Cell: func(obj api.Object, now time.Time) any {
		u, err := plain.Unstructured(obj)
		if err != nil {
			return nil
		}
		value := at(u.Object, path...)
		written, isText := value.(string)
		if kind != "date" || !isText {
			return value
		}
		t := metav1.Time{}
		if t.UnmarshalQueryParameter(written) != nil {
			return "<invalid>"
		}
		return since(now, t)
	}}
}

// The columns that the CustomResourceDefinitions of external-snapshotter v8 declare.
func init() {
	class := []Column{nameColumn, custom("Driver", "string", "Name of the CSI driver", "driver"),
		custom("DeletionPolicy", "string", "What happens to the data when the snapshot is deleted", "deletionPolicy"), ageColumn}
	otherLayouts[snapshots.ClassKind], otherLayouts[snapshots.GroupClassKind] = class, class
	ready := custom("ReadyToUse", "boolean", "Whether volumes can be created from it", "status", "readyToUse")
	otherLayouts[snapshots.SnapshotKind] = []Column{
		nameColumn, ready,
		custom("SourcePVC", "string", "Name of the claim", "spec", "source", "persistentVolumeClaimName"),
		custom("SourceSnapshotContent", "string", "Name of an existing content", "spec", "source", "volumeSnapshotContentName"),
		custom("RestoreSize", "string", "The least size of a volume created from it", "status", "restoreSize"),
		custom("SnapshotClass", "string", "Name of the class", "spec", "volumeSnapshotClassName"),
		custom("SnapshotContent", "string", "Name of the bound content", "status", "boundVolumeSnapshotContentName"),
		custom("CreationTime", "date", "When the snapshot was taken", "status", "creationTime"), ageColumn,
	}
	policy := custom("DeletionPolicy", "string", "What happens to the data when the snapshot is deleted", "spec", "deletionPolicy")
	driver := custom("Driver", "string", "Name of the CSI driver", "spec", "driver")
	otherLayouts[snapshots.ContentKind] = []Column{
		nameColumn, ready, custom("RestoreSize", "integer", "Size in bytes", "status", "restoreSize"), policy, driver,
		custom("VolumeSnapshotClass", "string", "Name of the class", "spec", "volumeSnapshotClassName"),
		custom("VolumeSnapshot", "string", "Name of the snapshot", "spec", "volumeSnapshotRef", "name"),
		custom("VolumeSnapshotNamespace", "string", "Namespace of the snapshot", "spec", "volumeSnapshotRef", "namespace"), ageColumn,
	}
	otherLayouts[snapshots.GroupKind] = []Column{
		nameColumn, ready,
		custom("VolumeGroupSnapshotClass", "string", "Name of the class", "spec", "volumeGroupSnapshotClassName"),
		custom("VolumeGroupSnapshotContent", "string", "Name of the bound content", "status", "boundVolumeGroupSnapshotContentName"),
		custom("CreationTime", "date", "When the snapshots were taken", "status", "creationTime"), ageColumn,
	}
	otherLayouts[snapshots.GroupContentKind] = []Column{
		nameColumn, ready, policy, driver,
		custom("VolumeGroupSnapshotClass", "string", "Name of the class", "spec", "volumeGroupSnapshotClassName"),
		custom("VolumeGroupSnapshotNamespace", "string", "Namespace of the group snapshot", "spec", "volumeGroupSnapshotRef", "namespace"),
		custom("VolumeGroupSnapshot", "string", "Name of the group snapshot", "spec", "volumeGroupSnapshotRef", "name"), ageColumn,
	}
}
