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
	// One after the other, each with a claim made for it. A node has room for one pod, and each volume is made in the
	// zone of its pod.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 1
	// db-1   Running   n2    data-db-1   Bound    west   version 1
	// db-2   Running   n3    data-db-2   Bound    south  empty
	//
	// == Scaled down to two
	// The last pod goes. Its claim has no owner and stays, and so do the volume and the data.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 11
	// db-1   Running   n2    data-db-1   Bound    west   version 11
	// db-2   -         -     data-db-2   Bound    south  version 1
	//
	// == Scaled up again
	// The pod that comes back has the same name, so it finds the same claim, and goes where the volume is.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 21
	// db-1   Running   n2    data-db-1   Bound    west   version 21
	// db-2   Running   n3    data-db-2   Bound    south  version 12
	//
	// == A pod is made anew
	// The volume is unmounted and detached, and attached again for the new pod, which must be in the zone of the volume.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 31
	// db-1   Running   n2    data-db-1   Bound    west   version 32
	// db-2   Running   n3    data-db-2   Bound    south  version 22
	//
	// == A zone is lost
	// The node of db-1 is gone for good, the pod is deleted by force and made anew. A new node in another zone has room, but the volume is
	// not there: it waits.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 41
	// db-1   Pending   -     data-db-1   Bound    west   version 32
	// db-2   Running   n3    data-db-2   Bound    south  version 32
	//
	// FailedScheduling: 0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
	//
	// == The claim is given up
	// Only who deletes the claim gets the pod running again, with an empty volume in another zone. The policy of the class is Delete:
	// what was on the old one is lost.
	//
	// POD    PHASE     NODE  CLAIM       PHASE    ZONE   DATA
	// db-0   Running   n1    data-db-0   Bound    east   version 62
	// db-1   Running   n4    data-db-1   Bound    east   version 11
	// db-2   Running   n3    data-db-2   Bound    south  version 53
	//
	// The storage holds 3 volumes.
}
