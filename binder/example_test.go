package binder_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
)

// Match is a pure function: it reads its arguments and returns a Decision.
func ExampleMatch() {
	volumes := []*corev1.PersistentVolume{
		fake.Volume("huge", "100Gi", fake.Phase("Available")),
		fake.Volume("snug", "12Gi", fake.Phase("Available")),
		fake.Volume("new", "11Gi"),
	}
	d := binder.Match(fake.Claim("data", "10Gi"), volumes, binder.Options{Explain: true})
	fmt.Println(d.Volume.Name, d.Rule)
	for _, r := range d.Rejections {
		fmt.Println(r)
	}
	// Output:
	// snug MATCH-020
	// huge: capacity 100Gi; volume snug fits with 12Gi (MATCH-020)
	// new: no phase yet, needs Available (MATCH-017)
}

// One sync of the controller, with nothing else around it: a claim that names a volume which is too small.
func ExampleTrial() {
	trial, err := binder.NewTrial(binder.TrialConfig{},
		fake.Volume("tiny", "1Gi", fake.Phase("Available")), fake.Claim("data", "10Gi", fake.VolumeName("tiny")))
	if err != nil {
		panic(err)
	}
	if err := trial.SyncClaim("default/data"); err != nil {
		panic(err)
	}
	claim, err := trial.Store().Claims.Get("default/data")
	if err != nil {
		panic(err)
	}
	fmt.Println(claim.Status.Phase)
	for e := range trial.Trace().Entries() {
		if e.Reason != "" {
			fmt.Println(e.Reason, e.Text)
		}
	}
	// Output:
	// Pending
	// VolumeMismatch Cannot bind to requested volume "tiny": requested PV is too small
}
