package reclaim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// pool is a driver that says what it has: 10Gi in each zone, less what the test takes.
type pool struct {
	driver
	used  map[string]int64
	fails int // calls that fail
	asked []storage.CapacityRequest
}

func (d *pool) Capacity(req storage.CapacityRequest) (storage.Capacity, error) {
	d.asked = append(d.asked, req)
	if d.fails > 0 {
		d.fails--
		return storage.Capacity{}, storage.Errorf(storage.Unavailable, "later")
	}
	return storage.Capacity{Available: 10<<30 - d.used[req.Segment[zone]], Largest: d.used["largest"]}, nil
}

func tracking(tracks bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &tracks}}
}

// inZones are two zones with a node each, and the driver on both.
func inZones() []api.Object {
	return []api.Object{node("n1", map[string]string{zone: "a"}), node("n2", map[string]string{zone: "b"}), csiNode("n1", zone), csiNode("n2", zone)}
}

// stored lists the CSIStorageCapacities: class, selector and size.
func (w *fixture) stored() []string {
	var all []string
	for _, c := range w.Store().Capacities.List() {
		text := fmt.Sprintf("%s %v %v", c.StorageClassName, c.NodeTopology.MatchLabels, c.Capacity)
		if c.MaximumVolumeSize != nil {
			text += " at most " + c.MaximumVolumeSize.String()
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func TestCapacities(t *testing.T) {
	const a, b = "fast map[" + zone + ":a] 10Gi", "fast map[" + zone + ":b] 10Gi"
	both := []string{a, b}
	start := func(more ...api.Object) []api.Object {
		return append(append(inZones(), tracking(true), class(delayed)), more...)
	}
	foreign := func(name, namespace string, labels map[string]string) *storagev1.CSIStorageCapacity {
		return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "foreign", Labels: labels},
			StorageClassName: "fast", NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{zone: "z"}}, Capacity: ptr(resource.MustParse("1Gi"))}
	}
	ours := map[string]string{"csi.storage.k8s.io/drivername": driverName, "csi.storage.k8s.io/managed-by": "external-provisioner"}
	tests := []struct {
		rule, name string
		objects    []api.Object
		do         func(*fixture, *pool) // then a second passes
		want       []string
	}{
		{rule: "XPROV-060", name: "the CSIDriver does not ask", objects: append(inZones(), tracking(false), class(delayed))},
		{rule: "XPROV-060", name: "there is no CSIDriver", objects: append(inZones(), class(delayed))},
		{rule: "XPROV-060", name: "the CSIDriver asks later", objects: append(inZones(), tracking(false), class(delayed)),
			do: func(w *fixture, _ *pool) { w.Load(tracking(true)) }, want: both},
		{rule: "XPROV-061", name: "a segment for each zone", objects: start(node("n3", map[string]string{zone: "a"}), csiNode("n3", zone)), want: both},
		{rule: "XPROV-061", name: "a node without the label", objects: start(node("n3", nil), csiNode("n3", zone)), want: both},
		{rule: "XPROV-061", name: "a node without the driver", objects: start(node("n3", map[string]string{zone: "c"})), want: both},
		{rule: "XPROV-061", name: "a label comes later", objects: start(node("n3", nil), csiNode("n3", zone)),
			do: func(w *fixture, _ *pool) { w.Load(node("n3", map[string]string{zone: "c"})) }, want: append(both, "fast map["+zone+":c] 10Gi")},
		{rule: "XPROV-062", name: "a class with Immediate", objects: append(inZones(), tracking(true), class())},
		{rule: "XPROV-062", name: "a class of another driver", objects: append(inZones(), tracking(true), class(delayed,
			func(c *storagev1.StorageClass) { c.Provisioner = "other.example.com" }))},
		{rule: "XPROV-062", name: "a second class", objects: start(class(delayed, func(c *storagev1.StorageClass) { c.Name, c.UID = "slow", "slow-uid" })),
			want: append(both, strings.Replace(a, "fast", "slow", 1), strings.Replace(b, "fast", "slow", 1))},
		{rule: "XPROV-063", name: "an error is retried after a second", objects: start(),
			do: func(w *fixture, d *pool) { d.fails = 2; w.Load(class(delayed)) }, want: both},
		{rule: "XPROV-064", name: "the largest volume", objects: start(),
			do:   func(w *fixture, d *pool) { d.used["largest"] = 1 << 30; w.Advance(time.Minute) },
			want: []string{a + " at most 1Gi", b + " at most 1Gi"}},
		{rule: "XPROV-065", name: "less after less than a minute", objects: start(),
			do: func(w *fixture, d *pool) { d.used["a"] = 1 << 30; w.Advance(50 * time.Second) }, want: both},
		{rule: "XPROV-065", name: "less after a minute", objects: start(),
			do:   func(w *fixture, d *pool) { d.used["a"] = 1 << 30; w.Advance(time.Minute) },
			want: []string{"fast map[" + zone + ":a] 9Gi", b}},
		{rule: "XPROV-065", name: "a new volume", objects: start(),
			do: func(w *fixture, d *pool) { d.used["a"], d.used["b"] = 1<<30, 1<<30; w.Load(wantedClaim(onNode("n1"))) },
			// The volume is in zone a, so only that one is asked for.
			want: []string{"fast map[" + zone + ":a] 9Gi", b}},
		{rule: "XPROV-065", name: "no new volume", objects: start(),
			do: func(w *fixture, d *pool) {
				d.used["a"], d.used["b"] = 1<<30, 1<<30
				d.creates = repeat(storage.Errorf(storage.ResourceExhausted, "full"), 1)
				w.Load(wantedClaim(onNode("n1")))
			},
			want: []string{"fast map[" + zone + ":a] 9Gi", "fast map[" + zone + ":b] 9Gi"}},
		{rule: "XPROV-066", name: "the class is deleted", objects: start(), do: func(w *fixture, _ *pool) { w.Delete(api.StorageClass, "fast") }},
		{rule: "XPROV-066", name: "the last node of a zone is deleted", objects: start(), do: func(w *fixture, _ *pool) { w.Delete(api.Node, "n2") },
			want: []string{a}},
		{rule: "XPROV-066", name: "one of another manager", objects: start(foreign("x", "kube-system", nil)),
			want: append(both, "fast map["+zone+":z] 1Gi")},
		{rule: "XPROV-066", name: "one of another namespace", objects: start(foreign("x", "other", ours)), want: append(both, "fast map["+zone+":z] 1Gi")},
		{rule: "XPROV-066", name: "one that is not needed", objects: start(foreign("x", "kube-system", ours)), want: both},
		{rule: "XPROV-066", name: "all are deleted by someone", objects: start(), do: func(w *fixture, _ *pool) {
			for _, c := range w.Store().Capacities.List() {
				w.Delete(api.CSIStorageCapacity, api.KeyOf(c))
			}
		}, want: both},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &pool{driver: driver{topology: true, response: func(req storage.CreateRequest, v *storage.Volume) { v.Topology = req.Preferred[:1] }},
				used: map[string]int64{}}
			w := newProvisionerFixture(t, d, setup{}, test.objects...)
			w.Advance(5 * time.Second)
			if test.do != nil {
				test.do(w, d)
				w.Advance(time.Second)
			}
			slices.Sort(test.want)
			require.Equal(t, test.want, w.stored())
		})
	}
}

// XPROV-064: what an object has, and XPROV-063 what the driver is asked.
func TestCapacityObject(t *testing.T) {
	d := &pool{driver: driver{topology: true}, used: map[string]int64{}}
	w := newProvisionerFixture(t, d, setup{}, append(inZones()[:3:3], tracking(true), class(delayed, func(c *storagev1.StorageClass) {
		c.Parameters = map[string]string{"pool": "ssd", "csi.storage.k8s.io/fstype": "xfs"}
	}))...)
	w.Advance(5 * time.Second)
	require.Len(t, d.asked, 3, "XPROV-062: three tasks at the start")
	require.Equal(t, storage.CapacityRequest{Segment: storage.Segment{zone: "a"},
		Parameters: map[string]string{"pool": "ssd", "csi.storage.k8s.io/fstype": "xfs"}}, d.asked[0], "XPROV-063: all parameters")
	list := w.Store().Capacities.List()
	require.Len(t, list, 1)
	require.Equal(t, "kube-system", list[0].Namespace, "XPROV-064")
	require.Regexp(t, "^csisc-.....$", list[0].Name, "XPROV-064")
	require.Equal(t, map[string]string{"csi.storage.k8s.io/drivername": driverName, "csi.storage.k8s.io/managed-by": "external-provisioner"},
		list[0].Labels, "XPROV-064")
	version := list[0].ResourceVersion
	w.Advance(3 * time.Minute)
	require.Len(t, d.asked, 6, "XPROV-065: every minute")
	require.Equal(t, version, w.Store().Capacities.List()[0].ResourceVersion, "XPROV-064: the same answer changes nothing")
	for range 2 { // a crash forgets which objects there are, and finds them again
		provisioner, _ := w.Engine.Actor(actorName)
		provisioner.Crash()
		provisioner.Start()
		w.Advance(time.Minute)
	}
	require.Equal(t, version, w.Store().Capacities.List()[0].ResourceVersion, "XPROV-066: existing objects are used again")
}

// XPROV-067: the client writes once per second after a burst of five.
func TestCapacityWritesLimited(t *testing.T) {
	d := &pool{driver: driver{topology: true}, used: map[string]int64{}}
	objs := []api.Object{tracking(true), class(delayed)}
	for i := range 8 {
		name := fmt.Sprint("n", i)
		objs = append(objs, node(name, map[string]string{zone: name}), csiNode(name, zone))
	}
	w := newProvisionerFixture(t, d, setup{}, objs...)
	require.Len(t, w.stored(), 5)
	w.Advance(time.Second)
	require.Len(t, w.stored(), 6)
	w.Advance(2 * time.Second)
	require.Len(t, w.stored(), 8)
}

// XPROV-068: without topology the object is deleted as soon as it is seen, and created again every minute.
func TestCapacityWithoutTopology(t *testing.T) {
	d := &pool{used: map[string]int64{}}
	w := newProvisionerFixture(t, d, setup{}, node("n1", nil), csiNode("n1"), tracking(true), class(delayed))
	w.Advance(150 * time.Second)
	require.Empty(t, w.stored())
	var verbs []string
	for entry := range w.Trace().Entries() {
		if entry.Type == trace.Write && entry.Object.Kind == api.CSIStorageCapacity {
			verbs = append(verbs, entry.Verb)
		}
	}
	require.Equal(t, []string{"create", "create", "create", "delete", "delete", "delete", "create", "delete", "create", "delete"}, verbs)
}
