package kube_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/kube"
)

// TestProtobuf: clients that send and accept nothing but protobuf work, as with kube-apiserver (API-586), with and without a network.
func TestProtobuf(t *testing.T) {
	for _, network := range []bool{false, true} {
		c, err := volsim.New(volsim.Config{})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		config := kube.Config(c)
		if network {
			listener := httptest.NewServer(kube.Handler(c))
			t.Cleanup(listener.Close)
			config = &rest.Config{Host: listener.URL, QPS: -1}
		}
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
		var mu sync.Mutex
		others := map[string]bool{}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(req)
				if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
					mu.Lock()
					defer mu.Unlock()
					others[req.Method+" "+req.URL.Path] = true
				}
				return resp, err
			})
		})
		useProtobuf(t, config)
		require.Empty(t, others, "answers in other media types")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func useProtobuf(t *testing.T, config *rest.Config) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	pods := client.CoreV1().Pods("default")

	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods()
	seen := make(chan string, 100)
	_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { seen <- "added " + obj.(*corev1.Pod).Name },
		DeleteFunc: func(any) { seen <- "deleted" },
	})
	require.NoError(t, err)
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())

	_, err = pods.Get(ctx, "absent", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, created.UID)
	require.Equal(t, "added web", <-seen)
	created.Labels = map[string]string{"a": "b"}
	created, err = pods.Update(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)
	created.Status.Message = "m"
	_, err = pods.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{}))
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "n", list.Items[0].Spec.NodeName)
	require.Equal(t, "m", list.Items[0].Status.Message)

	partial, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	items, err := partial.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, items.Items, 1)
	require.Equal(t, "web", items.Items[0].Name)

	require.NoError(t, pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}, DeleteOptions: metav1.NewDeleteOptions(0)}))
	require.Equal(t, "deleted", <-seen)
	require.True(t, apierrors.IsNotFound(pods.Delete(ctx, "web", metav1.DeleteOptions{})))
}
