package differential

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
)

func (g *generator) storage() Step {
	step := Step{Op: Storage, Backend: pick(g, InTree, InTree, Driver, NFS)}
	ops := []string{string(storage.Create), string(storage.Delete), string(storage.Recycle), string(storage.Expand)}
	if g.chance(2) {
		step.Setting.Fail = map[string]string{pick(g, ops...): "broken"}
	}
	if g.chance(2) {
		step.Setting.Delay = map[string]time.Duration{pick(g, ops...): time.Duration(pick(g, 1, 3, 7, 20, 40)) * time.Second}
	}
	step.Setting.InUse = g.chance(6) && step.Backend == InTree
	return step
}

func (g *generator) patchVolume() Step {
	patch := pick(g,
		`{"spec":{"claimRef":null}}`,
		`{"spec":{"claimRef":{"uid":null}}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"c1"}}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"c2","uid":"`+uidOf+`default/c2!"}}}`,
		`{"spec":{"persistentVolumeReclaimPolicy":"`+string(g.policy())+`"}}`,
		`{"spec":{"persistentVolumeReclaimPolicy":"`+string(g.policy())+`"}}`,
		`{"metadata":{"finalizers":null}}`,
		`{"metadata":{"labels":{"tier":"gold"}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/migrated-to":"`+Driver+`"}}}`,
		`{"spec":{"storageClassName":"`+g.class()+`"}}`,
		`{"spec":{"capacity":{"storage":"`+pick(g, "1Gi", "5Gi", "30Gi")+`"}}}`,
		`{"spec":{"mountOptions":["ro"]}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"c1","uid":"of-another"}}}`,
		`{"metadata":{"finalizers":["example.com/hold"]}}`,
	)
	return Step{Op: Patch, Ref: g.volume(), Patch: patch}
}

func (g *generator) patchClaim() Step {
	patch := pick(g,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":"kubernetes.io/aws-ebs"}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/migrated-to":"`+Driver+`"}}}`,
		`{"metadata":{"finalizers":null}}`,
		`{"metadata":{"finalizers":["example.com/hold"]}}`,
		`{"spec":{"volumeName":"`+pick(g, "pv1", "pv2")+`"}}`,
		`{"spec":{"storageClassName":"fast"}}`,
		`{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`,
		`{"spec":{"volumeAttributesClassName":"gold"}}`,
		`{"metadata":{"labels":{"tier":"gold"}}}`,
	)
	return Step{Op: Patch, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: g.known()}, Patch: patch}
}

// resizeClaim requests another size, sometimes a smaller one.
func (g *generator) resizeClaim() Step {
	patch := `{"spec":{"resources":{"requests":{"storage":"` + pick(g, "1Gi", "2Gi", "3Gi", "7Gi", "30Gi") + `"}}}}`
	return Step{Op: Patch, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: g.known()}, Patch: patch}
}

// patchClass changes whether a class allows expansion, and whether it is the default.
func (g *generator) patchClass() Step {
	patch := pick(g,
		`{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}`,
		`{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}`,
		`{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"false"}}}`,
		`{"metadata":{"annotations":{"storageclass.beta.kubernetes.io/is-default-class":"true"}}}`,
		`{"allowVolumeExpansion":`+pick(g, "true", "true", "false", "null")+`}`,
		`{"reclaimPolicy":"Retain"}`,
	)
	return Step{Op: Patch, Ref: api.Ref{Kind: api.StorageClass, Key: g.existing(api.StorageClass, "fast")}, Patch: patch}
}

func (g *generator) fault() Step {
	r := Rule{Actor: pick(g, actors.PersistentVolume, actors.PersistentVolume, actors.PVProtection, actors.PVCProtection,
		actors.Provisioner(Driver), actors.Ephemeral, actors.Expander), Times: 1 + g.IntN(3)}
	r.Verb = pick(g, "update", "update", "update-status", "create", "delete", "get", "patch", "patch-status")
	r.Kind = pick(g, api.PersistentVolume, api.PersistentVolumeClaim)
	r.Lost = g.chance(4)
	r.Conflict = g.chance(3)
	return Step{Op: Fault, Rule: r}
}

func (g *generator) advance() Step {
	return Step{Op: Advance, Wait: time.Duration(pick(g, 1, 8, 15, 31, 75)) * time.Second}
}
