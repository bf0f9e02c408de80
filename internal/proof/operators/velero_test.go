package operators

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	backedUp = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: fast, labels: {velero.io/csi-volumesnapshot-class: "true"}}
driver: disk.example.com
deletionPolicy: Delete
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}`

	// installed has the objects of its installation that Velero looks up. The test runs the program itself, not the pod of the Deployment.
	installed = `
apiVersion: v1
kind: Namespace
metadata: {name: velero}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: velero, namespace: velero}
spec:
  replicas: 0
  selector: {matchLabels: {app: velero}}
  template:
    metadata: {labels: {app: velero}}
    spec: {containers: [{name: velero, image: velero}]}
---
apiVersion: velero.io/v1
kind: BackupStorageLocation
metadata: {name: default, namespace: velero}
spec: {provider: example.com/directory, objectStorage: {bucket: backups}, config: {directory: DIRECTORY}}`

	saved = `
apiVersion: velero.io/v1
kind: Backup
metadata: {name: nightly, namespace: velero}
spec: {includedNamespaces: [shop], storageLocation: default}`

	restored = `
apiVersion: velero.io/v1
kind: Restore
metadata: {name: nightly, namespace: velero}
spec: {backupName: nightly}`

	unneeded = `
apiVersion: velero.io/v1
kind: DeleteBackupRequest
metadata: {name: nightly, namespace: velero}
spec: {backupName: nightly}`
)

// TestVelero: Velero backs up a namespace with CSI snapshots, restores it after it was deleted, and deletes the backup with its snapshots.
func TestVelero(t *testing.T) {
	const module = "github.com/vmware-tanzu/velero"
	file := build(t, "velero", module+"/cmd/velero")
	store := build(t, "velero/objectstore", ".")
	definitions, err := filepath.Glob(filepath.Join(source(t, "velero", module), "config", "crd", "*", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, definitions)
	inModes(t, func(t *testing.T, c *cluster) {
		for _, definition := range definitions {
			c.applyFile(definition)
		}
		c.apply(strings.Replace(installed, "DIRECTORY", t.TempDir(), 1))
		plugins := t.TempDir()
		require.NoError(t, os.Symlink(store, filepath.Join(plugins, "objectstore")))
		p := start(t, file, "server", "--kubeconfig", c.config, "--namespace", "velero", "--features", "EnableCSI", "--plugin-dir", plugins,
			"--store-validation-frequency", "1s", "--item-operation-sync-frequency", "1s", "--backup-sync-period", "1s",
			"--metrics-address", "127.0.0.1:0")
		c.apply(backedUp)
		replica := object{"v1", "Pod", "shop", "db-1"}
		c.until(replica, "status.phase", "Running")
		data := object{"v1", "PersistentVolumeClaim", "shop", "data-db-1"}
		before := c.field(data, "spec.volumeName")
		c.until(object{"velero.io/v1", "BackupStorageLocation", "velero", "default"}, "status.phase", "Available")

		c.apply(saved)
		c.until(object{"velero.io/v1", "Backup", "velero", "nightly"}, "status.phase", "Completed")
		c.none("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop")

		c.delete(object{"v1", "Namespace", "", "shop"})
		c.until(object{"v1", "Namespace", "", "shop"}, "metadata.name", "gone")
		c.until(volume(before), "metadata.name", "gone")

		c.apply(restored)
		c.until(object{"velero.io/v1", "Restore", "velero", "nightly"}, "status.phase", "Completed")
		c.until(replica, "status.phase", "Running")
		require.Equal(t, "VolumeSnapshot", c.field(data, "spec.dataSource.kind"))
		c.until(data, "status.phase", "Bound")
		require.NotEqual(t, before, c.field(data, "spec.volumeName"))

		// Velero leaves the snapshots that a restore has made from the backup, with the deletion policy Retain.
		contents := func() []string { return c.names("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "") }
		restoredFrom := contents()
		require.Len(t, restoredFrom, 2)
		for _, name := range restoredFrom {
			require.Equal(t, "Retain", c.field(object{"snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "", name}, "spec.deletionPolicy"))
		}

		// To delete the driver's snapshots it creates contents with the deletion policy Delete, and deletes them.
		c.apply(unneeded)
		c.until(object{"velero.io/v1", "Backup", "velero", "nightly"}, "metadata.name", "gone")
		require.Eventually(t, func() bool { return slices.Equal(restoredFrom, contents()) }, patience, tick)
		// A location is not available before its first check. The Restore is deleted with its backup.
		p.clean("skip syncing backup from it", "Current BackupStorageLocations available/unavailable/unknown: 0/0/1", "restore not found")
	}, "--nodes", "n1,n2", "--driver", "disk.example.com")
}
