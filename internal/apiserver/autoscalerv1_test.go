package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAutoscalerVersions: a HorizontalPodAutoscaler has the same content in both versions (API-517).
func TestAutoscalerVersions(t *testing.T) {
	const (
		v1, v2 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
		merge  = "Content-Type: application/merge-patch+json"
	)
	f := newFixture(t)
	f.must("POST "+v1, `{"metadata":{"name":"a"},"spec":{"maxReplicas":5,"targetCPUUtilizationPercentage":60,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"w"}}}`)
	for _, tt := range []struct{ rule, line, body, path, want string }{
		{"API-517", "PATCH " + v1, `{}`, v2, `"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}}]`},
		{"API-517", "PATCH " + v1, `{"spec":{"targetCPUUtilizationPercentage":null}}`, v1, `"targetCPUUtilizationPercentage":80`},
		{
			"API-517", "PATCH " + v2, `{"spec":{"metrics":[{"type":"Pods","pods":{"metric":{"name":"rps"},"target":{"type":"AverageValue","averageValue":"7"}}}]}}`,
			v1, `"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"rps\",\"targetAverageValue\":\"7\"}}]"`,
		},
		{"API-517", "PATCH " + v1, `{"spec":{"targetCPUUtilizationPercentage":30}}`, v2, `"averageValue":"7"}}},{"type":"Resource","resource":{"name":"cpu"`},
		{
			"API-517", "PATCH " + v2, `{"spec":{"behavior":{"scaleUp":{"policies":[{"type":"Pods","value":1,"periodSeconds":2}]}}}}`,
			v1, `"autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleUp\":{\"StabilizationWindowSeconds\":0,\"SelectPolicy\":\"Max\",\"Policies\":[{\"Type\":\"Pods\",`,
		},
		{"API-517", "PATCH " + v1, `{"spec":{"maxReplicas":6}}`, v2, `"policies":[{"type":"Pods","value":1,"periodSeconds":2}]`},
		{"API-517", "PATCH " + v2, `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[]","note":"1"}}}`, v2, `"annotations":{"note":"1"}`},
	} {
		f.must(tt.line+"/a", tt.body, merge)
		require.Contains(t, f.must("GET "+tt.path+"/a", ""), tt.want, tt.rule)
	}
	status := `{"status":{"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":33,"averageValue":"2"}}}],
		"conditions":[{"type":"AbleToScale","status":"True"}],"desiredReplicas":2,"currentReplicas":1}}`
	f.must("PATCH "+v2+"/a/status", status, merge)
	got := f.must("GET "+v1+"/a", "")
	require.Contains(t, got, `"status":{"currentReplicas":1,"desiredReplicas":2,"currentCPUUtilizationPercentage":33}`, "API-517")
	f.must("PATCH "+v1+"/a/status", `{"status":{"desiredReplicas":3}}`, merge)
	require.Contains(t, f.must("GET "+v2+"/a", ""), `"conditions":[{"type":"AbleToScale","status":"True"`, "API-517")
}

// TestAggregatedDiscovery: the versions that the newer form of discovery names, and how it is cached (API-518).
func TestAggregatedDiscovery(t *testing.T) {
	const accept = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	f := newFixture(t)
	f.must("POST "+definitions, widgets)
	resp, got := f.request("GET /apis", "", accept)
	require.Contains(t, got, `"resource":"deployments","responseKind":{"group":"","version":"","kind":"Deployment"}`, "API-518")
	require.Contains(t, got, `"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}`, "API-518")
	require.Contains(t, got, `"responseKind":{"group":"example.com","version":"v1","kind":"Widget"}`, "API-518")
	tag := resp.Header.Get("ETag")
	resp, got = f.request("GET /apis", "", accept, "If-None-Match: "+tag)
	require.Equal(t, 304, resp.StatusCode, "API-518")
	require.Empty(t, got, "API-518")
}
