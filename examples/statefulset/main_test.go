package main

import (
	"fmt"
	"os"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// == Three pods
	// One after the other, each with a claim of its own. A node has room for one pod, and each volume is created in the
	// zone of its pod.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 2
	// db-1   Running   n2    data-db-1   Bound    west   version 2
	// db-2   Running   n3    data-db-2   Bound    south  version 2
	//
	// == Scaled down to two
	// The last pod is deleted. Its claim has no owner and stays, and so do the volume and the data.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 12
	// db-1   Running   n2    data-db-1   Bound    west   version 12
	// db-2   -         -     data-db-2   Bound    south  version 2
	//
	// == Scaled up again
	// The new pod has the same name, so it uses the same claim, and is placed where the volume is.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 22
	// db-1   Running   n2    data-db-1   Bound    west   version 22
	// db-2   Running   n3    data-db-2   Bound    south  version 12
	//
	// == A pod is replaced
	// The volume is unmounted and detached, and attached again for the new pod, which must be in the zone of the volume.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 32
	// db-1   Running   n2    data-db-1   Bound    west   version 32
	// db-2   Running   n3    data-db-2   Bound    south  version 22
	//
	// == A zone is lost
	// The node of db-1 is lost, and its Node object deleted, so the pod is deleted too and created again. A new node in another zone has
	// room, but the volume is not there: the pod waits.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 42
	// db-1   Pending   -     data-db-1   Bound    west   version 32
	// db-2   Running   n3    data-db-2   Bound    south  version 32
	//
	// FailedScheduling: 0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
	//
	// == The claim is deleted
	// The pod runs again only after its claim and the pod are deleted: the controller creates both anew, with an empty volume in another
	// zone. The reclaim policy of the class is Delete: the old data is lost.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 52
	// db-1   Running   n4    data-db-1   Bound    east   version 10
	// db-2   Running   n3    data-db-2   Bound    south  version 42
	//
	// The storage has 3 volumes.
}
