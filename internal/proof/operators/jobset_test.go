package operators

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const jobSet = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: training}
spec:
  volumeClaimPolicies:
  - templates:
    - metadata: {name: checkpoints}
      spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
    retentionPolicy: {whenDeleted: Delete}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          metadata: {annotations: {volsim.dev/run-for: 5s}}
          spec:
            containers: [{name: c, image: busybox, volumeMounts: [{name: checkpoints, mountPath: /data}]}]`

// TestJobSet: jobset creates Jobs, a Service, and a claim that all their pods share; the claim goes with the JobSet. Its webhooks complete the
// JobSet and refuse some, and see the pods.
func TestJobSet(t *testing.T) {
	const module = "sigs.k8s.io/jobset"
	file := build(t, "jobset", module)
	config := filepath.Join(source(t, "jobset", module), "config", "default")
	inModes(t, func(t *testing.T, c *cluster) {
		const namespace = "jobset-system"
		c.kustomize(config)
		c.replace(object{"apps/v1", "Deployment", namespace, "jobset-controller-manager"})
		// The certificates in the cluster are for a directory that it does not let the user choose.
		certs, authority := certificate(t, "jobset-webhook-service."+namespace+".svc")
		c.trust(authority)
		p := start(t, "env", "KUBECONFIG="+c.config, file, "--config", write(t, "config.yaml", `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: true, resourceNamespace: `+namespace+`}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: 19543, certDir: "`+certs+`"}
metrics: {bindAddress: "127.0.0.1:19443", certDir: "`+certs+`"}
health: {healthProbeBindAddress: "127.0.0.1:19081"}`))
		c.apply(jobSet)
		set := object{"jobset.x-k8s.io/v1alpha2", "JobSet", "default", "training"}
		require.Equal(t, "All", c.field(set, "spec.successPolicy.operator"))
		require.Equal(t, "true", c.field(set, "spec.network.publishNotReadyAddresses"))
		c.until(set, "status.terminalState", "Completed")
		require.Len(t, c.names("batch/v1", "Job", "default"), 2)
		require.Len(t, c.names("v1", "Pod", "default"), 4)
		require.Equal(t, "Bound", c.field(claim("checkpoints-training"), "status.phase"))
		require.Equal(t, "None", c.field(object{"v1", "Service", "default", "training"}, "spec.clusterIP"))
		require.Contains(t, c.field(object{"coordination.k8s.io/v1", "Lease", namespace, "6d4f6a47.jobset.x-k8s.io"}, "spec.holderIdentity"), "_")
		// Its watches last although nothing changes.
		time.Sleep(65 * time.Second)
		p.clean()
		name := c.field(claim("checkpoints-training"), "spec.volumeName")
		c.delete(set)
		c.none("batch/v1", "Job", "default")
		c.none("v1", "Pod", "default")
		c.none("v1", "PersistentVolumeClaim", "default")
		c.until(volume(name), "metadata.name", "gone")
		p.clean(`jobsets.jobset.x-k8s.io \"training\" not found`) // it writes the status of a JobSet that it does not know to be gone
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--service", "jobset-system/jobset-webhook-service=127.0.0.1:19543")
}

// certificate returns a directory with a certificate for servers with that name, and its authority.
func certificate(t *testing.T, name string) (dir string, authority []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir = t.TempDir()
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	return dir, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
