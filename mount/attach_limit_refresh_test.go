package mount

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// asked returns a fixture whose kubelet queries the driver every minute. The driver registered 0.69 s ago (MNT-366); the first query is due in
// 59.31 s.
func asked(t *testing.T, options ...func(*setup)) *fixture {
	t.Helper()
	period := int64(60)
	w := newFixture(t, append([]func(*setup){func(s *setup) {
		s.driver = []fake.MemoryOption{fake.AttachLimit(5)}
		s.object = func(d *storagev1.CSIDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = &period }
	}}, options...)...)
	w.Begin = w.Now().Add(310*time.Millisecond - time.Second)
	return w
}

// until lets time pass up to so many seconds after the start.
func (w *fixture) until(seconds float64) {
	w.Advance(w.Begin.Add(time.Duration(seconds * float64(time.Second))).Sub(w.Now()))
}

// setDriver changes the CSIDriver.
func (w *fixture) setDriver(change func(*storagev1.CSIDriver)) {
	w.T.Helper()
	d, err := w.Store().CSIDrivers.Get(driverName)
	w.OK(err)
	d = d.DeepCopy()
	change(d)
	_, err = w.Store().CSIDrivers.Update(d)
	w.OK(err)
}

func every(seconds int64) func(*storagev1.CSIDriver) {
	return func(d *storagev1.CSIDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = &seconds }
}

func (w *fixture) deleteDriver() {
	w.T.Helper()
	_, err := w.Store().CSIDrivers.Delete(driverName, api.DeleteOptions{})
	w.OK(err)
}

func (w *fixture) csiNode() *storagev1.CSINode {
	w.T.Helper()
	node, err := w.Store().CSINodes.Get(nodeName)
	w.OK(err)
	return node
}

// setCSINode changes the drivers of the CSINode.
func (w *fixture) setCSINode(change func([]storagev1.CSINodeDriver) []storagev1.CSINodeDriver) {
	w.T.Helper()
	node := w.csiNode().DeepCopy()
	node.Spec.Drivers = change(node.Spec.Drivers)
	_, err := w.Store().CSINodes.Update(node)
	w.OK(err)
}

// written returns the kubelet's writes of the CSINode: the time and the limit.
func (w *fixture) written() []string {
	var writes []string
	for e := range w.Since() {
		if e.Type != trace.Write || e.Err != nil || e.Actor != actors.Kubelet(nodeName) || e.Object.Kind != api.CSINode {
			continue
		}
		var drivers []string
		for _, d := range e.New.(*storagev1.CSINode).Spec.Drivers {
			limit := "any"
			if d.Allocatable != nil {
				limit = fmt.Sprint(*d.Allocatable.Count)
			}
			drivers = append(drivers, d.Name+"="+limit)
		}
		writes = append(writes, fmt.Sprintf("%v %s %s", e.Time.Sub(w.Begin), e.Verb, strings.Join(drivers, " ")))
	}
	return writes
}

// A kubelet queries a driver one period after the start and then every period, and writes only changes.
func TestLimitPeriod(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		run        func(w *fixture)
		want       []string
	}{
		{"MNT-359", "at the tick", func(w *fixture) { w.driver.SetAttachLimit("", 3) }, []string{"1m0s update d=3"}},
		{"MNT-359", "at the next tick", func(w *fixture) { w.until(61); w.driver.SetAttachLimit(nodeName, 3) }, []string{"2m0s update d=3"}},
		{"MNT-359", "no limit any more", func(w *fixture) { w.driver.SetAttachLimit("", -1) }, []string{"1m0s update d=any"}},
		{"MNT-359", "between two ticks", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(50)
			w.driver.SetAttachLimit("", 5)
		}, nil},
		{"MNT-359", "another node", func(w *fixture) { w.driver.SetAttachLimit("n2", 3) }, nil},
		{"MNT-359", "one tick is kept", func(w *fixture) {
			w.Faults.Slow(fake.Match{Verb: "get", Kind: string(api.CSINode)}, 150*time.Second).Once()
			w.driver.SetAttachLimit("", 3)
			w.until(70)
			w.driver.SetAttachLimit("", 4)
			w.until(215)
			w.driver.SetAttachLimit("", 6)
		}, []string{"3m30s update d=3", "3m30s update d=4", "4m0s update d=6"}},

		{"MNT-360", "another change of the CSIDriver", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.setDriver(func(d *storagev1.CSIDriver) { d.Spec.RequiresRepublish = new(bool) })
		}, []string{"1m0s update d=3"}},
		{"MNT-360", "another period", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.setDriver(every(40))
		}, []string{"1m10s update d=3"}},
		{"MNT-360", "longer than any clock", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.setDriver(every(1 << 62))
		}, nil},
		{"MNT-360", "no period any more", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.setDriver(func(d *storagev1.CSIDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = nil })
		}, nil},
		{"MNT-360", "the CSIDriver goes", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.deleteDriver()
		}, nil},
		{"MNT-360", "it comes back", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.deleteDriver()
			w.until(45)
			w.Create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName},
				Spec: storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: new(int64(20))}})
		}, []string{"1m5s update d=3"}},
		{"MNT-360", "the driver goes", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.node.Unregister(driverName)
		}, nil},
		{"MNT-360", "it registers again", func(w *fixture) {
			w.until(30)
			w.node.Unregister(driverName)
			w.until(45)
			w.node.Register(driverName)
			w.until(46)
			w.driver.SetAttachLimit("", 3)
		}, []string{"1m45s update d=3"}},
		{"MNT-362", "it registers again with another limit", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.node.Unregister(driverName)
			w.until(45)
			w.node.Register(driverName)
		}, []string{"45s update d=3"}},
		{"MNT-360", "the kubelet stops", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.node.Stop()
		}, nil},
		{"MNT-360", "it starts again", func(w *fixture) {
			w.until(30)
			w.node.Stop()
			w.until(45)
			w.node.Start()
			w.until(46)
			w.driver.SetAttachLimit("", 3)
		}, []string{"1m45s update d=3"}},
		{"MNT-362", "it starts again with another limit", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.until(30)
			w.node.Stop()
			w.until(45)
			w.node.Start()
		}, []string{"45s update d=3"}},
		{"MNT-360", "what is under way is brought to its end", func(w *fixture) {
			w.Faults.Slow(fake.Match{Verb: "get", Kind: string(api.CSINode)}, 100*time.Second).Once()
			w.driver.SetAttachLimit("", 3)
			w.until(61)
			w.deleteDriver()
			w.driver.SetAttachLimit("", 4)
		}, []string{"2m40s update d=3"}},

		{"MNT-361", "the third try but one", func(w *fixture) {
			w.Faults.Fail(fake.Match{Verb: "update", Kind: string(api.CSINode)}, errors.New("broken")).Times(3)
			w.driver.SetAttachLimit("", 3)
		}, []string{"1m0.31s update d=3"}},
		{"MNT-361", "no fifth try before the next tick", func(w *fixture) {
			w.Faults.Fail(fake.Match{Verb: "update", Kind: string(api.CSINode)}, errors.New("broken")).Times(4)
			w.driver.SetAttachLimit("", 3)
		}, []string{"2m0s update d=3"}},
		{"MNT-361", "cut off", func(w *fixture) {
			w.driver.SetAttachLimit("", 3)
			w.node.Partition(true)
			w.until(90)
			w.node.Partition(false)
		}, []string{"2m0s update d=3"}},
		{"MNT-361", "another component changes it", func(w *fixture) {
			w.setCSINode(func(d []storagev1.CSINodeDriver) []storagev1.CSINodeDriver { d[0].Allocatable = nil; return d })
		}, []string{"1m0s update d=5"}},
		{"MNT-361", "what changes comes last", func(w *fixture) {
			w.setCSINode(func(d []storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
				return append(d, storagev1.CSINodeDriver{Name: "other", NodeID: "x"})
			})
			w.driver.SetAttachLimit("", 3)
		}, []string{"1m0s update other=any d=3"}},
		{"MNT-361", "the driver is missing", func(w *fixture) {
			w.setCSINode(func([]storagev1.CSINodeDriver) []storagev1.CSINodeDriver { return nil })
		}, []string{"1m0s update d=5"}},
		{"MNT-361", "the CSINode is missing", func(w *fixture) {
			_, err := w.Store().CSINodes.Delete(nodeName, api.DeleteOptions{})
			w.OK(err)
		}, []string{"1m0s create ", "1m0s update d=5"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := asked(t)
			tc.run(w)
			w.until(300)
			want(t, tc.rule, w.written(), tc.want)
			want(t, "MNT-361: events", w.events(), nil)
		})
	}
}

// MNT-361: a CSINode that comes back belongs to the Node that the kubelet has known, also when there is none any more.
func TestLimitPeriodOwner(t *testing.T) {
	w := asked(t)
	owner := w.csiNode().OwnerReferences
	_, err := w.Store().Nodes.Delete(nodeName, deleteNow)
	w.OK(err)
	_, err = w.Store().CSINodes.Delete(nodeName, api.DeleteOptions{})
	w.OK(err)
	w.until(70)
	want(t, "MNT-361: owner", w.csiNode().OwnerReferences, owner)
	want(t, "MNT-361: ID", w.csiNode().Spec.Drivers[0].NodeID, nodeName)
}

// MNT-359: ticks that would find nothing new are skipped, except one that a fault may hit, and those of a driver that does not report
// when its limit changes.
func TestLimitPeriodIdle(t *testing.T) {
	quiet := func(w *fixture) bool {
		return !slices.ContainsFunc(w.Pending(), func(work string) bool { return strings.Contains(work, "limit of "+driverName) })
	}
	w := asked(t)
	want(t, "MNT-359: no timer", quiet(w), true)
	w.driver.SetAttachLimit("", 3)
	want(t, "MNT-359: a timer", quiet(w), false)
	w.until(61)
	want(t, "MNT-359: none again", quiet(w), true)
	w.Faults.Slow(fake.Match{Actor: actors.Kubelet(nodeName), Verb: "get", Kind: string(api.CSINode)}, time.Second).Once()
	w.until(119)
	want(t, "MNT-359: not before the tick", len(w.Faults.Unused()), 1)
	w.until(122)
	want(t, "MNT-359: at the tick", len(w.Faults.Unused()), 0)
	want(t, "MNT-359: no timer at the end", quiet(w), true)

	limit := int32(5)
	w = asked(t, func(s *setup) { s.wrap = func(d *fake.Memory) storage.Backend { return silent{d, &limit} } })
	want(t, "MNT-359: a driver that does not report changes is asked", quiet(w), false)
	limit = 3
	w.until(200)
	want(t, "MNT-359: silent", w.written(), []string{"1m0s update d=3"})

	w = newFixture(t)
	want(t, "MNT-360: no driver is asked", len(w.node.kubelet.registrar.limits), 0)
}

// silent is a driver whose limit changes without notification.
type silent struct {
	*fake.Memory
	limit *int32
}

func (s silent) AttachLimit(string) int32 { return *s.limit }
