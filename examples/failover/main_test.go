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
	// The old pod is deleted by force, a new one is placed on n2. Nobody says that n1 is dead, so its volume is only taken away
	// after six minutes in which n1 did not say that it is unmounted.
	//
	//       0s  * n1 loses its power
	//      40s  * n1 counts as not ready
	//    5m40s  * the pod is deleted by force
	//    5m40s  * a new pod is placed on n2
	//    5m40s  pod db-0 is gone
	//  5m40.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already exclusively attache…
	// 11m40.2s  storage: Detach at n1
	// 11m40.8s  storage: Attach at n2
	// 11m41.3s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	// 11m41.5s  storage: Stage at n2
	// 11m41.5s  storage: Publish at n2
	// 11m41.7s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 11 by db-1 on n2, from 11m42s to 19m42s
	// The storage saw nothing wrong.
	//
	// == Say that the node is out of service
	// The administrator knows that n1 is off, and says so with a taint. Then nothing has to be waited for.
	//
	//       0s  * n1 loses its power
	//      40s  * n1 counts as not ready
	//    5m40s  * the pod is deleted
	//    5m40s  * n1 is tainted as out of service
	//    5m40s  * a new pod is placed on n2
	//  5m40.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already used by pod(s) db-0
	//     6m0s  pod db-0 is Failed
	//     6m0s  pod db-0 is gone
	//   6m0.1s  storage: Detach at n1
	//   6m0.7s  storage: Attach at n2
	//   6m1.2s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	//   6m1.4s  storage: Stage at n2
	//   6m1.4s  storage: Publish at n2
	//   6m1.6s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 17 by db-1 on n2, from 6m2s to 20m2s
	// The storage saw nothing wrong.
	//
	// == The node comes back
	// n1 starts again before anybody has done anything. The pod's containers died with it, its volume is where it was.
	//
	//       0s  * n1 loses its power
	//      40s  * n1 counts as not ready
	//      40s  * n1 has power again
	//      40s  n1 Rebooted: Node n1 has been rebooted, boot id: n1-boot-2
	//    40.1s  storage: Stage at n1
	//    40.1s  storage: Publish at n1
	//
	// What was written since the node stopped:
	//   versions 3 to 17 by db-0 on n1, from 40s to 14m40s
	// The storage saw nothing wrong.
	//
	// == The node was only cut off
	// n1 lives, but cannot reach the API server: it is not told that its pod is gone, and writes on, until the volume is taken away
	// under its hands. What it writes from then on is lost, and nobody in the cluster knows.
	//
	//       0s  * n1 is cut off
	//      40s  * n1 counts as not ready
	//    5m40s  * the pod is deleted by force
	//    5m40s  * a new pod is placed on n2
	//    5m40s  pod db-0 is gone
	//  5m40.1s  default/db-1 FailedAttachVolume: Multi-Attach error for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5" Volume is already exclusively attache…
	// 11m40.2s  storage: Detach at n1
	// 11m40.8s  storage: Attach at n2
	// 11m41.3s  default/db-1 SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvc-f2884db9-67ea-4b2a-b203-e6666f09b4c5"
	// 11m41.5s  storage: Stage at n2
	// 11m41.5s  storage: Publish at n2
	// 11m41.7s  pod db-1 is Running
	//
	// What was written since the node stopped:
	//   versions 3 to 14 by db-0 on n1, from 10s to 11m10s
	//   versions 15 to 23 by db-1 on n2, from 11m42s to 19m42s
	// 9 writes on n1 failed and are lost.
	// What the storage saw go wrong:
	//   DetachedInUse: detached from n1 while published to default/db-0
}
