package fake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/fake"
)

func TestBuilders(t *testing.T) {
	for _, tt := range []struct {
		name string
		obj  metav1.Object
		want string
	}{
		{"volume", fake.Volume("snug", "12Gi"), `
metadata: {name: snug}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 12Gi}, hostPath: {path: /tmp/snug}, persistentVolumeReclaimPolicy: Retain, volumeMode: Filesystem}
status: {}`},
		{"volume with all options",
			fake.Volume("snug", "12Gi", fake.Modes("ROX", "ReadWriteMany"), fake.InClass("fast"), fake.Labels("a", "b", "c", "d"),
				fake.Annotations("e", "f"), fake.ForClaim("web/data", "u1"), fake.Policy("Delete"), fake.Block(),
				fake.CSISource("disk.example.com", "h1"),
				fake.FromNodes("n1", "n2"), fake.MountOptions("ro"), fake.Phase("Bound"), fake.UID("u2"), fake.Finalizers("x/y")), `
metadata: {name: snug, uid: u2, labels: {a: b, c: d}, annotations: {e: f}, finalizers: [x/y]}
spec:
  accessModes: [ReadOnlyMany, ReadWriteMany]
  capacity: {storage: 12Gi}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: web, name: data, uid: u1}
  csi: {driver: disk.example.com, volumeHandle: h1}
  mountOptions: [ro]
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1, n2]}]}]}}
  persistentVolumeReclaimPolicy: Delete
  storageClassName: fast
  volumeMode: Block
status: {phase: Bound}`},
		{"local volume", fake.Volume("v", "1Gi", fake.LocalSource("/disk", "n1"), fake.ForClaim("data")), `
metadata: {name: v}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: default, name: data}
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
  persistentVolumeReclaimPolicy: Retain
  volumeMode: Filesystem
status: {}`},
		{"flex volume", fake.Volume("v", "1Gi", fake.FlexSource("example.com/flex")), `
metadata: {name: v}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  flexVolume: {driver: example.com/flex}
  persistentVolumeReclaimPolicy: Retain
  volumeMode: Filesystem
status: {}`},
		{"claim", fake.Claim("data", "10Gi"), `
metadata: {namespace: default, name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}, storageClassName: "", volumeMode: Filesystem}
status: {}`},
		{"claim with all options",
			fake.Claim("web/data", "10Gi", fake.Modes("RWOP"), fake.InClass("fast"), fake.Selector("a", "b"), fake.VolumeName("snug"),
				fake.Block(), fake.Phase("Lost")), `
metadata: {namespace: web, name: data}
spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 10Gi}}, selector: {matchLabels: {a: b}}, storageClassName: fast, volumeMode: Block, volumeName: snug}
status: {phase: Lost}`},
		{"claim for the default class", fake.Claim("data", "1Gi", fake.NoClass()), `
metadata: {namespace: default, name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeMode: Filesystem}
status: {}`},
		{"class", fake.Class("fast", "disk.example.com"), `
metadata: {name: fast}
provisioner: disk.example.com
reclaimPolicy: Delete
volumeBindingMode: Immediate`},
		{"class with all options",
			fake.Class("fast", "disk.example.com", fake.Default(), fake.WaitForFirstConsumer(), fake.Expandable(), fake.Policy("Retain"),
				fake.MountOptions("noatime"), fake.Parameters("type", "ssd")), `
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: disk.example.com
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
mountOptions: [noatime]
parameters: {type: ssd}`},
		{"pod", fake.Pod("web/p", fake.Claims("data.1", "logs"), fake.BlockClaims("raw"), fake.Ephemeral("tmp", "1Gi", "fast"),
			fake.OnNode("n1"), fake.Phase("Running")), `
metadata: {namespace: web, name: p}
spec:
  containers:
  - name: main
    image: main
    resources: {}
    volumeMounts: [{name: data-1, mountPath: /data.1}, {name: logs, mountPath: /logs}, {name: tmp, mountPath: /tmp}]
    volumeDevices: [{name: raw, devicePath: /dev/raw}]
  nodeName: n1
  volumes:
  - {name: data-1, persistentVolumeClaim: {claimName: data.1}}
  - {name: logs, persistentVolumeClaim: {claimName: logs}}
  - {name: raw, persistentVolumeClaim: {claimName: raw}}
  - name: tmp
    ephemeral: {volumeClaimTemplate: {metadata: {}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: fast, volumeMode: Filesystem}}}
status: {phase: Running}`},
		{"node", fake.Node("n1", fake.Labels("zone", "a")), `
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, kubernetes.io/os: linux, kubernetes.io/arch: amd64, beta.kubernetes.io/os: linux,
  beta.kubernetes.io/arch: amd64, zone: a}}
spec: {}
status: {conditions: [{type: Ready, status: "True", lastHeartbeatTime: null, lastTransitionTime: null}], daemonEndpoints: {kubeletEndpoint: {Port: 0}}, nodeInfo: {architecture: "", bootID: "", containerRuntimeVersion: "", kernelVersion: "", kubeProxyVersion: "", kubeletVersion: "", machineID: "", operatingSystem: "", osImage: "", systemUUID: ""}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := fake.Err(tt.obj); err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			text, err := yaml.Marshal(tt.obj)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	if node := fake.Node("n1", fake.NotReady()); node.Status.Conditions[0].Status != corev1.ConditionFalse {
		t.Errorf("NotReady gives %v", node.Status.Conditions)
	}
}

func TestBuilderErrors(t *testing.T) {
	for _, tt := range []struct {
		obj  metav1.Object
		want string
	}{
		{fake.Volume("v", "large"), `PersistentVolume v: "large" is not a size; write it like 10Gi`},
		{fake.Claim("web/c", ""), `PersistentVolumeClaim c: "" is not a size; write it like 10Gi`},
		{fake.Pod("p", fake.Ephemeral("e", "1Gib", "")), `Pod p: "1Gib" is not a size; write it like 10Gi`},
		{fake.Volume("v", "1Gi", fake.Selector("a", "b"), fake.NoClass(), fake.VolumeName("x"), fake.Parameters(),
			fake.WaitForFirstConsumer(), fake.Expandable(), fake.Default(), fake.OnNode("n"), fake.NotReady(), fake.Claims("c"),
			fake.BlockClaims("c"), fake.Ephemeral("e", "1Gi", "")),
			"PersistentVolume v: a PersistentVolume has no option Selector; a PersistentVolume has no option NoClass; a PersistentVolume has no option VolumeName; a PersistentVolume has no option Parameters; a PersistentVolume has no option WaitForFirstConsumer; a PersistentVolume has no option Expandable; a PersistentVolume has no option Default; a PersistentVolume has no option OnNode; a PersistentVolume has no option NotReady; a PersistentVolume has no option Claims; a PersistentVolume has no option BlockClaims; a PersistentVolume has no option Ephemeral"},
		{fake.Node("n", fake.Modes("RWO"), fake.Block(), fake.InClass("c"), fake.Policy("Retain"), fake.MountOptions(), fake.ForClaim("c"),
			fake.CSISource("d", "h"), fake.NFSSource("s", "/"), fake.HostPathSource("/"), fake.LocalSource("/", "n"), fake.FromNodes("n"),
			fake.Phase("Running")),
			"Node n: a Node has no option Modes; a Node has no option Block; a Node has no option InClass; a Node has no option Policy; a Node has no option MountOptions; a Node has no option ForClaim; a Node has no option CSISource; a Node has no option NFSSource; a Node has no option HostPathSource; a Node has no option LocalSource; a Node has no option FromNodes; a Node has no option Phase"},
		{fake.Class("c", "d", nil, fake.Labels("a")),
			`StorageClass c: option 1 is nil; Labels takes pairs of a key and a value, and "a" has no value`},
		{fake.Volume("v", "1Gi", fake.ForClaim("c", "1", "2")), "PersistentVolume v: ForClaim takes one uid, not 2"},
		{fake.Pod("p", fake.Claims("a.b"), fake.BlockClaims("a-b")), "Pod p: BlockClaims: the pod already has a volume a-b"},
	} {
		if err := fake.Err(tt.obj); err == nil || err.Error() != tt.want {
			t.Errorf("Err = %v, want %s", err, tt.want)
		}
	}
	if err := fake.Err(&corev1.Pod{}); err != nil {
		t.Errorf("Err of an object without a builder = %v, want nil", err)
	}
}

// Objects built with the same option share nothing.
func TestOptionsShareNothing(t *testing.T) {
	class, labels, nodes := fake.InClass("fast"), fake.Labels("a", "b"), fake.FromNodes("n1")
	source, policy := fake.NFSSource("s", "/"), fake.Policy("Retain")
	one, two := fake.Claim("one", "1Gi", class, labels), fake.Claim("two", "1Gi", class, labels)
	*one.Spec.StorageClassName, one.Labels["a"] = "slow", "c"
	if *two.Spec.StorageClassName != "fast" || two.Labels["a"] != "b" {
		t.Errorf("a change of one claim shows in the other: %s, %v", *two.Spec.StorageClassName, two.Labels)
	}
	v, w := fake.Volume("v", "1Gi", source, nodes), fake.Volume("w", "1Gi", source, nodes)
	v.Spec.NFS.Server, v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "t", "n2"
	if w.Spec.NFS.Server != "s" || w.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] != "n1" {
		t.Errorf("a change of one volume shows in the other: %+v", w.Spec)
	}
	c, d := fake.Class("c", "x", policy), fake.Class("d", "x", policy)
	*c.ReclaimPolicy, *c.VolumeBindingMode = "Delete", storagev1.VolumeBindingWaitForFirstConsumer
	if *d.ReclaimPolicy != "Retain" || *d.VolumeBindingMode != storagev1.VolumeBindingImmediate {
		t.Errorf("a change of one class shows in the other: %s, %s", *d.ReclaimPolicy, *d.VolumeBindingMode)
	}
}
