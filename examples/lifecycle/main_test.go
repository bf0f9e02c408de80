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
	// == 1. Add the volume
	// No claim uses it: it is Available.
	//
	// $ kubectl get pv,pvc -A    # 0s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM   STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Available                          <unset>                          0s
	//
	// PersistentVolume/pv3 is new
	//
	// == 2. Add the claim
	// It is Pending until the controller syncs it. The volume fits: both are Bound.
	//
	// $ kubectl get pv,pvc -A    # 0s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM   STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Available                          <unset>                          0s
	//
	// NAMESPACE   NAME                            STATUS    VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
	// test        persistentvolumeclaim/myclaim   Pending                                                     <unset>                 0s
	//
	// PersistentVolumeClaim/test/myclaim is new
	//
	// $ kubectl get pv,pvc -A    # 0s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS   CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Bound    test/myclaim                  <unset>                          0s
	//
	// NAMESPACE   NAME                            STATUS   VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
	// test        persistentvolumeclaim/myclaim   Bound    pv3      5Gi        RWO,ROX,RWX                   <unset>                 0s
	//
	// PersistentVolume/pv3: metadata.annotations[pv.kubernetes.io/bound-by-controller] none -> yes
	// PersistentVolume/pv3: spec.claimRef.apiVersion none -> v1
	// PersistentVolume/pv3: spec.claimRef.kind none -> PersistentVolumeClaim
	// PersistentVolume/pv3: spec.claimRef.name none -> myclaim
	// PersistentVolume/pv3: spec.claimRef.namespace none -> test
	// PersistentVolume/pv3: spec.claimRef.resourceVersion none -> "3"
	// PersistentVolume/pv3: spec.claimRef.uid none -> e66902dc-73df-419e-9c07-0e47aac7982c
	// PersistentVolume/pv3: status.phase Available -> Bound
	// PersistentVolumeClaim/test/myclaim: metadata.annotations[pv.kubernetes.io/bind-completed] none -> yes
	// PersistentVolumeClaim/test/myclaim: metadata.annotations[pv.kubernetes.io/bound-by-controller] none -> yes
	// PersistentVolumeClaim/test/myclaim: spec.volumeName none -> pv3
	// PersistentVolumeClaim/test/myclaim: status.accessModes none -> ["ReadWriteOnce","ReadOnlyMany","ReadWriteMany"]
	// PersistentVolumeClaim/test/myclaim: status.capacity.storage none -> 5Gi
	// PersistentVolumeClaim/test/myclaim: status.phase Pending -> Bound
	//
	// == 3. Delete the volume
	// The finalizer kubernetes.io/pv-protection protects a bound volume. It is only marked as deleted (kubectl prints
	// Terminating), and the claim stays Bound.
	//
	// $ kubectl get pv,pvc -A    # 0s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS        CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Terminating   test/myclaim                  <unset>                          0s
	//
	// NAMESPACE   NAME                            STATUS   VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
	// test        persistentvolumeclaim/myclaim   Bound    pv3      5Gi        RWO,ROX,RWX                   <unset>                 0s
	//
	// PersistentVolume/pv3: metadata.deletionGracePeriodSeconds none -> 0
	// PersistentVolume/pv3: metadata.deletionTimestamp none -> 2026-01-01T00:00:00Z
	//
	// Remove the finalizer by hand, as in a cluster without this protection: the volume is gone, and the claim is Lost.
	//
	// $ kubectl get pv,pvc -A    # 0s after the start
	// NAMESPACE   NAME                            STATUS   VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
	// test        persistentvolumeclaim/myclaim   Lost     pv3      0                                        <unset>                 0s
	//
	// PersistentVolumeClaim/test/myclaim: status.accessModes ["ReadWriteOnce","ReadOnlyMany","ReadWriteMany"] -> none
	// PersistentVolumeClaim/test/myclaim: status.capacity.storage 5Gi -> none
	// PersistentVolumeClaim/test/myclaim: status.phase Bound -> Lost
	// PersistentVolume/pv3 is gone
	//
	// == 4. Add the volume again
	// A Lost claim can recover: at the next resync it binds to a volume with the name in its spec.
	//
	// $ kubectl get pv,pvc -A    # 15s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS   CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Bound    test/myclaim                  <unset>                          15s
	//
	// NAMESPACE   NAME                            STATUS   VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
	// test        persistentvolumeclaim/myclaim   Bound    pv3      5Gi        RWO,ROX,RWX                   <unset>                 15s
	//
	// PersistentVolume/pv3 is new
	// PersistentVolumeClaim/test/myclaim: status.accessModes none -> ["ReadWriteOnce","ReadOnlyMany","ReadWriteMany"]
	// PersistentVolumeClaim/test/myclaim: status.capacity.storage none -> 5Gi
	// PersistentVolumeClaim/test/myclaim: status.phase Lost -> Bound
	//
	// == 5. Delete the claim
	// The volume is Released. Its policy is Recycle, so a recycler pod starts to scrub it.
	//
	// $ kubectl get pv,pvc -A    # 16s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS     CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Released   test/myclaim                  <unset>                          16s
	//
	// PersistentVolume/pv3: status.phase Bound -> Released
	// PersistentVolumeClaim/test/myclaim is gone
	//
	// == 6. The storage does not answer
	// Recycling fails, and the volume is Failed. Its status and an Event contain the reason.
	//
	// $ kubectl get pv,pvc -A    # 1m16s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS   CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Failed   test/myclaim                  <unset>                          76s
	//
	// PersistentVolume/pv3: status.lastPhaseTransitionTime 2026-01-01T00:00:15Z -> 2026-01-01T00:01:15Z
	// PersistentVolume/pv3: status.message none -> "Recycle failed: failed to recycle volume: nfs.example.com does not answer"
	// PersistentVolume/pv3: status.phase Released -> Failed
	//
	// $ kubectl get events -A
	// Warning VolumeFailedRecycle PersistentVolume/pv3: Recycle failed: failed to recycle volume: nfs.example.com does not answer (1 times)
	// Warning ClaimLost PersistentVolumeClaim/myclaim: Bound claim has lost its PersistentVolume. Data on the volume is lost! (1 times)
	//
	// == 7. The administrator removes claimRef
	// The volume is no longer reserved for a claim: it is Available again, with its data.
	//
	// $ kubectl get pv,pvc -A    # 2m15s after the start
	// NAME                   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM   STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
	// persistentvolume/pv3   5Gi        RWO,ROX,RWX    Recycle          Available                          <unset>                          2m15s
	//
	// PersistentVolume/pv3: spec.claimRef.apiVersion v1 -> none
	// PersistentVolume/pv3: spec.claimRef.kind PersistentVolumeClaim -> none
	// PersistentVolume/pv3: spec.claimRef.name myclaim -> none
	// PersistentVolume/pv3: spec.claimRef.namespace test -> none
	// PersistentVolume/pv3: spec.claimRef.resourceVersion "10" -> none
	// PersistentVolume/pv3: spec.claimRef.uid e66902dc-73df-419e-9c07-0e47aac7982c -> none
	// PersistentVolume/pv3: status.lastPhaseTransitionTime 2026-01-01T00:01:15Z -> 2026-01-01T00:01:16Z
	// PersistentVolume/pv3: status.message "Recycle failed: failed to recycle volume: nfs.example.com does not answer" -> none
	// PersistentVolume/pv3: status.phase Failed -> Available
}
