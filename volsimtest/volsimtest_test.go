package volsimtest_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
	"github.com/volsim/volsim/volsimtest"
)

func TestSmallestVolumeWins(t *testing.T) {
	for _, tt := range []struct{ request, want string }{
		{"10Gi", "snug"}, {"12Gi", "snug"}, {"50Gi", "huge"}, {"200Gi", ""},
	} {
		c := volsimtest.New(t)
		c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"))
		c.Settle()
		c.Create(fake.Claim("data", tt.request))
		c.Settle()
		require.Equal(t, tt.want, c.Claim("data").Spec.VolumeName, tt.request)
	}
}

// A claim that is created together with its volumes is synced when the controller has seen only the first of them: volumes and claims
// have a queue each. So Settle says to create them one after the other.
func TestCreatedTogether(t *testing.T) {
	c := volsimtest.New(t)
	c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"), fake.Claim("data", "10Gi"))
	c.Settle()
	require.Equal(t, "huge", c.Claim("data").Spec.VolumeName)
}

// TestMethods calls what the other tests do not.
func TestMethods(t *testing.T) {
	c := volsimtest.New(t)
	c.Apply("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
	pv := fake.Volume("pv", "1Gi")
	c.Load(pv)
	c.Patch(pv, `{"metadata":{"labels":{"a":"b"}}}`)
	pv.Labels["a"] = "c"
	c.Update(pv)
	pv.Status.Message = "hello"
	c.UpdateStatus(pv)
	c.PatchStatus(pv, `{"status":{"reason":"none"}}`)
	require.Equal(t, corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, Message: "hello", Reason: "none"}, c.Volume("pv").Status)
	require.Equal(t, "c", c.Volume("pv").Labels["a"])
	c.Create(fake.Pod("web", fake.OnNode("n1")))
	c.Until(func() bool { return c.Pod("web").Status.Phase == corev1.PodRunning }, time.Minute)
	require.Equal(t, "pod/default/web", c.Explain("pod/web").Object)
	require.True(t, c.Node("n1").Running())
	now := int64(0)
	c.DeleteWith(fake.Pod("web"), api.DeleteOptions{GracePeriodSeconds: &now})
	c.Delete(pv)
	c.Crash("kube-scheduler")
	c.Restart("kube-scheduler")
	c.Advance(time.Minute)
	require.Len(t, volsim.List[*corev1.PersistentVolume](c.Cluster), 0)
}

// recorder is a test that records how it ends.
type recorder struct {
	testing.TB
	failed   bool
	log      []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Failed() bool      { return r.failed }
func (r *recorder) Logf(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any) {
	r.Errorf("%s", fmt.Sprint(args...))
	runtime.Goexit()
}

// record runs a test and returns what it logged; failed reports whether it failed.
func record(test func(t testing.TB)) (log string, failed bool) {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, fn := range slices.Backward(r.cleanups) {
				fn()
			}
		}()
		test(r)
	}()
	<-done
	return strings.Join(r.log, "\n"), r.failed
}

// TestFailureReport: a test that fails logs the objects that it used, why they are in their state, and what happened to them.
func TestFailureReport(t *testing.T) {
	log, failed := record(func(t testing.TB) {
		c := volsimtest.New(t)
		c.Create(fake.Volume("tiny", "1Gi"))
		c.Create(fake.Claim("data", "10Gi"))
		c.Settle()
		if phase := c.Claim("data").Status.Phase; phase != corev1.ClaimBound {
			t.Errorf("the claim is %s, want Bound", phase)
		}
	})
	require.True(t, failed)
	for _, want := range []string{
		"the claim is Pending, want Bound",
		"At 2026-01-01 00:00:00 of virtual time:",
		"# PersistentVolume/tiny",
		"# PersistentVolumeClaim/default/data\nmetadata:\n",
		"  phase: Pending\n",
		"no volume fits, and it has no storage class that could create one (BIND-058)",
		"capacity 1Gi, needs at least 10Gi (MATCH-011)",
		"The last lines of the trace about it:\n",
		"create PersistentVolumeClaim/default/data: created",
	} {
		require.Contains(t, log, want)
	}
}

// TestReportedObjects: the object that the test asked about comes first, then those that it wrote and whose state has an explanation, then
// others. Objects that clients wrote are among them. Of an object that is gone the trace says who deleted it.
func TestReportedObjects(t *testing.T) {
	for name, row := range map[string]struct {
		test func(c *volsimtest.Cluster)
		want []string
	}{
		"asked about, before nodes": {
			func(c *volsimtest.Cluster) {
				c.Create(fake.Claim("data", "1Gi"), fake.Node("n1"), fake.Node("n2"))
				c.Claim("data")
			},
			[]string{"PersistentVolumeClaim/default/data", "Node/n2", "Node/n1"},
		},
		"written": {
			func(c *volsimtest.Cluster) {
				c.Create(fake.Claim("data", "1Gi"), fake.Node("n1"), fake.Node("n2"), fake.Node("n3"))
			},
			[]string{"PersistentVolumeClaim/default/data", "Node/n3", "Node/n2"},
		},
		"asked why": {
			func(c *volsimtest.Cluster) {
				c.Create(fake.Claim("a", "1Gi"), fake.Claim("b", "1Gi"))
				c.Explain("pvc/a")
			},
			[]string{"PersistentVolumeClaim/default/a", "PersistentVolumeClaim/default/b"},
		},
		"written by a client": {
			func(c *volsimtest.Cluster) {
				claim := fake.Claim("data", "1Gi")
				claim.Namespace = "default"
				e := internals.Engine(c.Cluster)
				_, err := e.API().Create(e.Client("mine"), claim, store.CreateOptions{})
				require.NoError(t, err)
			},
			[]string{"PersistentVolumeClaim/default/data"},
		},
		"gone": {
			func(c *volsimtest.Cluster) {
				c.Create(fake.Node("n1"), fake.Pod("web", fake.OnNode("n1")))
				c.Delete(fake.Pod("web"))
				c.Advance(time.Minute)
				c.Pod("web")
			},
			[]string{"Pod/default/web\npods \"web\" not found\n\nThe last lines of the trace about it:\n", "Node/n1"},
		},
	} {
		log, _ := record(func(t testing.TB) {
			row.test(volsimtest.New(t))
			t.Errorf("no")
		})
		reported := strings.Split(log, "\n# ")[1:]
		require.Len(t, reported, len(row.want), "%s: %s", name, log)
		for i, want := range row.want {
			require.Equal(t, want, reported[i][:min(len(want), len(reported[i]))], "%s: %s", name, log)
		}
	}
}

// TestOneReport: of several clusters of a test only the newest one reports.
func TestOneReport(t *testing.T) {
	log, _ := record(func(t testing.TB) {
		for range 3 {
			volsimtest.New(t).Create(fake.Claim("data", "10Gi"))
		}
		t.Errorf("no")
	})
	require.Equal(t, 1, strings.Count(log, "of virtual time:"))
}

// TestFailedCall: a call that fails ends the test there.
func TestFailedCall(t *testing.T) {
	after := false
	log, failed := record(func(t testing.TB) {
		c := volsimtest.New(t)
		c.Create(fake.Claim("data", "10Gi"))
		c.Create(fake.Claim("data", "20Gi"))
		after = true
	})
	require.True(t, failed)
	require.False(t, after)
	require.Contains(t, log, `create PersistentVolumeClaim/default/data: persistentvolumeclaims "data" already exists`)
	require.Contains(t, log, "storage: 10Gi")

	log, failed = record(func(t testing.TB) { volsimtest.New(t).Claim("none") })
	require.True(t, failed)
	require.Contains(t, log, `persistentvolumeclaims "none" not found`)
	_, failed = record(func(t testing.TB) { volsimtest.New(t, volsim.Config{Latency: -1}) })
	require.True(t, failed)
	_, failed = record(func(t testing.TB) { volsimtest.New(t, volsim.Config{}, volsim.Config{}) })
	require.True(t, failed)
	log, failed = record(func(t testing.TB) { volsimtest.New(t).Crash("none") })
	require.True(t, failed)
	require.Contains(t, log, `crash "none"`)
	require.Contains(t, log, "The last lines of the trace:\n")
}

// TestViolationsFailTheTest: a violation is an error at the end of the test, unless a user forced it or nothing is checked.
func TestViolationsFailTheTest(t *testing.T) {
	lost := check.Invariant{
		Name: "no-lost-claims", Description: "no claim is ever Lost",
		Watch: func(v *check.View) check.Watcher {
			return check.Watcher{Written: func(e trace.Entry) {
				if claim, ok := e.New.(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimLost {
					v.Report("claim "+e.Object.Key+" is Lost", e)
				}
			}}
		},
	}
	for _, tt := range []struct {
		name   string
		check  []check.Invariant
		failed bool
	}{
		{"those of every cluster", nil, false}, {"none", []check.Invariant{}, false}, {"one of its own", []check.Invariant{lost}, true},
	} {
		log, failed := record(func(t testing.TB) {
			c := volsimtest.New(t, volsim.Config{Check: tt.check})
			c.Create(fake.Volume("pv", "1Gi"), fake.Claim("data", "1Gi"))
			c.Settle()
			c.Patch(fake.Volume("pv", "1Gi"), `{"metadata":{"finalizers":null}}`)
			c.Delete(fake.Volume("pv", "1Gi"))
			c.Settle()
		})
		require.Equal(t, tt.failed, failed, "%s: %s", tt.name, log)
		if tt.failed {
			require.Contains(t, log, "an invariant was broken: ")
			require.Contains(t, log, "claim default/data is Lost")
		}
	}
}

// TestFaultRules: an invalid rule fails the test, and a failed test lists the rules that never applied.
func TestFaultRules(t *testing.T) {
	log, failed := record(func(t testing.TB) {
		c := volsimtest.New(t)
		c.Faults.Fail(fake.Match{Verb: "frobnicate"}, errors.New("no"))
	})
	require.True(t, failed)
	require.Contains(t, log, "invalid rules of Faults: ")
	require.Contains(t, log, "frobnicate")

	for _, fails := range []bool{false, true} {
		log, failed := record(func(t testing.TB) {
			c := volsimtest.New(t)
			c.Faults.Fail(fake.Match{Verb: "create", Kind: "Pod"}, errors.New("no"))
			c.Settle()
			if fails {
				t.Errorf("it fails")
			}
		})
		require.Equal(t, fails, failed)
		require.Equal(t, fails, strings.Contains(log, "Fault rules that never applied:\n"), log)
	}
}
