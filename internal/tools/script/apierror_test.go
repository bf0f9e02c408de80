package script

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// TestInjectedErrors: an injected error has the text and the details of the API server's.
func TestInjectedErrors(t *testing.T) {
	for _, test := range []struct{ id, code, kind, key, text, resource, group string }{
		{"API-022", "NotFound", "PersistentVolume", "pv1", `persistentvolumes "pv1" not found`, "persistentvolumes", ""},
		{"API-021", "Forbidden", "Pod", "default/web", `pods "web" is forbidden: not allowed`, "pods", ""},
		{"API-023", "AlreadyExists", "Deployment.apps", "default/web", `deployments.apps "web" already exists`, "deployments", "apps"},
		{"API-024", "Conflict", "ConfigMap", "default/a", `Operation cannot be fulfilled on configmaps "a": the object has been modified; ` +
			`please apply your changes to the latest version and try again`, "configmaps", ""},
		{"API-024", "Conflict", "Policy.example.com", "default/p", `Operation cannot be fulfilled on policies.example.com "p": the object has been modified; ` +
			`please apply your changes to the latest version and try again`, "policies", "example.com"},
	} {
		faults := fake.NewFaults()
		faults.Fail(fake.Match{Verb: "update"}, apiError(test.code, ""))
		err := faults.Inject(api.Call{Target: api.APIServer, Verb: "update", Kind: test.kind, Key: test.key}).Err
		require.EqualError(t, err, test.text, test.id)
		require.Equal(t, metav1.StatusReason(test.code), apierrors.ReasonForError(err), test.id)
		var status *apierrors.StatusError
		require.True(t, errors.As(err, &status), test.id)
		require.Equal(t, test.resource, status.ErrStatus.Details.Kind, test.id)
		require.Equal(t, test.group, status.ErrStatus.Details.Group, test.id)
	}
}
