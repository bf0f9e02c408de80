package envtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/volsim/volsim/kube/envtest"
)

// boxV1 is the hub of the kind Box, boxV2 a spoke: what is spec.size in one is spec.capacity in the other.
type (
	boxV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Size int64 `json:"size,omitempty"`
		} `json:"spec"`
	}
	boxV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Capacity int64 `json:"capacity,omitempty"`
		} `json:"spec"`
	}
	boxV2List struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []boxV2 `json:"items"`
	}
	// plainBox is like boxV2, and cannot be converted.
	plainBox boxV2
)

func (b *boxV1) Hub() {}

func (b *boxV1) DeepCopyObject() runtime.Object {
	c := *b
	c.ObjectMeta = *b.ObjectMeta.DeepCopy()
	return &c
}

func (b *boxV2) DeepCopyObject() runtime.Object {
	c := *b
	c.ObjectMeta = *b.ObjectMeta.DeepCopy()
	return &c
}

func (l *boxV2List) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*boxV2))
	}
	return &c
}

func (b *plainBox) DeepCopyObject() runtime.Object {
	return (*plainBox)((*boxV2)(b).DeepCopyObject().(*boxV2))
}

func (b *boxV2) ConvertTo(hub conversion.Hub) error {
	to := hub.(*boxV1)
	to.ObjectMeta, to.Spec.Size = b.ObjectMeta, b.Spec.Capacity
	return nil
}

func (b *boxV2) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*boxV1)
	b.ObjectMeta, b.Spec.Capacity = from.ObjectMeta, from.Spec.Size
	return nil
}

// addBoxes adds the kind Box to a scheme, with the given type in version v2.
func addBoxes(s *runtime.Scheme, v2 runtime.Object) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s.AddKnownTypeWithName(gv.WithKind("Box"), &boxV1{})
	metav1.AddToGroupVersion(s, gv)
	gv.Version = "v2"
	s.AddKnownTypeWithName(gv.WithKind("Box"), v2)
	s.AddKnownTypeWithName(gv.WithKind("BoxList"), &boxV2List{})
	metav1.AddToGroupVersion(s, gv)
}

func newBoxes(v2 runtime.Object) *runtime.Scheme {
	s := runtime.NewScheme()
	addBoxes(s, v2)
	return s
}

// plainBoxes is the definition of boxes without spec.conversion.
func plainBoxes() string {
	before, after, _ := strings.Cut(boxes, "  conversion:\n")
	_, after, _ = strings.Cut(after, "  versions:\n")
	return before + "  versions:\n" + after
}

// startWith starts an environment with a definition of boxes.
func startWith(t *testing.T, definition string, env *envtest.Environment) *rest.Config {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "boxes.yaml"), []byte(definition), 0o600))
	env.CRDDirectoryPaths = []string{dir}
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	return cfg
}

// TestConvertible: definitions of kinds whose types in the scheme can be converted get the conversion webhook of the manager (API-490).
func TestConvertible(t *testing.T) {
	types := newBoxes(&boxV2{})
	env := &envtest.Environment{Scheme: types}
	cfg := startWith(t, plainBoxes(), env)
	hooks := env.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: types, Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir}),
	})
	require.NoError(t, err)
	require.NoError(t, ctrl.NewWebhookManagedBy(mgr, &boxV1{}).Complete())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	require.Eventually(t, func() bool { return mgr.GetWebhookServer().StartedChecker()(nil) == nil }, 10*time.Second, 10*time.Millisecond)

	c, err := client.New(cfg, client.Options{Scheme: types})
	require.NoError(t, err)
	first := &boxV1{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}}
	first.Spec.Size = 3
	require.NoError(t, c.Create(ctx, first))
	got := &boxV2{}
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(first), got))
	require.EqualValues(t, 3, got.Spec.Capacity, "API-490")
	got.Spec.Capacity = 4
	require.NoError(t, c.Update(ctx, got))
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(first), first))
	require.EqualValues(t, 4, first.Spec.Size, "API-490")
	// The cache of the manager watches the other version.
	require.NoError(t, mgr.GetCache().Get(ctx, client.ObjectKeyFromObject(first), got))
	require.EqualValues(t, 4, got.Spec.Capacity, "API-490")
}

// TestConversionOfDefinitions: which definitions get a conversion webhook (API-490).
func TestConversionOfDefinitions(t *testing.T) {
	addBoxes(scheme.Scheme, &boxV2{})
	hub := runtime.NewScheme()
	hub.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Box"}, &boxV1{})
	all := envtest.WebhookInstallOptions{IgnoreSchemeConvertible: true}
	preserve := strings.Replace(boxes, "  scope:", "  preserveUnknownFields: true\n  scope:", 1)
	for _, test := range []struct {
		name, definition string
		env              envtest.Environment
		want             bool
	}{
		{"API-490 types of the scheme", plainBoxes(), envtest.Environment{Scheme: newBoxes(&boxV2{})}, true},
		{"API-490 scheme of the options", plainBoxes(), envtest.Environment{Scheme: hub, CRDInstallOptions: envtest.CRDInstallOptions{Scheme: newBoxes(&boxV2{})}}, true},
		{"API-490 scheme of client-go", plainBoxes(), envtest.Environment{}, true},
		{"API-490 strategy of the manifest", strings.Replace(plainBoxes(), "  scope:", "  conversion: {strategy: None}\n  scope:", 1), envtest.Environment{}, true},
		{"API-490 service of the manifest", boxes, envtest.Environment{}, true},
		{"API-490 a version that cannot be converted", boxes, envtest.Environment{Scheme: newBoxes(&plainBox{})}, false},
		{"API-490 one version", boxes, envtest.Environment{Scheme: hub}, false},
		{"API-490 no types", boxes, envtest.Environment{Scheme: runtime.NewScheme()}, false},
		{"API-490 whatever types", plainBoxes(), envtest.Environment{Scheme: runtime.NewScheme(), WebhookInstallOptions: all}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := startWith(t, test.definition, &test.env)
			hooks := test.env.WebhookInstallOptions
			conversion := definitionIn(t, cfg)
			if !test.want {
				require.Equal(t, map[string]any{"strategy": "None"}, conversion)
				return
			}
			require.Equal(t, "Webhook", conversion["strategy"])
			require.Equal(t, []any{"v1", "v1beta1"}, conversion["webhook"].(map[string]any)["conversionReviewVersions"])
			require.Equal(t, hookURL(hooks, "/convert"), conversion["webhook"].(map[string]any)["clientConfig"].(map[string]any)["url"])
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "boxes.yaml"), []byte(preserve), 0o600))
	_, err := (&envtest.Environment{CRDDirectoryPaths: []string{dir}}).Start()
	require.ErrorContains(t, err, "preserveUnknownFields", "API-490: such definitions stay as they are")
}
