package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// writtenVolume creates the class and the claim "data", and writes to its volume.
func (r *run) writtenVolume() {
	r.class()
	r.claim("data")
	r.pod("web", 0, "data")
	r.running("web")
	r.write("web", "data", "hello")
	r.measure("web", "data")
	r.end("web")
	r.detached()
}

// filled takes the snapshot "first" of a volume with data, and writes other data afterwards. class is "snap", or "keep" for one that
// retains.
func (r *run) filled(class string) {
	policy := "Delete"
	if class == "keep" {
		policy = "Retain"
	}
	r.snapshotClass(class, policy)
	r.writtenVolume()
	r.snapshot("first", "data", class)
	r.snapshotReady("first")
	r.pod("writer", 0, "data")
	r.running("writer")
	r.write("writer", "data", "later")
	r.end("writer")
	r.detached()
}

// clusterObject returns an object of external-snapshotter without a namespace.
func (r *run) clusterObject(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		u.Object[key] = value
	}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetName(name)
	return u
}

// object returns an object of external-snapshotter in the default namespace, with the name for this run.
func (r *run) object(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := r.clusterObject(kind, r.name(name), fields)
	u.SetNamespace("default")
	return u
}

// stored returns the stored object, nil if it does not exist.
func (r *run) stored(u *unstructured.Unstructured) *unstructured.Unstructured {
	found, err := r.cluster.Objects(api.Kind(u.GetKind() + ".snapshot.storage.k8s.io")).Get(api.Key(u.GetNamespace(), u.GetName()))
	if err != nil {
		return nil
	}
	return found
}

// snapshotClass creates a VolumeSnapshotClass.
func (r *run) snapshotClass(name, policy string) {
	parameters := map[string]any{}
	if len(r.cfg.Secrets) > 0 {
		for _, kind := range []string{"snapshotter-secret", "snapshotter-list-secret"} {
			parameters["csi.storage.k8s.io/"+kind+"-name"], parameters["csi.storage.k8s.io/"+kind+"-namespace"] = commonSecret, "default"
		}
	}
	r.create(r.snapshotClassObject(name, policy, parameters))
}

func (r *run) snapshotClassObject(name, policy string, parameters map[string]any) *unstructured.Unstructured {
	for key, value := range r.cfg.SnapshotParameters {
		parameters[key] = value
	}
	return r.clusterObject("VolumeSnapshotClass", r.name(name), map[string]any{"driver": r.driver.Name(), "deletionPolicy": policy,
		"parameters": parameters})
}

// snapshot creates a VolumeSnapshot of a claim.
func (r *run) snapshot(name, claim, class string) {
	r.create(r.object("VolumeSnapshot", name, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": r.name(class),
		"source": map[string]any{"persistentVolumeClaimName": r.name(claim)}}}))
}

// importSnapshot creates a content for a snapshot of the storage system, and a VolumeSnapshot that names it.
func (r *run) importSnapshot(content, handle, name, policy string) {
	r.create(r.clusterObject("VolumeSnapshotContent", r.name(content), map[string]any{"spec": map[string]any{
		"driver": r.driver.Name(), "deletionPolicy": policy, "source": map[string]any{"snapshotHandle": handle},
		"volumeSnapshotRef": map[string]any{"namespace": "default", "name": r.name(name)}}}))
	r.create(r.object("VolumeSnapshot", name,
		map[string]any{"spec": map[string]any{"source": map[string]any{"volumeSnapshotContentName": r.name(content)}}}))
}

func (r *run) snapshotReady(names ...string) {
	for _, name := range names {
		r.goal("snapshot "+name+" is ready", func() bool {
			u := r.stored(r.object("VolumeSnapshot", name, nil))
			if u == nil {
				return false
			}
			ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse")
			return ready
		})
	}
}

// snapshotDeleted deletes snapshots and waits until they are gone. A driver may keep a snapshot until the volumes that were created from it are
// deleted.
func (r *run) snapshotDeleted(names ...string) {
	handles := map[string]string{}
	for _, name := range names {
		handles[name] = r.snapshotHandle(r.contentOf(name))
		r.remove(r.object("VolumeSnapshot", name, nil))
	}
	for _, name := range names {
		kept := false
		r.goal("snapshot "+name+" is gone", func() bool {
			if r.stored(r.object("VolumeSnapshot", name, nil)) == nil {
				return true
			}
			kept = r.inUse(handles[name])
			return kept
		})
		if kept {
			r.kept = append(r.kept, name)
		}
	}
}

// inUse reports whether the driver says that a snapshot is in use by a volume.
func (r *run) inUse(id string) bool {
	used, refused := false, false
	for _, c := range r.driver.Calls() {
		switch request := c.Request.(type) {
		case *spec.CreateVolumeRequest:
			used = used || id != "" && request.GetVolumeContentSource().GetSnapshot().GetSnapshotId() == id
		case *spec.DeleteSnapshotRequest:
			if request.GetSnapshotId() == id && len(c.Replies) > 0 {
				refused = c.Replies[len(c.Replies)-1].Status.Code() == codes.FailedPrecondition
			}
		}
	}
	return used && refused
}

// contentOf returns the name of the content of a snapshot, "" for none.
func (r *run) contentOf(snapshot string) string {
	u := r.stored(r.object("VolumeSnapshot", snapshot, nil))
	if u == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(u.Object, "status", "boundVolumeSnapshotContentName")
	return name
}

// snapshotHandle returns the snapshot_id of a content, "" for none.
func (r *run) snapshotHandle(content string) string {
	u := r.stored(r.clusterObject("VolumeSnapshotContent", content, nil))
	if u == nil {
		return ""
	}
	handle, _, _ := unstructured.NestedString(u.Object, "status", "snapshotHandle")
	return handle
}

func (r *run) fromSnapshot(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: r.name(name)}
}

func (r *run) fromClaim(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: r.name(name)}
}

// copyOf returns a claim for a copy of a snapshot or claim.
func (r *run) copyOf(name string, source *corev1.TypedLocalObjectReference, times int, opts ...fake.Option) *corev1.PersistentVolumeClaim {
	claim := fake.Claim(r.name(name), r.space(times), opts...)
	claim.Spec.DataSource = source
	return claim
}

// restore creates a claim for a volume from a snapshot.
func (r *run) restore(name, snapshot string, times int) {
	r.create(r.copyOf(name, r.fromSnapshot(snapshot), times, fake.InClass(r.name(className))))
}

// creations returns the names of the volumes for which CreateVolume was called.
func (r *run) creations() map[string]bool {
	names := map[string]bool{}
	for _, c := range r.driver.Calls() {
		if c.Method == "CreateVolume" {
			names[c.Volume] = true
		}
	}
	return names
}
