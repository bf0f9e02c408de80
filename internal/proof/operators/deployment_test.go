package operators

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// startDeployment starts a program in the place of a container of a Deployment: with the environment and the arguments of one of its pods, whose
// containers do not run, and with more arguments.
func (c *cluster) startDeployment(file string, deployment object, args ...string) *program {
	c.t.Helper()
	obj, err := c.of(deployment).Get(c.t.Context(), deployment.name, metav1.GetOptions{})
	require.NoError(c.t, err)
	selector, _, err := unstructured.NestedStringMap(obj.Object, "spec", "selector", "matchLabels")
	require.NoError(c.t, err)
	var pod unstructured.Unstructured
	require.Eventually(c.t, func() bool {
		list, err := c.of(object{"v1", "Pod", deployment.namespace, ""}).List(c.t.Context(),
			metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector})})
		require.NoError(c.t, err)
		if len(list.Items) > 0 {
			pod = list.Items[0]
		}
		return len(list.Items) > 0
	}, patience, tick)
	containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	require.NoError(c.t, err)
	container := containers[0].(map[string]any)
	command := []string{}
	for _, variable := range container["env"].([]any) {
		name, _, err := unstructured.NestedString(variable.(map[string]any), "name")
		require.NoError(c.t, err)
		value, ok, err := unstructured.NestedString(variable.(map[string]any), "value")
		require.NoError(c.t, err)
		if !ok {
			path, _, err := unstructured.NestedString(variable.(map[string]any), "valueFrom", "fieldRef", "fieldPath")
			require.NoError(c.t, err)
			value = c.field(object{"v1", "Pod", pod.GetNamespace(), pod.GetName()}, path)
		}
		command = append(command, name+"="+value)
	}
	given, _, err := unstructured.NestedStringSlice(container, "args")
	require.NoError(c.t, err)
	return start(c.t, "env", slices.Concat(command, []string{file}, given, args)...)
}

// as returns a kubeconfig with which a program is a ServiceAccount, and has its permissions only.
func (c *cluster) as(account object) string {
	c.t.Helper()
	config, err := clientcmd.LoadFromFile(c.config)
	require.NoError(c.t, err)
	access := config.Contexts[config.CurrentContext]
	user := config.AuthInfos[access.AuthInfo]
	if user == nil { // without --secure
		user, access.AuthInfo = api.NewAuthInfo(), "volsim"
		config.AuthInfos[access.AuthInfo] = user
	}
	user.Impersonate = "system:serviceaccount:" + account.namespace + ":" + account.name
	file := filepath.Join(c.t.TempDir(), account.name+".yaml")
	require.NoError(c.t, clientcmd.WriteToFile(*config, file))
	return file
}

// messages returns the messages of the events of a namespace that have a reason.
func (c *cluster) messages(namespace, reason string) string {
	c.t.Helper()
	list, err := c.of(object{"v1", "Event", namespace, ""}).List(c.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(c.t, err)
	var text strings.Builder
	for _, item := range list.Items {
		message, _, err := unstructured.NestedString(item.Object, "message")
		require.NoError(c.t, err)
		text.WriteString(message + "\n")
	}
	return text.String()
}
