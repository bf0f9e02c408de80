package scenario_test

import (
	"fmt"

	"github.com/volsim/volsim/scenario"
)

// A failed expectation names its line and the reason.
func ExampleRun() {
	script, err := scenario.Parse("claim.txtar", []byte(`apply -f claim.yaml
settle
expect pv phase=Bound count=1
-- claim.yaml --
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`))
	if err != nil {
		panic(err)
	}
	result, err := scenario.Run(script, scenario.Options{})
	defer result.Cluster.Close()
	fmt.Println(err)
	fmt.Println(result.Summary())
	// Output:
	// claim.txtar:3: expect pv phase=Bound count=1: 0 matching persistentvolumes, want 1
	// 1 failure, seed 0, 100ms of virtual time
}
