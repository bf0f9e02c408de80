package apiserver

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/ownership"
	"github.com/volsim/volsim/internal/core/internals"
)

// newObjects are bodies of creates, by path of the collection.
var newObjects = [][2]string{
	{"/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a","labels":{"x":"y"},"annotations":{}},"data":{"k":"v","":""},"binaryData":{"b":"AA=="}}`},
	{"/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`},
	{"/api/v1/namespaces/default/secrets", `{"metadata":{"generateName":"a-"},"stringData":{"k":"v"},"type":"Opaque"}`},
	{"/api/v1/namespaces", `{"metadata":{"name":"a","labels":{"x":"y"}}}`},
	{"/api/v1/namespaces/default/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80,"name":"http"},{"port":80,"protocol":"UDP","name":"u"}],"selector":{"a":"b"},"clusterIPs":["None"]}}`},
	{"/api/v1/namespaces/default/pods", `{"metadata":{"name":"a","finalizers":["example.com/a","example.com/b"],"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"u"}]},` +
		`"spec":{"containers":[{"name":"c","image":"i","args":["a","a"],"env":[{"name":"A","value":"1"},{"name":"A","value":"2"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],` +
		`"ports":[{"containerPort":1},{"containerPort":1,"protocol":"UDP"}],"volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b"}],"resources":{"requests":{"cpu":"100m"}}}],` +
		`"initContainers":[{"name":"i","image":"i"}],"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}},{"name":"w","projected":{"sources":[{"configMap":{"name":"m"}}]}},` +
		`{"name":"e","emptyDir":{}}],"tolerations":[{"key":"a","operator":"Exists"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}],` +
		`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}},` +
		`"nodeSelector":{"a":"b"},"securityContext":{},"imagePullSecrets":[{"name":"s"},{}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`},
	{"/api/v1/namespaces/default/persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"selector":{"matchLabels":{"a":"b"}}}}`},
	{"/api/v1/persistentvolumes", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"h","volumeAttributes":{"a":"b"}}}}`},
	{"/api/v1/nodes", `{"metadata":{"name":"a"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}],"podCIDRs":["10.0.0.0/24"]},"status":{"addresses":[{"type":"Hostname","address":"h"}]}}`},
	{"/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"a"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
	{"/apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"a"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}},` +
		`"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"]}}]}}`},
	{"/apis/batch/v1/namespaces/default/cronjobs", `{"metadata":{"name":"a"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}}}`},
	{"/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"a"},"provisioner":"p","parameters":{"a":"b"},"mountOptions":["x","y"],"allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":["a"]}]}]}`},
	{"/apis/storage.k8s.io/v1/csinodes", `{"metadata":{"name":"a"},"spec":{"drivers":[{"name":"d","nodeID":"n","topologyKeys":["z"],"allocatable":{"count":3}}]}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"a"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`},
	{"/apis/coordination.k8s.io/v1/namespaces/default/leases", `{"metadata":{"name":"a"},"spec":{"holderIdentity":"me","renewTime":"2026-01-01T00:00:00.000000Z"}}`},
	{"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"name":"p","port":80}]}`},
	{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"host":"h","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`},
}

// TestCreatedFields: the managedFields of new objects are those that the field manager finds by a comparison.
func TestCreatedFields(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := New(Config{Backend: ForEngine(internals.Engine(c))})
	slow := s.newTracker()
	slow.NoShortcuts = true
	for _, tt := range newObjects {
		req, err := http.NewRequest(http.MethodPost, "http://volsim.invalid"+tt[0], http.NoBody)
		require.NoError(t, err)
		r, err := s.parse(req)
		require.NoError(t, err, tt[0])
		decoded := func() api.Object {
			obj, _, err := s.codec.decode(body{[]byte(tt[1]), "application/json", metav1.FieldValidationStrict}, r.resource.GVK())
			require.NoError(t, err, tt[0])
			obj.GetObjectKind().SetGroupVersionKind(r.resource.GVK())
			return obj.(api.Object)
		}
		begin := s.fields.Begin(ownership.Write{Resource: r.resource, Manager: "me"})
		got := s.fields.Track(decoded(), nil, api.Main)
		begin()
		end := slow.Begin(ownership.Write{Resource: r.resource, Manager: "me"})
		want := slow.Track(decoded(), nil, api.Main)
		end()
		require.Equal(t, want, got, tt[1])
	}
}
