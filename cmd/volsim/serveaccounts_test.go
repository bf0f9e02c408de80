package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestServeAccounts: pods have the token of their service account, which must exist, also those of controllers; without the controller of
// service accounts there is none of that (API-512, API-513). The script of the run does the same.
func TestServeAccounts(t *testing.T) {
	const pods, pod = "/api/v1/namespaces/default/pods", `{"metadata":{"name":"web"},"spec":{"serviceAccountName":"NAME","containers":[{"name":"main","image":"web"}]}}`
	for _, tt := range []struct {
		name    string
		without []string
		code    int // of the request for a pod with an unknown account
		volumes int
	}{
		{"as in a real cluster", nil, 403, 1},
		{"without the controller", []string{"service-account-controller"}, 201, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := serving(t, serveFlags{time: "settle", nodes: []string{"n1"}, without: tt.without})
			code, text := r.send("POST "+pods, strings.NewReplacer("NAME", "unknown", "web", "other").Replace(pod))
			require.Equal(t, tt.code, code, text)
			if tt.code == 403 {
				require.Contains(t, text, `error looking up service account default/unknown: serviceaccount \"unknown\" not found`)
			}
			code, text = r.send("POST "+pods, strings.ReplaceAll(pod, "NAME", "default"))
			require.Equal(t, 201, code, text)
			_, text = r.send("GET "+pods+"/web", "")
			var got corev1.Pod
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.Equal(t, corev1.PodRunning, got.Status.Phase)
			require.Len(t, got.Spec.Volumes, tt.volumes)
			require.Len(t, got.Spec.Containers[0].VolumeMounts, tt.volumes)
			_, want := r.send("GET /volsim/trace", "")
			r.stop()
			_, same, _ := strings.Cut(command(t, "run", "-q", "--trace", "-", r.record), "\n")
			require.Equal(t, want, same[:min(len(same), len(want))])
		})
	}
}
