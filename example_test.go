package volsim_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// A claim takes the smallest volume that fits, and the explanation says why not the others.
func Example() {
	c, err := volsim.New(volsim.Config{})
	if err != nil {
		panic(err)
	}
	err = errors.Join(
		c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"), fake.Volume("tiny", "1Gi")),
		c.Settle(),
		c.Create(fake.Claim("data", "10Gi"), fake.Claim("more", "200Gi")),
		c.Settle(),
	)
	if err != nil {
		panic(err)
	}
	for _, claim := range c.Claims.List() {
		fmt.Printf("%s: %s, volume %q\n", claim.Name, claim.Status.Phase, claim.Spec.VolumeName)
	}
	why, err := c.Explain("default/more")
	if err != nil {
		panic(err)
	}
	fmt.Println(why)
	// Output:
	// data: Bound, volume "snug"
	// more: Pending, volume ""
	// pvc/default/more is Pending
	//   because    no volume fits, and it has no storage class that could create one (BIND-058)
	//   rejected   huge  capacity 100Gi, needs at least 200Gi (MATCH-011)
	//              snug  already reserved for claim default/data (MATCH-010); also capacity 12Gi, needs at least 200Gi (MATCH-011)
	//              tiny  capacity 1Gi, needs at least 200Gi (MATCH-011)
	//   to do      create a volume that fits
	//   changes    only when you act: the PersistentVolume controller syncs it every 15s with the same result
}

// noLostClaims is an invariant of the test's own.
var noLostClaims = check.Invariant{
	Name: "no-lost-claims", Description: "no claim is ever Lost",
	Watch: func(v *check.View) check.Watcher {
		return check.Watcher{Written: func(e trace.Entry) {
			if claim, ok := e.New.(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimLost {
				v.Report("claim "+e.Object.Key+" is Lost", e)
			}
		}}
	},
}

// A violation comes with the trace entries that prove it. The volume goes although its claim uses it, because a user removes its finalizer.
func Example_invariant() {
	c, err := volsim.New(volsim.Config{Check: append(check.All(), noLostClaims)})
	if err != nil {
		panic(err)
	}
	pv := fake.Volume("pv", "10Gi")
	err = errors.Join(c.Create(pv), c.Settle(), c.Create(fake.Claim("data", "10Gi")), c.Settle(),
		c.Delete(pv), c.Patch(pv, `{"metadata":{"finalizers":null}}`), c.Settle())
	if err != nil {
		panic(err)
	}
	for _, violation := range c.Violations() {
		fmt.Println(violation)
	}
	// Output:
	// +100ms protected-while-used: PersistentVolume pv is gone while claim default/data is bound to it (forced: a user edited PersistentVolume/pv)
	//   +100ms user: patch PersistentVolume/pv: gone
	// +100ms no-lost-claims: claim default/data is Lost
	//   +100ms persistentvolume-controller: update-status PersistentVolumeClaim/default/data: status.accessModes ["ReadWriteOnce"] -> none, status.capacity.storage 10Gi -> none, status.phase Bound -> Lost
}

// The reply of the storage gets lost. The volume is created once, although the provisioner asks twice.
func Example_faults() {
	disk := fake.CSI("disk.example.com")
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}})
	if err != nil {
		panic(err)
	}
	lost := storage.Errorf(storage.Unavailable, "connection reset")
	c.Faults.Lose(fake.Match{Target: "disk.example.com", Verb: string(storage.Create)}, lost).Once()
	err = errors.Join(
		c.Create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "10Gi", fake.InClass("fast"))),
		c.Advance(time.Minute),
	)
	if err != nil {
		panic(err)
	}
	claim, err := c.Claims.Get("default/data")
	if err != nil {
		panic(err)
	}
	fmt.Println(claim.Status.Phase, len(disk.Volumes()))
	for _, e := range c.Events() {
		fmt.Println(e.Reason, e.Count)
	}
	// Output:
	// Bound 1
	// ExternalProvisioning 2
	// Provisioning 2
	// ProvisioningFailed 1
	// ProvisioningSucceeded 1
}
