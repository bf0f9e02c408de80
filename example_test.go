package volsim_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
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
	//              snug  already reserved for claim default/data (MATCH-010)
	//              tiny  capacity 1Gi, needs at least 200Gi (MATCH-011)
	//   to do      create a volume that fits
	//   changes    only when you act: the PersistentVolume controller syncs it every 15s with the same result
}

// Storage that loses a reply: the volume is made once, although the provisioner asks twice.
func ExampleFaults() {
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
