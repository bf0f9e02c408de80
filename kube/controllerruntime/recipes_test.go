package controllerruntime_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube/controllerruntime"
	"github.com/volsim/volsim/volsimtest"
)

// The tests of this file are the recipes of docs/operators.md.

// TestCheapestPath: a fake client with volumes that live.
func TestCheapestPath(t *testing.T) {
	ctx, scheme, volume, claim := t.Context(), scheme.Scheme, fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi")
	c := controllerruntime.Wrap(t, fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(volume).Build())
	require.NoError(t, c.Create(ctx, claim))
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(claim), claim))
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	c.Cluster.Advance(time.Hour) // virtual time
}

// TestRaces: an operator crashes after each number of steps, in another order each time.
func TestRaces(t *testing.T) {
	setup := both(0).Setup
	for seed := range int64(*seeds) { // 1,000, for example
		synctest.Test(t, func(t *testing.T) {
			c := volsimtest.New(t, volsim.Config{Seed: seed, Latency: 10 * time.Millisecond})
			controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "mine", Lag: time.Second, Setup: setup})
			c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
			for range seed { // crash after another number of steps each time
				c.Step()
			}
			c.Crash("mine")
			c.Restart("mine")
			c.Advance(time.Minute)
			require.Equal(t, "yes", c.Claim("data").Labels["bound"], "seed %d", seed)
		})
	}
}

// cleaner deletes the claim of an application that is gone.
type cleaner struct {
	client.Client
	careful bool
}

func (r *cleaner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &app); !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	var claim corev1.PersistentVolumeClaim
	if err := r.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var opts []client.DeleteOption
	if r.careful {
		opts = append(opts, client.Preconditions{UID: &claim.UID})
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, &claim, opts...))
}

// TestStaleRead: an operator whose cache is a minute late acts on an application of the past. With a precondition it does no harm.
func TestStaleRead(t *testing.T) {
	app := func() *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "db"}} }
	for _, careful := range []bool{false, true} {
		setup := func(mgr manager.Manager) error {
			return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.PersistentVolumeClaim{}).Named("cleaner").Complete(&cleaner{mgr.GetClient(), careful})
		}
		synctest.Test(t, func(t *testing.T) {
			c := volsimtest.New(t)
			controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "cleaner", Lag: time.Minute, Setup: setup})
			c.Create(app(), fake.Claim("db", "1Gi"))
			c.Advance(5 * time.Minute) // the cache has both
			c.Delete(app())
			c.Advance(10 * time.Second)
			c.Delete(c.Claim("db"))
			c.Advance(10 * time.Second)
			c.Create(app(), fake.Claim("db", "1Gi")) // the user starts again
			c.Advance(5 * time.Minute)
			_, err := c.Claims.Get("default/db")
			require.Equal(t, careful, err == nil, "the claim of the new application")
		})
	}
}

// TestLostAnswer: a request of the operator takes effect, and its answer is lost.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := volsimtest.New(t)
		controllerruntime.Add(t, c.Cluster, both(0))
		lost := c.Faults.Lose(fake.Match{Actor: "both", Verb: "create", Kind: "ConfigMap"}, context.DeadlineExceeded).Once()
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		c.Advance(time.Minute)
		note, err := volsim.Get[*corev1.ConfigMap](c.Cluster, "data")
		require.NoError(t, err)
		require.Equal(t, "yes", note.Annotations["seen"])
		require.Equal(t, 1, lost.Fired())
	})
}

// Database is a custom kind, as controller-gen makes its Go type.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size string `json:"size"`
	} `json:"spec"`
}

func (d *Database) DeepCopyObject() runtime.Object {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

func (l *DatabaseList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = slices.Clone(l.Items)
	return &out
}

const databases = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: databases.example.com}, spec: {
	group: example.com, scope: Namespaced, names: {kind: Database, listKind: DatabaseList, plural: databases}, versions: [{name: v1, served: true, storage: true,
	schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}}}]}}`

// TestCustomKind: a manager reconciles objects of a CustomResourceDefinition, and does so again after an hour.
func TestCustomKind(t *testing.T) {
	types := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(types))
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	types.AddKnownTypes(version, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(types, version)
	rounds := 0
	setup := func(mgr manager.Manager) error {
		return ctrl.NewControllerManagedBy(mgr).For(&Database{}).Owns(&corev1.PersistentVolumeClaim{}).Named("databases").
			Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
				var db Database
				if err := mgr.GetClient().Get(ctx, req.NamespacedName, &db); err != nil {
					return ctrl.Result{}, client.IgnoreNotFound(err)
				}
				rounds++
				claim := fake.Claim(db.Name, db.Spec.Size)
				claim.Namespace = db.Namespace
				if err := ctrl.SetControllerReference(&db, claim, types); err != nil {
					return ctrl.Result{}, err
				}
				return ctrl.Result{RequeueAfter: time.Hour}, client.IgnoreAlreadyExists(mgr.GetClient().Create(ctx, claim))
			}))
	}
	synctest.Test(t, func(t *testing.T) {
		c := volsimtest.New(t)
		c.Apply(databases) // the manifest, such as config/crd/bases/example.com_databases.yaml
		controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "databases", Options: manager.Options{Scheme: types}, Setup: setup})
		api, err := controllerruntime.NewClient(c.Cluster, client.Options{Scheme: types})
		require.NoError(t, err)
		db := &Database{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orders"}}
		db.Spec.Size = "10Gi"
		require.NoError(t, api.Create(t.Context(), db))
		c.Create(fake.Volume("v", "10Gi"))
		c.Settle()
		require.Equal(t, corev1.ClaimBound, c.Claim("orders").Status.Phase)
		before := rounds
		c.Advance(24 * time.Hour) // each RequeueAfter of an hour ends at once
		require.GreaterOrEqual(t, rounds, before+24)
	})
}
