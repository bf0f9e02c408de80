package kube_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube"
	"github.com/volsim/volsim/volsimtest"
)

// A claim that a clientset creates is bound by the PersistentVolume controller, which the fake clientset of client-go does not have.
func Example() {
	c, err := volsim.New(volsim.Config{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	ctx := context.Background()
	client := kube.Clientset(c)
	claims := client.CoreV1().PersistentVolumeClaims("default")
	if _, err := client.CoreV1().PersistentVolumes().Create(ctx, fake.Volume("v", "1Gi"), metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	if _, err := claims.Create(ctx, fake.Claim("data", "1Gi"), metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	if err := c.Settle(); err != nil {
		panic(err)
	}
	claim, err := claims.Get(ctx, "data", metav1.GetOptions{})
	fmt.Println(claim.Status.Phase, claim.Spec.VolumeName, err)
	// Output: Bound v <nil>
}

// TestInformer: an informer receives what the controllers write.
func TestInformer(t *testing.T) {
	c := volsimtest.New(t)
	factory := informers.NewSharedInformerFactory(kube.Clientset(c.Cluster), 0)
	bound := make(chan string, 1)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	_, err := claims.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		if claim := obj.(*corev1.PersistentVolumeClaim); claim.Status.Phase == corev1.ClaimBound {
			bound <- claim.Name
		}
	}})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	kube.Do(c.Cluster, func() {
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		c.Settle()
	})
	select {
	case name := <-bound:
		require.Equal(t, "data", name)
	case <-time.After(30 * time.Second):
		t.Fatal("no event reports that the claim is bound")
	}
}

// TestDynamic: a dynamic client reads kinds by resource, and its user agent is the actor in the trace.
func TestDynamic(t *testing.T) {
	c := volsimtest.New(t)
	resource := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	c.Create(fake.Volume("v", "1Gi"))
	volumes := kube.Dynamic(c.Cluster).Resource(resource)
	w, err := volumes.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	obj, err := volumes.Get(t.Context(), "v", metav1.GetOptions{})
	require.NoError(t, err)
	obj.SetLabels(map[string]string{"seen": "yes"})
	_, err = volumes.Update(t.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "yes", c.Volume("v").Labels["seen"])
	for range 2 {
		event := <-w.ResultChan()
		require.Contains(t, []string{"ADDED", "MODIFIED"}, string(event.Type))
	}
}

// TestFaults: a fault rule that names the user agent of a client hits its writes.
func TestFaults(t *testing.T) {
	c := volsimtest.New(t)
	cfg := kube.Config(c.Cluster)
	cfg.UserAgent = "mine"
	volumes := kubernetes.NewForConfigOrDie(cfg).CoreV1().PersistentVolumes()
	failed, lost := errors.New("refused by the test"), errors.New("lost by the test")
	c.Faults.Fail(fake.Match{Actor: "user/mine", Kind: "PersistentVolume", Verb: "create"}, failed).Once()
	c.Faults.Lose(fake.Match{Actor: "user/mine", Kind: "PersistentVolume", Verb: "update"}, lost).Once()
	volume := fake.Volume("v", "1Gi")
	_, err := volumes.Create(t.Context(), volume, metav1.CreateOptions{})
	require.ErrorContains(t, err, failed.Error())
	require.Empty(t, volsim.List[*corev1.PersistentVolume](c.Cluster), "a request that fails has no effect")
	// The rule is used up, and does not name other clients.
	volume, err = kube.Clientset(c.Cluster).CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{})
	require.NoError(t, err)
	volume.Labels = map[string]string{"seen": "yes"}
	_, err = volumes.Update(t.Context(), volume, metav1.UpdateOptions{})
	require.ErrorContains(t, err, lost.Error())
	require.Equal(t, "yes", c.Volume("v").Labels["seen"], "a request whose answer is lost has an effect")
}

// TestPermissions: a client that impersonates a ServiceAccount may do what its roles allow.
func TestPermissions(t *testing.T) {
	c := volsimtest.New(t)
	admin := kube.Clientset(c.Cluster)
	config := kube.Config(c.Cluster) // or that of envtest
	config.Impersonate.UserName = "system:serviceaccount:operator-system:controller-manager"
	volumes := kubernetes.NewForConfigOrDie(config).CoreV1().PersistentVolumes()
	_, err := volumes.List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"persistentvolumes"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "operator-system", Name: "controller-manager"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = volumes.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = volumes.Create(t.Context(), fake.Volume("v", "1Gi"), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.Empty(t, volsim.List[*corev1.PersistentVolume](c.Cluster))
}

// TestEventsOfOneInstant: in virtual time, all Events of a recorder are stored, in the name of the client.
func TestEventsOfOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := volsimtest.New(t)
		client := kube.Clientset(c.Cluster)
		c.Create(fake.Claim("data", "1Gi"))
		broadcaster := record.NewBroadcaster(record.WithContext(t.Context()))
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "mine"})
		for _, reason := range []string{"First", "Second", "First", "Third"} {
			recorder.Event(c.Claim("data"), corev1.EventTypeNormal, reason, "something happened")
		}
		synctest.Wait()
		counts := map[string]int32{}
		for _, event := range volsim.List[*corev1.Event](c.Cluster) {
			if event.Source.Component == "mine" {
				counts[event.Reason] = event.Count
			}
		}
		require.Equal(t, map[string]int32{"First": 2, "Second": 1, "Third": 1}, counts)
		var writers []string
		for e := range c.Trace().Entries() {
			if e.Verb == "create" && e.Object.Kind == api.Event && api.IsUser(e.Actor) {
				writers = append(writers, e.Actor)
			}
		}
		require.Equal(t, []string{"user/client", "user/client", "user/client"}, writers)

		// One that is sent again is not a new one.
		events := client.CoreV1().Events("default")
		list, err := events.List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Second"})
		require.NoError(t, err)
		again := list.Items[0].DeepCopy()
		again.ResourceVersion = ""
		_, err = events.Create(t.Context(), again, metav1.CreateOptions{})
		require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
		broadcaster.Shutdown()
	})
}
