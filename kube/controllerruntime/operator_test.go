package controllerruntime_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube/controllerruntime"
	"github.com/volsim/volsim/volsimtest"
)

var seeds = flag.Int("seeds", 8, "number of seeds with which TestDeterminism and TestCrashes run")

// labeler labels claims once they are bound.
type labeler struct {
	client.Client
	recorder events.EventRecorder
}

func (l *labeler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim corev1.PersistentVolumeClaim
	if err := l.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if claim.Status.Phase != corev1.ClaimBound || claim.Labels["bound"] != "" {
		return ctrl.Result{}, nil
	}
	claim.Labels = map[string]string{"bound": "yes"}
	if err := l.Update(ctx, &claim); err != nil {
		return ctrl.Result{}, err
	}
	l.recorder.Eventf(&claim, nil, corev1.EventTypeNormal, "Labeled", "Label", "the claim is bound")
	return ctrl.Result{}, nil
}

// owner makes a ConfigMap for each claim that is labeled, and notes its volume in it.
type owner struct{ client.Client }

func (o *owner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim corev1.PersistentVolumeClaim
	if err := o.Get(ctx, req.NamespacedName, &claim); err != nil || claim.Labels["bound"] == "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}}
	err := o.Get(ctx, client.ObjectKeyFromObject(note), note)
	if apierrors.IsNotFound(err) {
		note.Data = map[string]string{"volume": claim.Spec.VolumeName}
		if err := ctrl.SetControllerReference(&claim, note, o.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: time.Second}, client.IgnoreAlreadyExists(o.Create(ctx, note))
	}
	if err != nil || note.Annotations["seen"] != "" {
		return ctrl.Result{}, err
	}
	change := client.MergeFrom(note.DeepCopy())
	note.Annotations = map[string]string{"seen": "yes"}
	return ctrl.Result{}, o.Patch(ctx, note, change)
}

// both is an operator with two reconcilers.
func both(lag time.Duration) controllerruntime.Operator {
	return controllerruntime.Operator{Name: "both", Lag: lag, Setup: func(mgr manager.Manager) error {
		err := ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Named("labeler").
			Complete(&labeler{mgr.GetClient(), mgr.GetEventRecorder("labeler")})
		if err != nil {
			return err
		}
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Owns(&corev1.ConfigMap{}).Named("owner").
			Complete(&owner{mgr.GetClient()})
	}}
}

// bubble runs a test in a bubble.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// TestOperator: a manager reconciles what the controllers of the cluster write, in virtual time.
func TestOperator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, both(time.Minute))
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		c.Advance(30 * time.Second)
		require.Equal(t, corev1.ClaimBound, c.Claim("data").Status.Phase)
		require.Empty(t, c.Claim("data").Labels, "the operator has not seen yet that the claim is bound")
		c.Advance(5 * time.Minute)
		require.Equal(t, "yes", c.Claim("data").Labels["bound"])
		note, err := volsim.Get[*corev1.ConfigMap](c.Cluster, "data")
		require.NoError(t, err)
		require.Equal(t, "v", note.Data["volume"])
		require.Equal(t, "yes", note.Annotations["seen"])
	})
}

// run returns the trace of a cluster with thirty claims.
func run(t *testing.T, seed int64) string {
	var trace strings.Builder
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t, volsim.Config{Seed: seed, Latency: time.Duration(seed%3) * 10 * time.Millisecond})
		controllerruntime.Add(t, c.Cluster, both(time.Duration(seed%2)*100*time.Millisecond))
		for i := range 30 {
			c.Create(fake.Volume(fmt.Sprintf("v%d", i), "1Gi"), fake.Claim(fmt.Sprintf("data%d", i), "1Gi"))
		}
		c.Settle()
		c.Advance(time.Minute)
		for i := range 30 {
			require.Equal(t, "yes", c.Claim(fmt.Sprintf("data%d", i)).Labels["bound"])
		}
		require.NoError(t, c.Trace().WriteText(&trace))
	})
	return trace.String()
}

// TestDeterminism: two runs with one seed are identical, and runs with two seeds are not.
func TestDeterminism(t *testing.T) {
	for seed := range int64(*seeds) {
		first, second := run(t, seed), run(t, seed)
		require.Equal(t, first, second, "seed %d", seed)
		require.Contains(t, first, "create Event/default/data7.")
	}
	require.NotEqual(t, run(t, 1), run(t, 7))
}

// TestInformersOfOneKind: an operator has two informers of claims, one of which knows only metadata. The seed alone decides which one sees a
// change first.
func TestInformersOfOneKind(t *testing.T) {
	annotate := func(mgr manager.Manager, name string) reconcile.Reconciler {
		return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"first":%q}}}`, name)
			return ctrl.Result{}, mgr.GetClient().Patch(ctx, claim, client.RawPatch(types.MergePatchType, patch))
		})
	}
	created := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }})
	trace := func(seed int64) string {
		var trace strings.Builder
		bubble(t, func(t *testing.T) {
			c := volsimtest.New(t, volsim.Config{Seed: seed})
			controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: func(mgr manager.Manager) error {
				err := ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}, created).Named("typed").Complete(annotate(mgr, "typed"))
				if err != nil {
					return err
				}
				return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}, created, builder.OnlyMetadata).Named("metadata").
					Complete(annotate(mgr, "metadata"))
			}})
			c.Settle()
			for i := range 20 {
				c.Create(fake.Claim(fmt.Sprintf("data%d", i), "1Gi"))
				c.Settle()
			}
			require.NoError(t, c.Trace().WriteText(&trace))
		})
		return trace.String()
	}
	for seed := range int64(*seeds) {
		first := trace(seed)
		for range 3 {
			require.Equal(t, first, trace(seed), "seed %d", seed)
		}
	}
}

// TestOrders: without latency and lag, the operator updates a claim before or after the PersistentVolume controller, as the seed chooses. With seed 0
// it comes after everything else of that instant.
func TestOrders(t *testing.T) {
	// first reports whether the update of the operator is the first one.
	first := func(seed int64) (first bool) {
		bubble(t, func(t *testing.T) {
			c := volsimtest.New(t, volsim.Config{Seed: seed})
			controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: func(mgr manager.Manager) error {
				return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Named("labels").
					Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
						var claim corev1.PersistentVolumeClaim
						if err := mgr.GetClient().Get(ctx, req.NamespacedName, &claim); err != nil || claim.Labels["a"] != "" {
							return ctrl.Result{}, err
						}
						claim.Labels = map[string]string{"a": "b"}
						return ctrl.Result{}, mgr.GetClient().Update(ctx, &claim)
					}))
			}})
			c.Create(fake.Volume("v", "1Gi"))
			c.Settle()
			c.Create(fake.Claim("data", "1Gi"))
			c.Settle()
			require.Equal(t, corev1.ClaimBound, c.Claim("data").Status.Phase)
			for e := range c.Trace().Entries() {
				if e.Object.Kind == "PersistentVolumeClaim" && e.Verb == "update" {
					first = e.Actor == "mine"
					return
				}
			}
		})
		return first
	}
	require.False(t, first(0))
	orders := map[bool]int{}
	for seed := range int64(60) {
		orders[first(seed+1)]++
		if len(orders) == 2 {
			return
		}
	}
	t.Errorf("the operator is the first in one order only: %v", orders)
}

// TestCrashes: the operator crashes after each number of steps, and finishes its work after the restart.
func TestCrashes(t *testing.T) {
	for seed := range int64(*seeds) {
		bubble(t, func(t *testing.T) {
			c := volsimtest.New(t, volsim.Config{Seed: seed, Latency: 10 * time.Millisecond})
			controllerruntime.Add(t, c.Cluster, both(0))
			c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
			for range 4 * seed {
				c.Step()
			}
			c.Crash("both")
			c.Advance(time.Second)
			c.Restart("both")
			c.Advance(time.Minute)
			require.Equal(t, "yes", c.Claim("data").Labels["bound"], "seed %d", seed)
			note, err := volsim.Get[*corev1.ConfigMap](c.Cluster, "data")
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, "yes", note.Annotations["seen"])
		})
	}
}

// TestEnds: an operator can end at any time, also before its caches have synced, which those of an index wait for, and while it watches
// metadata.
func TestEnds(t *testing.T) {
	setup := func(mgr manager.Manager) error {
		keys := func(client.Object) []string { return nil }
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.PersistentVolumeClaim{}, "key", keys); err != nil {
			return err
		}
		further, err := cluster.New(mgr.GetConfig())
		if err != nil {
			return err
		}
		if err := further.GetFieldIndexer().IndexField(context.Background(), &corev1.PersistentVolumeClaim{}, "key", keys); err != nil {
			return err
		}
		if err := mgr.Add(further); err != nil {
			return err
		}
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).
			WatchesMetadata(&corev1.Secret{}, &handler.EnqueueRequestForObject{}).
			Complete(&labeler{mgr.GetClient(), mgr.GetEventRecorder("labeler")})
	}
	for name, test := range map[string]func(*testing.T, *volsimtest.Cluster){
		"at once": func(*testing.T, *volsimtest.Cluster) {},
		"after its work": func(_ *testing.T, c *volsimtest.Cluster) {
			c.Settle()
		},
		"with a crash at once": func(_ *testing.T, c *volsimtest.Cluster) {
			c.Crash("mine")
		},
		"with a crash at once, and it starts again": func(t *testing.T, c *volsimtest.Cluster) {
			c.Crash("mine")
			c.Restart("mine")
			c.Advance(time.Minute)
			require.Equal(t, "yes", c.Claim("data").Labels["bound"])
		},
		"with two crashes": func(_ *testing.T, c *volsimtest.Cluster) {
			c.Settle()
			c.Crash("mine")
			c.Restart("mine")
			c.Crash("mine")
		},
		"after a crash and a restart": func(_ *testing.T, c *volsimtest.Cluster) {
			c.Crash("mine")
			c.Restart("mine")
		},
	} {
		for range 3 {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := volsimtest.New(t, volsim.Config{Latency: 10 * time.Millisecond})
					controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: setup})
					c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
					test(t, c)
				})
			})
		}
	}
}

// TestRunnables: what a manager adds runs with the manager, not after the end of its life; webhooks are not served; a controller with a warmup
// starts; and a reconciler that is slow to end does not fail the test.
func TestRunnables(t *testing.T) {
	for name, row := range map[string]struct {
		crash   bool // before the caches have synced
		started bool
	}{
		"that start":               {started: true},
		"of a life that has ended": {crash: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var ran, started, reconciled bool
				c := volsimtest.New(t)
				c.Create(fake.Claim("data", "1Gi"))
				controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: func(mgr manager.Manager) error {
					err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.ConfigMap{}, "key", func(client.Object) []string { return nil })
					if err != nil {
						return err
					}
					mgr.GetWebhookServer().Register("/mutate", http.NotFoundHandler())
					err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
						ran = true
						return nil
					}))
					if err != nil {
						return err
					}
					return ctrl.NewControllerManagedBy(mgr).Named("slow").
						WatchesRawSource(source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
							started = true
							return nil
						})).
						For(&corev1.PersistentVolumeClaim{}).WithOptions(controller.Options{EnableWarmup: new(true)}).
						Complete(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
							time.Sleep(time.Hour)
							reconciled = true
							return ctrl.Result{}, nil
						}))
				}})
				if row.crash {
					c.Crash("mine")
				}
				c.Advance(time.Minute)
				require.Equal(t, row.started, ran)
				require.Equal(t, row.started, started)
				require.False(t, reconciled)
			})
		})
	}
}

// TestFaults: requests of the operator match fault rules.
func TestFaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, both(0))
		refused := c.Faults.Fail(fake.Match{Actor: "both", Verb: "update"}, fmt.Errorf("connection refused")).Once()
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		c.Settle()
		require.Equal(t, "yes", c.Claim("data").Labels["bound"])
		require.Equal(t, 1, refused.Fired())
	})
}

// TestManagerInTest: the client of a manager works in the goroutine of the test. It reads what the cache has, and an error says that it has nothing yet.
func TestManagerInTest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		var mgr manager.Manager
		controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Lag: time.Second, Setup: func(m manager.Manager) error {
			mgr = m
			return nil
		}})
		c.Settle()
		api := mgr.GetClient()
		note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "note"}}
		require.NoError(t, api.Create(t.Context(), note))
		require.NoError(t, mgr.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(note), note))
		const unknown = `the cache of operator "mine" does not have these objects yet; let time pass and read again, or read with a client of NewClient: `
		require.ErrorContains(t, api.Get(t.Context(), client.ObjectKeyFromObject(note), note), unknown)
		require.ErrorContains(t, api.List(t.Context(), &corev1.SecretList{}), unknown)
		_, err := mgr.GetCache().GetInformer(t.Context(), &corev1.Pod{})
		require.ErrorContains(t, err, unknown)
		require.False(t, mgr.GetCache().WaitForCacheSync(t.Context()))
		c.Advance(time.Minute)
		require.True(t, mgr.GetCache().WaitForCacheSync(t.Context()))
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(note), note))
		note.Data = map[string]string{"a": "b"}
		require.NoError(t, api.Update(t.Context(), note))
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(note), note))
		require.Empty(t, note.Data, "the cache is a second late")
		c.Advance(time.Minute)
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(note), note))
		require.Equal(t, "b", note.Data["a"])
	})
}

// TestSettleAgain: Settle lets the operator see the last write, also when nothing else is left to do.
func TestSettleAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, both(0))
		c.Settle()
		for _, name := range []string{"first", "second"} {
			claim := fake.Claim(name, "1Gi", fake.Labels("bound", "yes"))
			c.Create(claim)
			c.Settle()
			_, err := volsim.Get[*corev1.ConfigMap](c.Cluster, name)
			require.NoError(t, err, "%s at %v", name, c.Now())
		}
	})
}

// noter applies a ConfigMap for each claim, and emits Events about the claim: two of one sort, so that they become a series.
type noter struct {
	client.Client
	recorder events.EventRecorder
}

func (n *noter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim corev1.PersistentVolumeClaim
	if err := n.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, reason := range []string{"A", "B", "C", "D"} {
		n.recorder.Eventf(&claim, nil, corev1.EventTypeNormal, reason, "Note", "noted")
	}
	note := corev1apply.ConfigMap(claim.Name, claim.Namespace).WithData(map[string]string{"volume": claim.Spec.VolumeName})
	return ctrl.Result{RequeueAfter: time.Minute}, n.Apply(ctx, note, client.FieldOwner("noter"))
}

func noting(name string) controllerruntime.Operator {
	return controllerruntime.Operator{Name: name, Setup: func(mgr manager.Manager) error {
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Named("noter").
			Complete(&noter{mgr.GetClient(), mgr.GetEventRecorder("noter")})
	}}
}

// TestAppliedFields: what an operator applies is its own, also with other clients of the cluster, with a second operator, and after a crash. An apply
// that changes nothing is no write.
func TestAppliedFields(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, noting("first"))
		controllerruntime.Add(t, c.Cluster, noting("second"))
		other, err := controllerruntime.NewClient(c.Cluster, client.Options{})
		require.NoError(t, err)
		c.Create(fake.Claim("data", "1Gi"))
		c.Settle()
		c.Crash("second")
		c.Restart("second")
		c.Advance(3 * time.Minute)
		note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
		require.NoError(t, other.Get(t.Context(), client.ObjectKeyFromObject(note), note))
		require.Len(t, note.ManagedFields, 1)
		require.Equal(t, metav1.ManagedFieldsOperationApply, note.ManagedFields[0].Operation)
		require.Equal(t, "noter", note.ManagedFields[0].Manager)
		change := corev1apply.ConfigMap("data", "default").WithData(map[string]string{"volume": "other"})
		require.ErrorContains(t, other.Apply(t.Context(), change, client.FieldOwner("other")), `conflict with "noter": .data.volume`)
	})
}

// TestPolicyWithoutClients: policies review what the simulated controllers write also if the operator is the only client (API-429).
func TestPolicyWithoutClients(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, both(0))
		c.Apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}
  validations: [{expression: "false", message: no pods}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
`)
		c.Advance(time.Minute)
		require.Empty(t, c.Pods.List())
	})
}

// TestSeries: the Events that a recorder has kept as series are written in the same order each time, while the reconciler emits more.
func TestSeries(t *testing.T) {
	run := func() (text string) {
		bubble(t, func(t *testing.T) {
			c := volsimtest.New(t, volsim.Config{Latency: 10 * time.Millisecond})
			controllerruntime.Add(t, c.Cluster, noting("mine"))
			c.Create(fake.Claim("data", "1Gi"))
			c.Advance(65 * time.Minute) // recorders write series every 30 minutes, and end them after 6 minutes
			var trace strings.Builder
			require.NoError(t, c.Trace().WriteText(&trace))
			text = trace.String()
		})
		return text
	}
	first := run()
	require.Contains(t, first, "series.count 2 -> ")
	for range 4 {
		require.Equal(t, first, run())
	}
}

// failing is a test that has failed, and records what it logs.
type failing struct {
	testing.TB
	log *[]string
}

func (f failing) Failed() bool { return true }

func (f failing) Logf(format string, args ...any) {
	*f.log = append(*f.log, fmt.Sprintf(format, args...))
}

// TestLoggedErrors: a test that fails logs the last errors of an operator without a logger, each once. What an operator emits when it crashes is no
// error.
func TestLoggedErrors(t *testing.T) {
	var log []string
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(failing{t, &log}, c.Cluster, both(0))
		c.Faults.Fail(fake.Match{Actor: "both", Verb: "update"}, fmt.Errorf("connection refused")).Times(3)
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		c.Advance(time.Minute)
		require.Equal(t, "yes", c.Claim("data").Labels["bound"])
	})
	require.Len(t, log, 1)
	lines := strings.Split(log[0], "\n")
	require.Equal(t, `The last errors that operator "both" logged:`, lines[0])
	require.Len(t, lines, 2)
	require.Regexp(t, `^00:00:0\d "msg"="Reconciler error" "error"=".*connection refused" "controller"="labeler" .* "name"="data"$`, lines[1])
}

// TestEventsOfCrash: recorders write no error to the log of client-go when their operator crashes before its Events are sent.
func TestEventsOfCrash(t *testing.T) {
	var out strings.Builder
	klog.LogToStderr(false)
	klog.SetOutput(&out)
	defer func() {
		klog.Flush()
		klog.SetOutput(nil)
		klog.LogToStderr(true)
	}()
	emits := func(mgr manager.Manager) error {
		old, recorder := mgr.GetEventRecorderFor("old"), mgr.GetEventRecorder("new") //nolint:staticcheck // operators use both
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Named("emits").
			Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
				var claim corev1.PersistentVolumeClaim
				if err := mgr.GetClient().Get(ctx, req.NamespacedName, &claim); err != nil {
					return ctrl.Result{}, err
				}
				old.Event(&claim, corev1.EventTypeNormal, "A", "old")
				recorder.Eventf(&claim, nil, corev1.EventTypeNormal, "B", "Emit", "new")
				claim.Labels = map[string]string{"a": "b"}
				return ctrl.Result{}, mgr.GetClient().Update(ctx, &claim)
			}))
	}
	bubble(t, func(t *testing.T) {
		c := volsimtest.New(t, volsim.Config{Latency: 10 * time.Millisecond})
		controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: emits})
		crash := c.Faults.Crash(fake.Match{Actor: "mine", Verb: "update"}, time.Hour).Once()
		c.Create(fake.Claim("data", "1Gi"))
		c.Advance(time.Minute)
		require.Equal(t, 1, crash.Fired())
	})
	klog.Flush()
	require.NotContains(t, out.String(), "Unable to write event")
}

// fatal is a test that records the text with which it ends.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// TestAddOutsideOfBubble: the error says what is missing, instead of a panic of testing/synctest.
func TestAddOutsideOfBubble(t *testing.T) {
	c := volsimtest.New(t)
	f := &fatal{TB: t}
	require.PanicsWithValue(t, f, func() {
		controllerruntime.Add(f, c.Cluster, controllerruntime.Operator{Name: "mine", Setup: func(manager.Manager) error { return nil }})
	})
	require.Equal(t, `controllerruntime.Add: operator "mine" is not in a bubble; put the test into synctest.Test of testing/synctest`, f.text)
}
