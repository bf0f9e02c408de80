package apiserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/yamljson"
	"github.com/volsim/volsim/internal/proof/damaged"
)

var (
	every = flag.Int("every", 1, "TestDamagedWrites: 1: each damage; n: each nth")
	shown = flag.Int("shown", 20, "TestDamagedWrites: how many differences it prints for each object")
)

// TestDamagedWrites creates the objects of testdata/whole.yaml, each with one field that is missing or has another value or type, and updates them
// so, and their statuses. Requests with damaged objects are dry runs, so they are independent of each other. With -only, it takes only objects of that kind.
func TestDamagedWrites(t *testing.T) {
	compareDamages(t, func(list, name string, _ *unstructured.Unstructured) []form {
		return []form{
			{request: request{method: "POST", path: list + "?dryRun=All"}, first: true},
			{request: request{method: "PUT", path: list + "/" + name + "?dryRun=All"}, versioned: true},
			{request: request{method: "PUT", path: list + "/" + name + "/status?dryRun=All"}, versioned: true},
		}
	})
}

// TestDamagedPatches patches the objects of testdata/whole.yaml with such copies of them, in each form of a patch, as TestDamagedWrites updates them.
func TestDamagedPatches(t *testing.T) {
	compareDamages(t, func(list, name string, obj *unstructured.Unstructured) (forms []form) {
		for _, path := range []string{list + "/" + name, list + "/" + name + "/status"} {
			for _, patch := range []string{"merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml", "json-patch+json"} {
				f := form{request: request{method: "PATCH", path: path + "?dryRun=All", header: [][2]string{{"Content-Type", "application/" + patch}}}}
				switch patch {
				case "strategic-merge-patch+json":
					if obj.GetKind() == "Whole" || obj.GetKind() == "ControllerRevision" {
						continue // a custom kind has none, and data of any shape cannot be merged: kube-apiserver names that, or what else is wrong
					}
				case "apply-patch+yaml":
					f.path += "&fieldManager=whole&force=true"
				case "json-patch+json":
					f.body = func(object map[string]any) any { return replaceOperations(obj.Object, object) }
				}
				forms = append(forms, f)
			}
		}
		return forms
	})
}

// TestDamagedTables creates such objects, and updates their statuses, and compares the rows of tables, which kubectl prints.
func TestDamagedTables(t *testing.T) {
	compareDamages(t, func(list, name string, _ *unstructured.Unstructured) []form {
		return []form{
			{request: request{method: "POST", path: list + "?dryRun=All", header: asTable}, first: true, table: true},
			{request: request{method: "PUT", path: list + "/" + name + "/status?dryRun=All", header: asTable}, versioned: true, table: true},
		}
	})
}

// asTable asks for the answer as a Table.
var asTable = [][2]string{{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}}

// form is a form of requests with a damaged object.
type form struct {
	request
	body      func(object map[string]any) any // nil: the object
	first     bool                            // they precede the creation of the object
	versioned bool                            // they name the version of the stored object
	anyPart   bool                            // the status, too, is damaged
	table     bool                            // the answers are Tables
	random    bool                            // kube-apiserver may list errors in random order (API-567, API-570)
}

// ofStatus reports whether the requests write the status.
func (f form) ofStatus() bool { return strings.Contains(f.path, "/status") }

// replaceOperations returns a JSON patch that replaces the fields in which an object differs from another.
func replaceOperations(old, object map[string]any) []any {
	operations := []any{}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		value, ok := object[key]
		switch {
		case !ok:
			operations = append(operations, map[string]any{"op": "remove", "path": "/" + key})
		case !reflect.DeepEqual(value, old[key]):
			operations = append(operations, map[string]any{"op": "replace", "path": "/" + key, "value": value})
		}
	}
	return operations
}

// compareDamages compares the answers to requests with damaged objects of testdata/whole.yaml.
func compareDamages(t *testing.T, formsOf func(list, name string, obj *unstructured.Unstructured) []form) {
	run := newDamageRun(t)
	for _, obj := range wholeObjects(t) {
		// Objects of the kind Whole need its definition.
		if ok, _ := path.Match(*only, obj.GetKind()); !ok && !(*only == "Whole" && obj.GetKind() == "CustomResourceDefinition") {
			continue
		}
		t.Run(obj.GetKind()+"/"+obj.GetName(), func(t *testing.T) {
			w := whole{damageRun: run, kind: obj.GetKind(), object: obj.Object}
			list := collection(obj)
			forms := formsOf(list, obj.GetName(), obj)
			for _, f := range forms {
				if f.first {
					w.damage(t, f)
				}
			}
			w.create(t, list, obj.GetName())
			for _, f := range forms {
				if !f.first {
					w.damage(t, f)
				}
			}
			w.end(t)
		})
	}
	run.end(t)
}

// damageRun sends requests to both servers, and counts them.
type damageRun struct {
	servers            [2]*server // kube-apiserver and volsim
	count, nth, panics int
}

func newDamageRun(t *testing.T) *damageRun {
	return &damageRun{servers: [2]*server{real(t, false), simulated(t)}}
}

func (d *damageRun) end(t *testing.T) {
	t.Logf("%d requests; kube-apiserver panics at %d", d.count, d.panics)
}

// whole is an object in which nearly every field is set.
type whole struct {
	*damageRun
	kind      string
	object    map[string]any
	versions  [2]string // of the stored object, by server
	different int
}

// create creates the object on both servers.
func (w *whole) create(t *testing.T, list, name string) {
	t.Helper()
	require.Regexp(t, "^201 ", w.compare(t, "create", form{request: request{method: "POST", path: list}}, w.object))
	switch w.kind {
	case "CustomResourceDefinition", "FlowSchema":
		time.Sleep(3 * time.Second) // until kube-apiserver has written the status
	}
	for i, s := range w.servers {
		w.versions[i] = s.version(t, list+"/"+name)
	}
}

// damage sends the object with each damage in a form.
func (w *whole) damage(t *testing.T, f form) {
	t.Helper()
	for _, others := range []func(field, value any) []any{damaged.Values, damaged.Types} {
		for name, object := range damaged.Copies(w.object, others) {
			if strings.HasPrefix(name, "[status") != f.ofStatus() && !f.anyPart || unlike[w.kind+" "+name] {
				continue
			}
			if w.nth++; w.nth%*every == 0 {
				w.compare(t, f.String()+" "+name, f, object)
			}
		}
	}
}

// compare sends an object to both servers and reports different answers. It returns that of kube-apiserver.
func (w *whole) compare(t *testing.T, name string, f form, object map[string]any) string {
	t.Helper()
	sent := any(object)
	if f.body != nil {
		sent = f.body(object)
	}
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	f.request.body = string(body)
	w.count++
	var answers [2]string
	for i, s := range w.servers {
		r := f.request
		if f.versioned {
			r = r.withVersion(w.versions[i])
		}
		code, header, body, err := s.send(r)
		if i == 0 && errors.Is(err, io.EOF) { // it closes the connection without an answer: its handler panicked
			w.panics++
			t.Logf("kube-apiserver panics: %s %s", name, r.body)
			return ""
		}
		require.NoError(t, err, "%s: %s", s.name, name)
		if f.table {
			body = comparableTable(t, body, f.ofStatus())
		}
		if f.random {
			body = inOrder(body)
		}
		answers[i] = comparableAnswer(w.kind, answerText(code, header, body), f.ofStatus())
	}
	if answers[0] != answers[1] {
		if w.different++; w.different <= *shown {
			t.Errorf("%s\n%s", name, difference(answers[0], answers[1]))
		}
	}
	return answers[0]
}

var unknownField = regexp.MustCompile(`(failed to create typed patch object \([^)]*\): )(?:[^"\\]|\\.)*field not declared in schema(?:[^"\\]|\\.)*`)

// inOrder sorts the causes of an answer, and removes their list from its text. Of the errors about an apply with unknown fields only that remains.
func inOrder(body string) string {
	body = unknownField.ReplaceAllString(body, "${1}an unknown field")
	var status metav1.Status
	if json.Unmarshal([]byte(body), &status) != nil || status.Kind != "Status" || status.Details == nil || len(status.Details.Causes) < 2 {
		return body
	}
	status.Message, _, _ = strings.Cut(status.Message, " is invalid: ")
	slices.SortFunc(status.Details.Causes, func(a, b metav1.StatusCause) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	out, _ := json.Marshal(status) // it was decoded from JSON
	return string(out)
}

func (w *whole) end(t *testing.T) {
	t.Helper()
	if w.different > *shown {
		t.Errorf("%d differences", w.different)
	}
}

// String names a form: kind of patch, or method, and what it is about.
func (f form) String() string {
	name := f.method
	for _, h := range f.header {
		if f.table {
			name += " table"
			continue
		}
		name = strings.TrimPrefix(h[1], "application/")
	}
	if f.ofStatus() {
		name += " status"
	}
	return name
}

// version returns the resourceVersion of an object.
func (s *server) version(t *testing.T, path string) string {
	t.Helper()
	_, _, body, err := s.send(request{method: "GET", path: path})
	require.NoError(t, err)
	var obj metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal([]byte(body), &obj))
	return obj.ResourceVersion
}

// withVersion returns a request with the resourceVersion of the object, unless that is damaged.
func (r request) withVersion(version string) request {
	r.body = strings.Replace(r.body, `"metadata":{`, `"metadata":{"resourceVersion":"`+version+`",`, 1)
	return r
}

// comparableAnswer removes from an answer what may differ.
func comparableAnswer(kind, answer string, ofStatus bool) string {
	head, body, _ := strings.Cut(answer, "\n{")
	var value map[string]any
	if err := json.Unmarshal([]byte("{"+body), &value); err != nil {
		return answer
	}
	// API-506: managedFields of a status name what it becomes, not what was sent.
	if ofStatus {
		unstructured.RemoveNestedField(value, "metadata", "managedFields")
	}
	comparableFields(kind, value)
	// API-548: Kubernetes validates parts of an update several times, and names what is wrong with them each time.
	if causes, ok, _ := unstructured.NestedSlice(value, "details", "causes"); ok {
		var distinct []any
		for _, cause := range causes {
			if !slices.ContainsFunc(distinct, func(other any) bool { return reflect.DeepEqual(cause, other) }) {
				distinct = append(distinct, cause)
			}
		}
		_ = unstructured.SetNestedSlice(value, distinct, "details", "causes") // it exists
	}
	out, _ := json.MarshalIndent(value, "", " ") // it was decoded from JSON
	return head + "\n" + string(out)
}

// comparableFields removes the fields of an object, and of objects in texts, that may differ.
func comparableFields(kind string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, path := range different[kind] {
			unstructured.RemoveNestedField(value, path...)
		}
		for name, field := range value {
			if text, ok := field.(string); ok && name == "message" && len(different[kind]) > 0 {
				value[name] = quotedObject.ReplaceAllStringFunc(text, func(quoted string) string { return comparableObject(kind, quoted) })
			} else {
				comparableFields(kind, field)
			}
		}
	case []any:
		for _, item := range value {
			comparableFields(kind, item)
		}
	}
}

// quotedObject is an object that a text quotes.
var quotedObject = regexp.MustCompile(`"\{(?:[^"\\]|\\.)*\}"`)

func comparableObject(kind, quoted string) string {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return quoted
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return quoted
	}
	comparableFields(kind, object)
	out, _ := json.Marshal(object) // it was decoded from JSON
	return strconv.Quote(string(out))
}

// different are fields by kind whose values differ, or may differ.
var different = map[string][][]string{
	// API-306: the names of a new definition are accepted at once.
	"CustomResourceDefinition": {{"status"}, {"metadata", "managedFields"}},
	// Both servers choose them at random.
	"Service": {{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"}},
	// API-522: kube-apiserver applies the status, volsim updates it.
	"FlowSchema": {{"metadata", "managedFields"}},
	// Tokens are random, and the issuer of a server is its default audience. API-395: the managedFields of a body are missing.
	"TokenRequest": {{"status", "token"}, {"spec", "audiences"}, {"metadata", "managedFields"}},
	// How many ways to authenticate a client there are decides on the brackets. kube-apiserver has no order of roles.
	"TokenReview":            {{"status", "error"}},
	"SelfSubjectRulesReview": {{"status"}},
	// The two clients are different users.
	"CertificateSigningRequest": {{"spec", "username"}, {"spec", "uid"}, {"spec", "groups"}, {"spec", "extra"}},
}

// unlike are damages that the servers do not answer in the same way.
var unlike = map[string]bool{
	// This kube-apiserver runs without the plugin that gives pods a service account.
	"Pod [spec serviceAccountName] 0": true,
	"Pod [spec serviceAccountName] 1": true,
	// Both servers choose a port, kube-apiserver even one out of range, because a dry run allocates none.
	"Service [spec ports * nodePort] 0": true,
	"Service [spec ports * nodePort] 1": true,
	// Without them in the body, a delete is no dry run.
	"DeleteOptions [dryRun] 0": true,
	"DeleteOptions [dryRun] 1": true,
	// volsim takes an empty uid for none.
	"DeleteOptions [preconditions uid] 1": true,
	// volsim takes an empty list of a status for none.
	"ResourceClaim [status allocation devices results * bindingConditions] 1":        true,
	"ResourceClaim [status allocation devices results * bindingFailureConditions] 1": true,
	// The kind of an object within a custom object is read before anything is validated.
	"Whole [spec template apiVersion] 0": true,
	"Whole [spec template kind] 0":       true,
	// A schema of items that is text or a list is none for volsim.
	"CustomResourceDefinition [spec versions * schema openAPIV3Schema properties spec properties list items] 1": true,
	"CustomResourceDefinition [spec versions * schema openAPIV3Schema properties spec properties list items] 2": true,
}

func wholeObjects(t *testing.T) (list []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile("testdata/whole.yaml")
	require.NoError(t, err)
	for _, text := range strings.Split(string(data), "\n---\n") {
		converted, err := yamljson.Strict([]byte(text))
		require.NoError(t, err)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(converted), text)
		switch obj.GetKind() {
		case "APIService", "CustomResourceDefinition", "IPAddress": // their names are no prefixes
		default:
			obj.SetGenerateName("whole-")
		}
		obj.SetLabels(map[string]string{"app": "a", "example.com/part": "b"})
		obj.SetAnnotations(map[string]string{"example.com/note": "c"})
		obj.SetFinalizers([]string{"example.com/keep"})
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u", Controller: new(true), BlockOwnerDeletion: new(false)}})
		list = append(list, obj)
	}
	return list
}

// collection returns the path of the objects of a kind and namespace.
func collection(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	kind := objkinds.Get(objkinds.Name(gvk.Group, gvk.Kind))
	if kind == nil { // that of the definition
		kind = &objkinds.Kind{Plural: strings.ToLower(gvk.Kind) + "s", Namespaced: true}
	}
	root := "/apis/" + obj.GetAPIVersion()
	if gvk.Group == "" {
		root = "/api/v1"
	}
	if kind.Namespaced {
		root += "/namespaces/" + obj.GetNamespace()
	}
	return root + "/" + kind.Plural
}
