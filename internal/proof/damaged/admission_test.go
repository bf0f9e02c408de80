package damaged

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/policytypes"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/tools/standard"
)

// TestDamagedAdmission damages policies, definitions and roles, which review and describe what clients write.
func TestDamagedAdmission(t *testing.T) {
	manifest, err := os.ReadFile("testdata/admission.yaml")
	require.NoError(t, err)
	c := reviewed(t)
	require.NoError(t, c.Apply(manifest))
	require.NoError(t, c.Advance(time.Second))
	whole := slices.DeleteFunc(objectsOf(c, "Limit.example.com"), func(obj *unstructured.Unstructured) bool {
		return obj.GetLabels()["kubernetes.io/bootstrapping"] != "" || obj.GetAnnotations()["apf.kubernetes.io/autoupdate-spec"] != "" // made by kube-apiserver
	})
	require.ErrorContains(t, create(c, "1Ti"), "too large: 5")
	require.NoError(t, create(c, "1Gi"))
	written, refused, rejected := 0, 0, 0
	for name, d := range damages(whole) {
		c := reviewed(t)
		for at, obj := range whole {
			if at == d.at {
				obj = &unstructured.Unstructured{Object: d.object}
			}
			if err := c.Load(obj); at == d.at && err != nil {
				require.NotContains(t, err.Error(), "\n", name)
				rejected++
			}
		}
		require.NoError(t, c.Advance(time.Second), name)
		for _, size := range []string{"1Gi", "1Ti"} {
			if err := create(c, size); err != nil {
				refused++
			} else {
				written++
			}
		}
		require.NoError(t, c.Advance(time.Minute), name)
		c.Close()
	}
	require.Greater(t, refused, written/4, "the policies have an effect")
	require.Greater(t, written, refused/4, "and allow what is right")
	t.Logf("%d claims written, %d refused; %d damaged objects not loaded", written, refused, rejected)
}

// reviewed returns a cluster with admission policies and the components of a standard control plane.
func reviewed(t *testing.T) *volsim.Cluster {
	c := newCluster(t)
	e := internals.Engine(c)
	apiserver.FollowPolicies(e)
	for _, name := range standard.Names() {
		ctl, ok := standard.New(name, policytypes.Checker(e))
		require.True(t, ok, name)
		require.NoError(t, c.AddController(ctl))
	}
	return c
}

// create creates a claim to which the policies apply.
func create(c *volsim.Cluster, size string) error {
	return c.Create(fake.Claim("data-"+strings.ToLower(size), size, fake.Labels("app", "db")))
}

// objectsOf returns the objects of all kinds, those of custom ones last.
func objectsOf(c *volsim.Cluster, custom ...api.Kind) (objs []*unstructured.Unstructured) {
	for _, kind := range objkinds.All() {
		objs = append(objs, c.Objects(api.Kind(kind.Name())).List()...)
	}
	for _, kind := range custom {
		objs = append(objs, c.Objects(kind).List()...)
	}
	return objs
}
