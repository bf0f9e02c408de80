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
	// == Wait
	// The old pod is deleted by force, and a new one is placed on n2. Nothing confirms that n1 is dead, so its volume is detached
	// only after six minutes in which n1 did not report that it is unmounted.
	//
	//       0s  * n1 loses its power
	//      55s  n1 NodeNotReady: Node n1 status is now: NodeNotReady
	//      55s  default/db-0 NodeNotReady: Node is not ready
	//  5m55.1s  default/db-0 TaintManagerEviction: Marking for deletion Pod default/db-0
	//     6m5s  * the pod is deleted by force
	//     6m5s  * a new pod is placed on n2
	//     6m5s  pod db-0 is gone
	//   6m5.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already exclusively attache…
	//  12m5.2s  storage: Detach at n1
	//  12m5.8s  storage: Attach at n2
	//  12m6.3s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	//  12m6.5s  storage: Stage at n2
	//  12m6.5s  storage: Publish at n2
	//  12m6.7s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 11 by db-1 on n2, from 12m7s to 20m7s
	// The storage reports no problem.
	//
	// == Taint the node as out of service
	// The administrator knows that n1 is off, and taints it. Then the volume is detached at once.
	//
	//       0s  * n1 loses its power
	//      55s  n1 NodeNotReady: Node n1 status is now: NodeNotReady
	//      55s  default/db-0 NodeNotReady: Node is not ready
	//  5m55.1s  default/db-0 TaintManagerEviction: Marking for deletion Pod default/db-0
	//     6m5s  * n1 is tainted as out of service
	//     6m5s  * a new pod is placed on n2
	//     6m5s  default/db-0 TaintManagerEviction: Marking for deletion Pod default/db-0
	//   6m5.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already used by pod(s) db-0
	//  6m10.1s  default/db-0 TaintManagerEviction: Marking for deletion Pod default/db-0
	//    6m20s  pod db-0 is Failed
	//    6m20s  pod db-0 is gone
	//  6m20.1s  storage: Detach at n1
	//  6m20.7s  storage: Attach at n2
	//  6m21.2s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	//  6m21.4s  storage: Stage at n2
	//  6m21.4s  storage: Publish at n2
	//  6m21.5s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 17 by db-1 on n2, from 6m22s to 20m22s
	// The storage reports no problem.
	//
	// == The node comes back
	// n1 starts again before anyone acts. The containers of the pod start again, and its volume is still attached.
	//
	//       0s  * n1 loses its power
	//      55s  n1 NodeNotReady: Node n1 status is now: NodeNotReady
	//      55s  default/db-0 NodeNotReady: Node is not ready
	//     1m5s  * n1 has power again
	//   1m5.1s  storage: Stage at n1
	//   1m5.1s  storage: Publish at n1
	//   1m5.1s  n1 Rebooted: Node n1 has been rebooted, boot id: n1-boot-2
	//   1m5.1s  n1 NodeReady: Node n1 status is now: NodeReady
	//    1m10s  default/db-0 TaintManagerEviction: Cancelling deletion of Pod default/db-0
	//
	// What was written since the node stopped:
	//   versions 3 to 17 by db-0 on n1, from 1m5s to 15m5s
	// The storage reports no problem.
	//
	// == The node was only cut off
	// n1 runs, but cannot reach the API server. It does not learn that its pod is deleted and keeps writing until the volume is detached.
	// What it writes after that is lost, and nothing in the cluster reports it.
	//
	//       0s  * n1 is cut off
	//      55s  n1 NodeNotReady: Node n1 status is now: NodeNotReady
	//      55s  default/db-0 NodeNotReady: Node is not ready
	//  5m55.1s  default/db-0 TaintManagerEviction: Marking for deletion Pod default/db-0
	//     6m5s  * the pod is deleted by force
	//     6m5s  * a new pod is placed on n2
	//     6m5s  pod db-0 is gone
	//   6m5.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already exclusively attache…
	//  12m5.2s  storage: Detach at n1
	//  12m5.8s  storage: Attach at n2
	//  12m6.3s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	//  12m6.5s  storage: Stage at n2
	//  12m6.5s  storage: Publish at n2
	//  12m6.7s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 15 by db-0 on n1, from 1s to 12m1s
	//   versions 16 to 24 by db-1 on n2, from 12m7s to 20m7s
	// 9 writes on n1 failed and are lost.
	// Problems that the storage reports:
	//   DetachedInUse: detached from n1 while published to default/db-0
}
