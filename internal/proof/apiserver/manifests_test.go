package apiserver

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/yamljson"
)

// manifestModules are modules with manifests. Those of Kubernetes have the version that this module needs.
var manifestModules = []string{
	// Examples, add-ons, test data, and pods that Pod Security allows or not.
	"k8s.io/kubernetes", "k8s.io/pod-security-admission", "k8s.io/apiextensions-apiserver", "k8s.io/kubectl", "k8s.io/cli-runtime", "k8s.io/kube-aggregator",
	"sigs.k8s.io/kustomize/kyaml", "sigs.k8s.io/kustomize/api",
	// Programs: their definitions, deployments and tests.
	"github.com/argoproj/argo-workflows/v4@v4.0.5", "github.com/cert-manager/cert-manager@v1.18.2", "github.com/elastic/cloud-on-k8s/v3@v3.5.0",
	"github.com/kyverno/kyverno@v1.19.1", "github.com/mongodb/mongodb-kubernetes-operator@v0.9.0", "github.com/open-policy-agent/gatekeeper/v3@v3.23.1",
	"github.com/prometheus-operator/prometheus-operator@v0.85.0", "github.com/ray-project/kuberay/ray-operator@v1.6.0", "github.com/vmware-tanzu/velero@v1.18.3",
	"sigs.k8s.io/gateway-api@v1.3.0", "sigs.k8s.io/jobset@v0.11.1", "sigs.k8s.io/karpenter@v1.14.0", "sigs.k8s.io/kueue@v0.17.0", "sigs.k8s.io/lws@v0.8.0",
}

// TestManifests creates and applies the objects of manifests that others wrote, as dry runs, and compares the answers in JSON and as a Table. With
// -only, it takes only objects of that kind.
func TestManifests(t *testing.T) {
	run := manifestRun{damageRun: newDamageRun(t), kinds: map[string]int{}}
	seen := map[string]bool{}
	for _, module := range manifestModules {
		for _, obj := range manifests(t, module, seen) {
			kind := objkinds.Get(objkinds.Name(obj.GroupVersionKind().Group, obj.GetKind()))
			// Only one of the servers has some objects, or the fields that kube-apiserver owns.
			if kind == nil || simulatedGroup(map[string]any{"name": kind.Group}) ||
				kind.Kind == "Service" && obj.GetName() == "kubernetes" || kind.Kind == "Namespace" && obj.GetName() == "default" {
				continue
			}
			if kind.Namespaced {
				obj.SetNamespace("default")
			}
			fixService(obj)
			run.write(t, obj, collection(obj))
		}
	}
	run.end(t)
}

// TestCustomManifests does the same with custom objects, after it has created the definitions of their module.
func TestCustomManifests(t *testing.T) {
	run := manifestRun{damageRun: newDamageRun(t), kinds: map[string]int{}}
	seen := map[string]bool{}
	for _, module := range manifestModules {
		objs := manifests(t, module, seen)
		custom := run.define(t, objs)
		if len(custom) == 0 {
			continue
		}
		for _, d := range custom {
			run.await(t, d.served, 200)
		}
		for _, obj := range objs {
			if d, ok := custom[obj.GroupVersionKind().GroupKind()]; ok {
				list := "/apis/" + obj.GetAPIVersion() + "/" + d.plural
				if d.namespaced {
					obj.SetNamespace("default")
					list = "/apis/" + obj.GetAPIVersion() + "/namespaces/default/" + d.plural
				}
				run.write(t, obj, list)
			}
		}
		for _, d := range custom {
			run.remove(t, definitionPath+"/"+d.name)
		}
	}
	run.end(t)
}

const definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// customKind is a custom kind that both servers serve. served is the path of its objects in one of its versions.
type customKind struct {
	name, plural, served string
	namespaced           bool
}

// manifestRun counts the objects that it compares.
type manifestRun struct {
	*damageRun
	kinds map[string]int
}

// define creates the definitions among objects on both servers, each once. Those that both accept are of the kinds that it returns.
func (m *manifestRun) define(t *testing.T, objs []*unstructured.Unstructured) map[schema.GroupKind]customKind {
	t.Helper()
	kinds := map[schema.GroupKind]customKind{}
	for _, obj := range objs {
		var d apiextensionsv1.CustomResourceDefinition
		if obj.GetKind() != "CustomResourceDefinition" || runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &d) != nil ||
			d.Spec.Conversion != nil && d.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
			continue // no webhook runs
		}
		kind := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
		if _, known := kinds[kind]; known || simulatedGroup(map[string]any{"name": d.Spec.Group}) {
			continue
		}
		w := whole{damageRun: m.damageRun, kind: obj.GetKind(), object: obj.Object}
		if answer := w.compare(t, d.Name, form{request: request{method: "POST", path: definitionPath}}, obj.Object); strings.HasPrefix(answer, "201 ") {
			served := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
			require.GreaterOrEqual(t, served, 0, "%s serves no version", d.Name)
			kinds[kind] = customKind{d.Name, d.Spec.Names.Plural, "/apis/" + d.Spec.Group + "/" + d.Spec.Versions[served].Name + "/" + d.Spec.Names.Plural,
				d.Spec.Scope == apiextensionsv1.NamespaceScoped}
		}
	}
	return kinds
}

// remove deletes an object from both servers, and waits until it is gone.
func (m *manifestRun) remove(t *testing.T, path string) {
	t.Helper()
	for _, s := range m.servers {
		_, _, _, err := s.send(request{method: "DELETE", path: path})
		require.NoError(t, err)
	}
	m.await(t, path, 404)
}

// await waits until both servers answer a read with a code.
func (m *manifestRun) await(t *testing.T, path string, want int) {
	t.Helper()
	for _, s := range m.servers {
		require.Eventually(t, func() bool {
			code, _, _, err := s.send(request{method: "GET", path: path})
			return err == nil && code == want
		}, time.Minute, 10*time.Millisecond, "%s: %s: %d", s.name, path, want)
	}
}

// write compares what creates and applies of an object lead to. list is the path of its collection.
func (m *manifestRun) write(t *testing.T, obj *unstructured.Unstructured, list string) {
	t.Helper()
	if ok, _ := path.Match(*only, obj.GetKind()); !ok {
		return
	}
	m.kinds[obj.GetKind()]++
	w := whole{damageRun: m.damageRun, kind: obj.GetKind(), object: obj.Object}
	name := obj.GetAPIVersion() + " " + obj.GetKind() + " " + obj.GetName()
	create := request{method: "POST", path: list + "?dryRun=All"}
	random := objkinds.Get(objkinds.Name(obj.GroupVersionKind().Group, obj.GetKind())) == nil
	w.compare(t, name, form{request: create, random: random}, obj.Object)
	create.header = asTable
	w.compare(t, name+" (table)", form{request: create, table: true, random: random}, obj.Object)
	if obj.GetName() != "" {
		apply := request{method: "PATCH", path: list + "/" + obj.GetName() + "?dryRun=All&fieldManager=test",
			header: [][2]string{{"Content-Type", "application/apply-patch+yaml"}}}
		w.compare(t, name+" (apply)", form{request: apply, random: true}, obj.Object)
	}
}

func (m *manifestRun) end(t *testing.T) {
	t.Helper()
	objects := 0
	for _, kind := range slices.Sorted(maps.Keys(m.kinds)) {
		t.Logf("%5d %s", m.kinds[kind], kind)
		objects += m.kinds[kind]
	}
	t.Logf("%d objects of %d kinds", objects, len(m.kinds))
	m.damageRun.end(t)
	require.NotZero(t, objects)
}

var template = regexp.MustCompile(`{{|<[a-z-]+>|HELMSUBST`)

var documents = regexp.MustCompile(`(?m)^---.*$`)

// manifests returns the objects of the manifests of a module, each once. Templates are left out.
func manifests(t *testing.T, module string, seen map[string]bool) (list []*unstructured.Unstructured) {
	t.Helper()
	err := filepath.WalkDir(moduleDir(t, module), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "HEAD" {
			return filepath.SkipDir // objects for tests of encodings, with a text in each field
		}
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, doc := range documents.Split(string(data), -1) {
			for _, obj := range manifestObjects(doc) {
				text, err := json.Marshal(obj.Object)
				require.NoError(t, err)
				if !seen[string(text)] {
					seen[string(text)] = true
					list = append(list, obj)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return list
}

// manifestObjects returns the objects of a document, with names.
func manifestObjects(doc string) (list []*unstructured.Unstructured) {
	converted, err := yamljson.Loose([]byte(doc))
	if err != nil || template.MatchString(doc) {
		return nil
	}
	var object map[string]any
	if json.Unmarshal(converted, &object) != nil {
		return nil
	}
	objects := []any{object}
	if items, ok := object["items"].([]any); ok {
		objects = items
	}
	for _, item := range objects {
		object, _ := item.(map[string]any)
		if _, ok := object["metadata"].(map[string]any); !ok {
			continue
		}
		obj := &unstructured.Unstructured{Object: object}
		if obj.GetName() == "" && obj.GetGenerateName() != "" {
			obj.SetName(obj.GetGenerateName() + "a")
			obj.SetGenerateName("")
		}
		list = append(list, obj)
	}
	return list
}

// fixService removes the address of a Service, which may be out of range (API-350), and gives its ports the node ports that the servers would choose
// at random.
func fixService(obj *unstructured.Unstructured) {
	if obj.GetKind() != "Service" {
		return
	}
	if address, _, _ := unstructured.NestedString(obj.Object, "spec", "clusterIP"); address != "None" {
		unstructured.RemoveNestedField(obj.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(obj.Object, "spec", "clusterIPs")
	}
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	if kind != "NodePort" && kind != "LoadBalancer" || len(ports) == 0 {
		return
	}
	for i, port := range ports {
		if port, ok := port.(map[string]any); ok && port["nodePort"] == nil {
			port["nodePort"] = int64(30100 + i)
		}
	}
	_ = unstructured.SetNestedSlice(obj.Object, ports, "spec", "ports") // it is a list
}

// moduleDir returns the folder of a module.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var downloaded struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &downloaded))
	return downloaded.Dir
}

// comparableTable removes from a Table what may differ: the descriptions of the columns, which are texts of Kubernetes, and addresses and users, which
// differ between the servers. Like comparableAnswer, it removes the managedFields of a status.
func comparableTable(t *testing.T, body string, ofStatus bool) string {
	t.Helper()
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || table.Kind != "Table" {
		return body
	}
	for i := range table.ColumnDefinitions {
		column := &table.ColumnDefinitions[i]
		column.Description = ""
		for _, row := range table.Rows {
			if column.Name == "Requestor" || column.Name == "Cluster-IP" && row.Cells[i] != "None" {
				row.Cells[i] = ""
			}
		}
	}
	for i := range table.Rows {
		var obj metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal(table.Rows[i].Object.Raw, &obj))
		if ofStatus {
			obj.ManagedFields = nil
		}
		table.Rows[i].Object = runtime.RawExtension{Object: &obj}
	}
	out, err := json.Marshal(table)
	require.NoError(t, err)
	return string(out)
}
