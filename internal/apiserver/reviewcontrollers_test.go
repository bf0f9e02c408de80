package apiserver_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/internals"
)

const replicaSet = `{"metadata":{"name":"r"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},` +
	`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// withControllers lets webhooks review what the controllers of a cluster create.
func withControllers(t *testing.T, h *hooked) {
	t.Helper()
	h.server, _ = apiserver.NewWithClock(apiserver.Config{
		Backend: apiserver.ForEngine(internals.Engine(h.cluster)), NoManagedFields: true, Webhooks: webhooks.NewClient(nil),
	}, internals.Engine(h.cluster), clock.Pace{Settle: true})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { h.server.Do(cancel) }) // no answer is heard when the cluster ends
	h.server.ReviewControllers(ctx)
}

// TestWebhooksOfControllers: the pods that a controller creates go through webhooks, which may use the API meanwhile (API-399).
func TestWebhooksOfControllers(t *testing.T) {
	h := newHooked(t)
	withControllers(t, h)
	h.answer = func(path string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		h.must("GET "+pods, "")
		if path == "/a.example.com" {
			patching(`[{"op":"add","path":"/metadata/annotations","value":{"by":"webhook"}}]`)(path, req, resp)
		}
	}
	only := only([]string{"CREATE"}, []string{"pods"}, nil)
	h.use(mutatings, webhook(only))
	h.use(validatings, webhook(fields{"name": "v.example.com", "rules": only["rules"]}))
	h.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
	require.Eventually(t, func() bool { return strings.Count(h.must("GET "+pods, ""), `"annotations":{"by":"webhook"}`) == 2 }, time.Minute, time.Millisecond)
	asked := h.take()
	require.Len(t, asked, 4)
	require.Equal(t, "system:serviceaccount:kube-system:replicaset-controller", asked[0].UserInfo.Username)
	require.Empty(t, asked[0].Name)
	require.Contains(t, asked[1].Name, "r-")
	require.JSONEq(t, `{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}`, string(asked[0].Options.Raw))
}

// TestWebhooksRefuseControllers: a controller whose pods are refused tries again, and one that has crashed meanwhile does not hear the answer.
func TestWebhooksRefuseControllers(t *testing.T) {
	h := newHooked(t)
	withControllers(t, h)
	var once sync.Once
	waits, release := make(chan struct{}), make(chan struct{})
	h.answer = func(path string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		once.Do(func() {
			close(waits)
			<-release
		})
		refusing(path, req, resp)
	}
	h.use(validatings, webhook(only([]string{"CREATE"}, []string{"pods"}, nil)))
	h.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
	<-waits
	require.NotContains(t, h.must("GET "+pods, ""), "r-", "API-399")
	h.server.Do(func() {
		require.NoError(t, h.cluster.Crash("replicaset-controller"))
		require.NoError(t, h.cluster.Restart("replicaset-controller"))
	})
	close(release)
	h.must("POST "+configMaps, `{"metadata":{"name":"a"}}`) // the clock goes on
	require.Eventually(t, func() bool {
		return strings.Contains(h.must("GET /api/v1/namespaces/default/events", ""), "denied the request without explanation")
	}, time.Minute, time.Millisecond)
}
