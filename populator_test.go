package volsim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

const helloCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: %[4]s
  names: {plural: %[1]s, kind: %[3]s}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// newPopulated returns a cluster in which the kind Hello.example.com exists.
func newPopulated(t *testing.T, disk storage.Backend, class string) *volsim.Cluster {
	t.Helper()
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}, Check: check.All()})
	require.NoError(t, err)
	require.NoError(t, c.Apply(fmt.Appendf(nil, helloCRD, "hellos", "example.com", "Hello", "Namespaced")))
	require.NoError(t, c.Apply([]byte(class)))
	require.NoError(t, c.Create(fake.Node("n1")))
	require.NoError(t, c.Advance(10*time.Second))
	return c
}

func helloClaim(name, source string) *corev1.PersistentVolumeClaim {
	claim := fake.Claim(name, "1Gi", fake.InClass("fast"))
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Hello", Name: source}
	return claim
}

func eventsOf(c *volsim.Cluster, name string) string {
	var reasons []string
	for _, e := range c.Events() {
		if e.InvolvedObject.Name == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return strings.Join(reasons, " ")
}

const (
	hello     = "apiVersion: example.com/v1beta1\nkind: Hello\nmetadata: {name: world, namespace: default}\n"
	immediate = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: disk.example.com\n"
	delayed   = immediate + "volumeBindingMode: WaitForFirstConsumer\n"
)

// TestPopulator: a populator fills a volume of its own, and gives it to the claim.
func TestPopulator(t *testing.T) {
	disk := fake.CSI("disk.example.com")
	c := newPopulated(t, disk, immediate)
	require.NoError(t, c.AddController(controller.Populator{Kind: "Hello.example.com"}.Controller()))
	require.NoError(t, c.Create(helloClaim("data", "world")))
	require.NoError(t, c.Advance(time.Minute))
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	require.Empty(t, claim.Spec.VolumeName, "SNAP-071: the data source does not exist yet")
	require.NotContains(t, eventsOf(c, "data"), "Populator", "SNAP-071")
	x, err := c.Explain("pvc/data")
	require.NoError(t, err)
	require.Equal(t, []explain.Step{{Does: "create Hello.example.com world"}}, x.Next, x.String())

	require.NoError(t, c.Apply([]byte(hello)))
	require.NoError(t, c.Advance(5*time.Second))
	_, err = c.Pods.Get("populator/populate-" + string(claim.UID))
	require.NoError(t, err, "SNAP-072")
	prime, err := c.Claims.Get("populator/prime-" + string(claim.UID))
	require.NoError(t, err, "SNAP-072")
	require.Nil(t, prime.Spec.DataSourceRef, "SNAP-072")
	x, err = c.Explain("pvc/data")
	require.NoError(t, err)
	require.Equal(t, "XPROV-026", x.Rule, x.String())
	require.Equal(t, []explain.Step{{Actor: "example.com-populator", Does: "fills a volume, and gives it to the claim"}}, x.Next, x.String())
	require.Equal(t, explain.Automatic, x.Changes.When, x.String())
	require.NoError(t, c.Advance(2*time.Minute))

	claim, err = c.Claims.Get("default/data")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase, "SNAP-073")
	require.NotContains(t, claim.Finalizers, "example.com/populate-target-protection", "SNAP-074")
	pv, err := c.Volumes.Get(claim.Spec.VolumeName)
	require.NoError(t, err)
	require.Equal(t, "default/world", pv.Annotations["example.com/populated-from"], "SNAP-073")
	require.Empty(t, c.Pods.List(), "SNAP-074")
	require.Len(t, c.Claims.List(), 1, "SNAP-074")
	require.Contains(t, eventsOf(c, "data"), "PopulatorCreated")
	require.Contains(t, eventsOf(c, "data"), "PopulatorFinished", "SNAP-074")
	volumes := disk.Volumes()
	require.Len(t, volumes, 1, "SNAP-074: the volume of the populator is that of the claim")
	require.Equal(t, "populate-"+string(claim.UID), volumes[0].Content.Pod.Name, "SNAP-072: its pod wrote the data")
	// SNAP-073: the claim of the populator stays Bound until the PersistentVolume controller syncs it again.
	violations := c.Violations()
	require.Len(t, violations, 1)
	require.Equal(t, "bound-one-to-one", violations[0].Invariant)
}

// TestPopulatorDelayed: with delayed binding, the populator waits for a consumer; a pod of it that fails is made again.
func TestPopulatorDelayed(t *testing.T) {
	c := newPopulated(t, fake.CSI("disk.example.com"), delayed)
	tries := 0
	require.NoError(t, c.AddController(controller.Populator{Kind: "Hello.example.com", Prefix: "hello", Namespace: "work",
		Pod: func(pod *corev1.Pod, source api.Object) {
			tries++
			pod.Annotations = map[string]string{"volsim.dev/run-for": "1s", "source": source.GetName()}
			if tries == 1 {
				pod.Annotations["volsim.dev/exit-phase"] = "Failed"
			}
		}}.Controller()))
	require.NoError(t, c.Apply([]byte(hello)))
	require.NoError(t, c.Create(helloClaim("data", "world")))
	require.NoError(t, c.Advance(time.Minute))
	require.Empty(t, c.Pods.List(), "SNAP-071: no pod uses the claim yet")

	require.NoError(t, c.Create(fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(5*time.Minute))
	require.Contains(t, eventsOf(c, "data"), "PopulatorFailed", "SNAP-072")
	require.Equal(t, 2, tries, "SNAP-072")
	web, err := c.Pods.Get("default/web")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, web.Status.Phase, "SNAP-073")
}

// TestDataSourceValidator: an Event warns of a data source that no populator handles (SNAP-070).
func TestDataSourceValidator(t *testing.T) {
	c := newPopulated(t, fake.CSI("disk.example.com"), immediate)
	require.NoError(t, c.Create(helloClaim("before", "world")))
	require.NoError(t, c.Advance(time.Minute))
	require.NotContains(t, eventsOf(c, "before"), "UnrecognizedDataSourceKind", "SNAP-070: the validator is not installed")
	require.NoError(t, c.Apply(fmt.Appendf(nil, helloCRD, "volumepopulators", "populator.storage.k8s.io", "VolumePopulator", "Cluster")))
	populator := func(kind string) []byte {
		return []byte("apiVersion: populator.storage.k8s.io/v1beta1\nkind: VolumePopulator\nmetadata: {name: " + strings.ToLower(kind) +
			"}\nsourceKind: {group: example.com, kind: " + kind + "}\n")
	}
	require.NoError(t, c.Apply(populator("Bye")))
	require.NoError(t, c.Advance(time.Minute))
	require.Contains(t, eventsOf(c, "before"), "UnrecognizedDataSourceKind", "SNAP-070")
	require.NoError(t, c.Apply(populator("Hello")))
	require.NoError(t, c.Create(helloClaim("after", "world"), fake.Claim("plain", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Advance(time.Minute))
	require.NotContains(t, eventsOf(c, "after"), "UnrecognizedDataSourceKind", "SNAP-070")
	require.NotContains(t, eventsOf(c, "plain"), "UnrecognizedDataSourceKind", "SNAP-070")
}
