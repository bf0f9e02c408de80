package volsim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
)

type (
	pvType      = corev1.PersistentVolume
	pvcType     = corev1.PersistentVolumeClaim
	podType     = corev1.Pod
	classType   = storagev1.StorageClass
	attrsType   = storagev1.VolumeAttributesClass
	attachType  = storagev1.VolumeAttachment
	driverType  = storagev1.CSIDriver
	csiNodeType = storagev1.CSINode
	cscType     = storagev1.CSIStorageCapacity
)

func storageSize(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(text)}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", Finalizers: []string{"example.com/hold"}}
}

var readWriteOnce = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}

// The good objects that the cases spoil. Namespaces of objects that have none are cleared.
func goodVolume(name string) *pvType {
	return &pvType{ObjectMeta: meta(name), Spec: corev1.PersistentVolumeSpec{
		Capacity: storageSize("10Gi"), AccessModes: readWriteOnce, StorageClassName: "fast",
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com",
			VolumeHandle: "h"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z1"}}},
		}}}},
	}}
}

func goodClaim(name string) *pvcType {
	return &pvcType{ObjectMeta: meta(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: readWriteOnce, Resources: corev1.VolumeResourceRequirements{Requests: storageSize("5Gi")}, StorageClassName: new("fast"),
	}}
}

func goodClass(name string) *classType {
	return &classType{ObjectMeta: meta(name), Provisioner: "csi.example.com", Parameters: map[string]string{"a": "b"}}
}

func goodAttributes(name string) *attrsType {
	return &attrsType{ObjectMeta: meta(name), DriverName: "csi.example.com", Parameters: map[string]string{"iops": "1"}}
}

func goodAttachment(name string) *attachType {
	return &attachType{ObjectMeta: meta(name), Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi.example.com", NodeName: "n1",
		Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("disk")}}}
}

func goodDriver(name string) *driverType { return &driverType{ObjectMeta: meta(name)} }

func goodCSINode(name string) *csiNodeType {
	return &csiNodeType{ObjectMeta: meta(name),
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", NodeID: "i-1"}}}}
}

func goodCapacity(name string) *cscType {
	return &cscType{ObjectMeta: meta(name), StorageClassName: "fast", Capacity: new(storageSize("1Ti")["storage"])}
}

func goodNode(name string) *corev1.Node { return &corev1.Node{ObjectMeta: meta(name)} }

func goodPod(name string) *podType {
	return &podType{ObjectMeta: meta(name), Spec: corev1.PodSpec{
		NodeName: "n1",
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1",
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []corev1.Volume{{Name: "data",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
	}}
}

// furnished is a cluster without controllers that holds a good object of each kind, a claim that is bound and one that goes.
func furnished(t *testing.T) *volsim.Cluster {
	t.Helper()
	idle, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Without: idle.Controllers()})
	require.NoError(t, err)
	expandable := goodClass("fast")
	expandable.AllowVolumeExpansion = new(true)
	bound := goodClaim("bound")
	bound.Spec.VolumeName = "disk"
	require.NoError(t, c.Create(expandable, goodClass("stiff"), goodAttributes("gold"), goodDriver("csi.example.com"), goodNode("n1"),
		goodCSINode("n1"),
		goodCapacity("cap"), goodVolume("disk"), goodClaim("data"), goodClaim("going"), bound, goodClaim("hard"), goodPod("web"),
		goodAttachment("att")))
	for _, name := range []string{"bound", "hard"} {
		claim, err := c.Claims.Get("default/" + name)
		require.NoError(t, err)
		claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, storageSize("3Gi")
		claim.Status.CurrentVolumeAttributesClassName = new("gold")
		require.NoError(t, c.UpdateStatus(claim))
	}
	hard, err := c.Claims.Get("default/hard")
	require.NoError(t, err)
	hard.UID, hard.ResourceVersion, hard.Spec.StorageClassName = "", "", new("stiff")
	require.NoError(t, c.Load(hard))
	require.NoError(t, c.Delete(&pvcType{ObjectMeta: metav1.ObjectMeta{Name: "going", Namespace: "default"}}))
	return c
}

// everything is the content of a cluster.
func everything(c *volsim.Cluster) []api.Object {
	var all []api.Object
	add(&all, c.Volumes)
	add(&all, c.Claims)
	add(&all, c.Classes)
	add(&all, c.AttributesClasses)
	add(&all, c.Pods)
	add(&all, c.Nodes)
	add(&all, c.Attachments)
	add(&all, c.CSIDrivers)
	add(&all, c.CSINodes)
	add(&all, c.Capacities)
	return all
}

func add[T api.Object](all *[]api.Object, table volsim.Table[T]) {
	for _, obj := range table.List() {
		*all = append(*all, obj)
	}
}

// watchAll counts changes of any kind.
func watchAll(t *testing.T, c *volsim.Cluster) *int {
	t.Helper()
	n := new(int)
	count(t, n, c.Volumes)
	count(t, n, c.Claims)
	count(t, n, c.Classes)
	count(t, n, c.AttributesClasses)
	count(t, n, c.Pods)
	count(t, n, c.Nodes)
	count(t, n, c.Attachments)
	count(t, n, c.CSIDrivers)
	count(t, n, c.CSINodes)
	count(t, n, c.Capacities)
	*n = 0
	return n
}

func count[T api.Object](t *testing.T, n *int, table volsim.Table[T]) {
	t.Helper()
	_, err := table.Watch(func(api.Change[T]) { *n++ })
	require.NoError(t, err)
}

var letters = map[metav1.CauseType]string{
	metav1.CauseTypeFieldValueRequired: "R", metav1.CauseTypeFieldValueInvalid: "I", metav1.CauseTypeForbidden: "F",
	metav1.CauseTypeFieldValueNotSupported: "N", metav1.CauseTypeFieldValueDuplicate: "D", metav1.CauseTypeTooLong: "L",
	metav1.CauseTypeFieldValueNotFound: "X",
}

// causes is the set of what an error complains about, as "path kind" with the letters of the rules.
func causes(status metav1.Status) string {
	var all []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			all = append(all, cause.Field+" "+letters[cause.Type])
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "; ")
}

// verb is a call that fails.
type verb func(c *volsim.Cluster) error

// creating spoils a good object and creates it.
func creating[T api.Object](obj T, spoil func(T)) verb {
	return func(c *volsim.Cluster) error {
		bad := obj.DeepCopyObject().(T)
		spoil(bad)
		return c.Create(bad)
	}
}

// updating spoils the stored object and writes it back; updatingStatus does so by the subresource.
func updating[T api.Object](table func(*volsim.Cluster) volsim.Table[T], key string, spoil func(T)) verb {
	return rewrite(table, key, spoil, (*volsim.Cluster).Update)
}

func updatingStatus[T api.Object](table func(*volsim.Cluster) volsim.Table[T], key string, spoil func(T)) verb {
	return rewrite(table, key, spoil, (*volsim.Cluster).UpdateStatus)
}

func rewrite[T api.Object](table func(*volsim.Cluster) volsim.Table[T], key string, spoil func(T),
	write func(*volsim.Cluster, api.Object) error) verb {
	return func(c *volsim.Cluster) error {
		obj, err := table(c).Get(key)
		if err != nil {
			return err
		}
		spoil(obj)
		return write(c, obj)
	}
}

func patching(obj api.Object, text string) verb {
	return func(c *volsim.Cluster) error { return c.Patch(obj, text) }
}

func volumes(c *volsim.Cluster) volsim.Table[*pvType]         { return c.Volumes }
func claims(c *volsim.Cluster) volsim.Table[*pvcType]         { return c.Claims }
func classes(c *volsim.Cluster) volsim.Table[*classType]      { return c.Classes }
func attributes(c *volsim.Cluster) volsim.Table[*attrsType]   { return c.AttributesClasses }
func pods(c *volsim.Cluster) volsim.Table[*podType]           { return c.Pods }
func nodes(c *volsim.Cluster) volsim.Table[*corev1.Node]      { return c.Nodes }
func attachments(c *volsim.Cluster) volsim.Table[*attachType] { return c.Attachments }
func drivers(c *volsim.Cluster) volsim.Table[*driverType]     { return c.CSIDrivers }
func csiNodes(c *volsim.Cluster) volsim.Table[*csiNodeType]   { return c.CSINodes }
func capacities(c *volsim.Cluster) volsim.Table[*cscType]     { return c.Capacities }

// refusal is one thing that no API server would accept.
type refusal struct {
	rule, name string
	call       verb
	code       int32
	want       string // for a 422 its causes, else a part of the message
}

const (
	badRequest, forbidden, notFound, conflict, invalid, fault = 400, 403, 404, 409, 422, 500
)

var reasons = map[int32]metav1.StatusReason{
	badRequest: metav1.StatusReasonBadRequest, forbidden: metav1.StatusReasonForbidden, notFound: metav1.StatusReasonNotFound,
	conflict: metav1.StatusReasonConflict, invalid: metav1.StatusReasonInvalid, fault: "",
}

// TestRefusals: whatever is wrong is answered as the API server would, and leaves no trace.
func TestRefusals(t *testing.T) {
	all := slices.Concat(badMetadata, badVolumes, badClaims, badStorage, badPods, badUpdates, badCalls)
	require.Greater(t, len(all), 150)
	for _, test := range all {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			c := furnished(t)
			before, changes := everything(c), watchAll(t, c)
			err := test.call(c)
			var api apierrors.APIStatus
			require.ErrorAs(t, err, &api)
			assert.Equal(t, test.code, api.Status().Code, "%v", err)
			reason := reasons[test.code]
			if strings.Contains(err.Error(), "already exists") {
				reason = metav1.StatusReasonAlreadyExists
			}
			assert.Equal(t, reason, api.Status().Reason, "%v", err)
			if test.code == invalid {
				assert.Equal(t, test.want, causes(api.Status()), "%v", err)
			} else {
				assert.Contains(t, err.Error(), test.want)
			}
			assert.Zero(t, *changes, "a refused call was seen")
			if diff := cmp.Diff(before, everything(c)); diff != "" {
				t.Errorf("something was stored:\n%s", diff)
			}
			// API-005: the next write takes the next version.
			newest, probe := newestVersion(before), goodClass("probe")
			require.NoError(t, c.Create(probe))
			stored, err := c.Classes.Get("probe")
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(newest+1), stored.ResourceVersion, "a refused call took a version")
		})
	}
}

func newestVersion(objs []api.Object) (newest int) {
	for _, obj := range objs {
		var v int
		if _, err := fmt.Sscan(obj.GetResourceVersion(), &v); err == nil {
			newest = max(newest, v)
		}
	}
	return newest
}
