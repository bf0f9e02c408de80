package fake_test

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// A backend records how its volumes are used, and a test reads the record afterwards.
func ExampleMemory() {
	disk := fake.CSI("disk.example.com")
	volume, _ := disk.Create(storage.CreateRequest{Name: "pvc-1", Size: 1 << 30})

	pod := storage.PodRef{Namespace: "default", Name: "db-0"}
	disk.Attach(storage.NodeRequest{ID: volume.ID, Node: "n1"})
	disk.Stage(storage.NodeRequest{ID: volume.ID, Node: "n1", StagingPath: "/stage"})
	disk.Publish(storage.NodeRequest{ID: volume.ID, Node: "n1", StagingPath: "/stage", TargetPath: "/db", Pod: pod})
	disk.Write(volume.ID, pod, "n1", time.Unix(0, 0))

	_, err := disk.Attach(storage.NodeRequest{ID: volume.ID, Node: "n2"})
	fmt.Println(err)

	disk.Detach(storage.NodeRequest{ID: volume.ID, Node: "n1"}) // forced: a pod still uses the volume
	for _, problem := range disk.Report(nil) {
		fmt.Println(problem)
	}
	// Output:
	// rpc error: code = FailedPrecondition desc = volume pvc-1 is attached to node n1
	// DetachedInUse pvc-1: detached from n1 while published to default/db-0
	// Leaked pvc-1: no PersistentVolume has it
}

// Rules for the same calls apply one after the other.
func ExampleFaults() {
	faults := fake.NewFaults()
	create := fake.Match{Target: "disk.example.com", Verb: "Create"}
	faults.Fail(create, storage.Errorf(storage.ResourceExhausted, "disk full")).Times(2)
	faults.Lose(create, storage.Errorf(storage.DeadlineExceeded, "no answer")).Once()

	for range 4 {
		fault := faults.Inject(api.Call{Target: "disk.example.com", Verb: "Create", Key: "pvc-1"})
		fmt.Println(fault.Err, fault.Effect)
	}
	// Output:
	// rpc error: code = ResourceExhausted desc = disk full false
	// rpc error: code = ResourceExhausted desc = disk full false
	// rpc error: code = DeadlineExceeded desc = no answer true
	// <nil> false
}
