package apiserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	volume = `{"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"nfs":{"server":"s","path":"/"}}}`
	user   = `{"metadata":{"name":"web"},"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}],` +
		`"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]}}`
)

// node adds a node to the cluster.
func (f *fixture) node() {
	f.t.Helper()
	f.server.Do(func() {
		_, err := f.cluster.AddNode("n1")
		require.NoError(f.t, err)
	})
}

// explain returns the explanation of a claim or a pod, "" if it does not exist.
func (f *fixture) explain(path string) (text string) {
	f.t.Helper()
	kind := "pod/"
	if strings.HasPrefix(path, claims) {
		kind = "pvc/"
	}
	f.server.Do(func() {
		e, err := f.cluster.Explain(kind + "default/" + path[strings.LastIndexByte(path, '/')+1:])
		if err == nil {
			text = e.String()
		} else {
			require.True(f.t, apierrors.IsNotFound(err), err)
		}
	})
	return text
}

// TestPoliciesOfUpdates: a write of a controller that a policy refuses has no effect until the policy is gone (API-429).
func TestPoliciesOfUpdates(t *testing.T) {
	const bound, running, gone = `"phase":"Bound"`, `"phase":"Running"`, `"reason":"NotFound"`
	for _, test := range []struct {
		rule, name, resource, operation string
		// path is the object that waits, and want what its answer has in the end. deleted says that its user is deleted first.
		path, want string
		deleted    bool
		// by is the user who is refused.
		by string
	}{
		{"API-429", "an update", "persistentvolumes", "UPDATE", claims + "/data", bound, false, "system:serviceaccount:kube-system:persistentvolume-controller"},
		{"API-429", "an update of a status", "persistentvolumeclaims/status", "UPDATE", claims + "/data", bound, false,
			"system:serviceaccount:kube-system:persistentvolume-controller"},
		{"API-429", "a binding", "pods/binding", "CREATE", pods + "/web", running, false, "system:kube-scheduler"},
		{"API-429", "a patch of a status", "pods/status", "UPDATE", pods + "/web", running, false, "system:node:n1"},
		{"API-429", "a delete", "pods", "DELETE", pods + "/web", gone, true, "system:node:n1"},
		{"API-429", "an update that removes a finalizer", "persistentvolumeclaims", "UPDATE", claims + "/data", gone, true,
			"system:serviceaccount:kube-system:pvc-protection-controller"},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			f := newFixture(t)
			f.node()
			pass := func(d time.Duration) { f.server.Do(func() { require.NoError(t, f.cluster.Advance(d)) }) }
			use := func() {
				f.must("POST "+volumes, volume)
				f.must("POST "+claims, claim)
				f.must("POST "+pods, user)
			}
			if test.deleted {
				use()
				pass(time.Minute)
				require.Contains(t, f.must("GET "+pods+"/web", ""), running)
			}
			f.validates(`"validations":[{"expression":"request.userInfo.username != '`+test.by+`'"}],`+about(test.resource, test.operation), "")
			if test.deleted {
				f.must("DELETE "+pods+"/web", "")
				f.must("DELETE "+claims+"/data", "")
			} else {
				use()
			}
			pass(time.Minute)
			_, got := f.request("GET "+test.path, "")
			require.NotContains(t, got, test.want)
			require.Contains(t, f.explain(test.path), " was refused: ")
			f.must("DELETE "+policiesPath+"/p", "")
			pass(10 * time.Minute)
			_, got = f.request("GET "+test.path, "")
			require.Contains(t, got, test.want)
			require.NotContains(t, f.explain(test.path), " was refused: ")
		})
	}
}

// TestMutatedUpdates: a policy changes what a controller updates, and a body that it sends (API-429).
func TestMutatedUpdates(t *testing.T) {
	f := newFixture(t)
	f.node()
	f.mutates(`"mutations":[`+applies("Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}")+`],`+
		about("persistentvolumes,pods/binding", "CREATE", "UPDATE"), "")
	f.must("POST "+volumes, volume)
	f.must("POST "+claims, claim)
	f.must("POST "+pods, user)
	f.server.Do(func() { require.NoError(t, f.cluster.Advance(time.Minute)) })
	require.Contains(t, f.must("GET "+volumes+"/v", ""), `"by":"system:serviceaccount:kube-system:p`, "API-429")
	require.Contains(t, f.must("GET "+pods+"/web", ""), `"by":"system:kube-scheduler"`, "API-429")
}

// TestWebhooksOfUpdates: webhooks review what controllers update and delete, and have all the time they need (API-399).
func TestWebhooksOfUpdates(t *testing.T) {
	h := newHooked(t)
	h.node()
	withControllers(t, h)
	h.answer = func(path string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		h.must("GET "+pods, "")
	}
	h.use(validatings, webhook(fields{"name": "v.example.com", "rules": []fields{{"operations": []string{"UPDATE", "DELETE"}, "apiGroups": []string{"*"},
		"apiVersions": []string{"*"}, "resources": []string{"persistentvolumes", "persistentvolumeclaims/status", "pods", "pods/status"}}}}))
	h.must("POST "+volumes, volume)
	h.must("POST "+claims, claim)
	h.must("POST "+pods, user)
	until := func(path, want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			h.must("POST "+configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`)
			h.server.Do(func() { require.NoError(t, h.cluster.Advance(time.Second)) })
			_, got := h.request("GET "+path, "")
			return strings.Contains(got, want)
		}, time.Minute, time.Millisecond, want)
	}
	until(pods+"/web", `"phase":"Running"`)
	h.must("DELETE "+pods+"/web", "")
	until(pods+"/web", `"reason":"NotFound"`)
	seen := map[string]string{}
	for _, req := range h.take() {
		seen[req.UserInfo.Username+" "+string(req.Operation)+" "+req.Resource.Resource+"/"+req.SubResource+" "+req.Name] = string(req.Options.Raw)
	}
	const updates = `{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"}`
	for _, want := range []struct{ write, options string }{
		{"system:serviceaccount:kube-system:persistentvolume-controller UPDATE persistentvolumes/ v", updates},
		{"system:serviceaccount:kube-system:persistentvolume-controller UPDATE persistentvolumeclaims/status data", updates},
		{"system:node:n1 UPDATE pods/status web", updates},
		{"system:node:n1 DELETE pods/ web", `"gracePeriodSeconds":0`},
	} {
		require.Contains(t, seen, want.write, "API-399")
		require.Contains(t, seen[want.write], want.options, "API-399")
	}
}
