package standard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/standard"
)

// TestNamespaces: each namespace has the two objects, and gets them again (API-459, API-460).
func TestNamespaces(t *testing.T) {
	c, err := volsim.New(volsim.Config{StrictNamespaces: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for _, name := range standard.Names() {
		ctl, ok := standard.New(name, func(*admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning {
			return nil
		})
		require.True(t, ok)
		require.NoError(t, c.AddController(ctl))
	}
	require.NoError(t, c.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	settle := func() {
		t.Helper()
		require.NoError(t, c.Advance(time.Minute))
	}
	settle()
	count := func(namespace string) (found int) {
		for _, a := range volsim.List[*corev1.ServiceAccount](c) {
			if a.Namespace == namespace && a.Name == "default" {
				found++
			}
		}
		for _, m := range volsim.List[*corev1.ConfigMap](c) {
			if m.Namespace == namespace && m.Name == "kube-root-ca.crt" && m.Data["ca.crt"] != "" {
				found++
			}
		}
		return found
	}
	require.Equal(t, 2, count("shop"), "API-459, API-460")
	require.Equal(t, 2, count("kube-system"), "API-459, API-460")

	require.NoError(t, c.Delete(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "default"}}))
	require.NoError(t, c.Patch(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "kube-root-ca.crt"}}, `{"data":{"ca.crt":null}}`))
	settle()
	require.Equal(t, 2, count("shop"), "API-459, API-460")

	require.NoError(t, c.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	settle()
	require.Zero(t, count("shop"), "API-459, API-460")
}
