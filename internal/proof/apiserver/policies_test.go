package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"
	"time"
)

// policyCase is a policy with a binding, for objects with the label case: NAME unless the spec says otherwise, and requests.
type policyCase struct {
	name string
	// validate and mutate are the specs of policies in JSON, without matchConstraints; "" for no such policy. bind has the fields of the binding
	// other than policyName.
	validate, mutate, bind string
	// resources are the resources of the rule; "" is ConfigMaps. match has further fields of matchConstraints.
	resources, match string
	// before are requests before policies take effect.
	before   []string
	requests []string // as those of hookCase
}

const (
	registration = "/apis/admissionregistration.k8s.io/v1/"
	deny         = `"validationActions":["Deny"]`
)

// merged returns fields in JSON, with others in their place. Both are without braces.
func merged(fields, others string) string {
	result := map[string]json.RawMessage{}
	for _, text := range []string{fields, others} {
		more := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte("{"+text+"}"), &more); err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		maps.Copy(result, more)
	}
	data, _ := json.Marshal(result) // it was decoded from JSON
	return string(data)
}

// objects returns the requests that make the policies and their bindings.
func (c policyCase) objects() []string {
	var list []string
	add := func(kind, spec string) {
		rules := `"resourceRules":` + rulesFor(`configmaps`)
		if c.resources != "" {
			rules = `"resourceRules":` + rulesFor(c.resources)
		}
		bind := `"policyName":"CASE"`
		if kind == "mutatingadmissionpolicies" {
			rules = strings.ReplaceAll(rules, `["*"],"apiGroups"`, `["CREATE","UPDATE"],"apiGroups"`)
		} else {
			bind += "," + deny
		}
		match := merged(`"objectSelector":{"matchLabels":{"case":"CASE"}},`+rules, c.match)
		list = append(list,
			fmt.Sprintf(`POST %s%s {"metadata":{"name":"CASE"},"spec":%s}`, registration, kind, merged(`"matchConstraints":`+match, spec)),
			fmt.Sprintf(`POST %s%s {"metadata":{"name":"b-CASE"},"spec":%s}`, registration, strings.Replace(kind, "policies", "policybindings", 1), merged(bind, c.bind)))
	}
	if c.mutate != "" {
		add("mutatingadmissionpolicies", merged(`"reinvocationPolicy":"Never"`, c.mutate)[1:len(merged(`"reinvocationPolicy":"Never"`, c.mutate))-1])
	}
	if c.validate != "" {
		add("validatingadmissionpolicies", c.validate)
	}
	return list
}

// TestPolicies makes the same policies at both servers, and compares the answers to requests.
func TestPolicies(t *testing.T) {
	want, got := real(t, false), simulated(t)
	compare := func(name, text string) {
		t.Helper()
		r := hookCase{name: name}.requestOf(text)
		results := []string{want.answer(t, r), got.answer(t, r)}
		if results[0] != results[1] {
			t.Errorf("%s: %s %s\n%s", name, r, r.body, difference(results[0], results[1]))
		}
	}
	chosen := func(name string) bool {
		ok, _ := path.Match(*only, name)
		return ok
	}
	for _, r := range preparation {
		for _, s := range []*server{want, got} {
			s.answer(t, hookCase{}.requestOf(r))
		}
	}
	time.Sleep(4 * time.Second) // until kube-apiserver serves the custom kind
	count := 0
	for _, c := range policyCases {
		if !chosen(c.name) {
			continue
		}
		for _, r := range append(c.before, c.objects()...) {
			count++
			compare(c.name, r)
		}
	}
	time.Sleep(8 * time.Second) // until kube-apiserver has compiled the policies, and has the schemas of the custom kind
	for _, c := range policyCases {
		if !chosen(c.name) {
			continue
		}
		for _, r := range c.requests {
			if r == "wait" {
				time.Sleep(3 * time.Second) // until kube-apiserver has seen a change
				continue
			}
			count++
			compare(c.name, r)
		}
	}
	t.Logf("%d requests", count)
}

const (
	policiesPath        = registration + "validatingadmissionpolicies"
	bindingsPath        = registration + "validatingadmissionpolicybindings"
	mutatingsPath       = registration + "mutatingadmissionpolicies"
	mutatingBindingPath = registration + "mutatingadmissionpolicybindings"
	aboutMaps           = `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`
	patchMap            = `merge: PATCH /api/v1/namespaces/default/configmaps/a-CASE `
	deleteMap           = `DELETE /api/v1/namespaces/default/configmaps/a-CASE`
)

// validationOf is a request for a policy with that spec.
func validationOf(spec string) string {
	return `POST ` + policiesPath + `?dryRun=All {"metadata":{"name":"CASE-x"},"spec":{` + spec + `}}`
}

func mutationOf(spec string) string {
	return `POST ` + mutatingsPath + `?dryRun=All {"metadata":{"name":"CASE-x"},"spec":{` + spec + `}}`
}

func bindingOf(spec string) string {
	return `POST ` + bindingsPath + `?dryRun=All {"metadata":{"name":"CASE-x"},"spec":{` + spec + `}}`
}

func mutatingBindingOf(spec string) string {
	return `POST ` + mutatingBindingPath + `?dryRun=All {"metadata":{"name":"CASE-x"},"spec":{` + spec + `}}`
}

func pvc(name, more string) string {
	return `POST /api/v1/namespaces/default/persistentvolumeclaims {"metadata":{"name":"` + name + `","labels":{"case":"CASE"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}` + more + `}}`
}

func deployment(name, replicas, image string) string {
	return `POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"` + name + `","labels":{"case":"CASE"}},"spec":{"replicas":` + replicas +
		`,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`
}

var policyCases = []policyCase{
	{name: "wrong", requests: []string{
		validationOf(``),
		`POST ` + policiesPath + `?dryRun=All {"metadata":{"name":"x"}}`,
		validationOf(`"matchConstraints":{},"validations":[]`),
		validationOf(aboutMaps + `,"validations":[{"expression":"true"}],"status":1`),
		validationOf(aboutMaps + `,"failurePolicy":"Maybe","validations":[{"expression":""},{"expression":" ","message":" ","messageExpression":" "},{"expression":"true","message":"a\nb","reason":"NotFound"}]`),
		validationOf(aboutMaps + `,"validations":[{"expression":"object.x =="},{"expression":"1"},{"expression":"unknown"},{"expression":"true","messageExpression":"1"},{"expression":"params.a"}]`),
		validationOf(aboutMaps + `,"validations":[{"expression":"true","messageExpression":"string(authorizer.requestResource.check('x').allowed())"},{"expression":"variables.x"},{"expression":"namespaceObject.metadata.absent == ''"},{"expression":"request.absent"}]`),
		validationOf(aboutMaps + `,"variables":[{"name":"","expression":""},{"name":"in","expression":"1"},{"name":"a-b","expression":"1"},{"name":"ok","expression":"absent"},{"name":"two","expression":"variables.three"},{"name":"three","expression":"1"}],"validations":[{"expression":"variables.three == 'a'"},{"expression":"variables.ok"}]`),
		validationOf(aboutMaps + `,"variables":[{"name":"l","expression":"[1,2]"},{"name":"m","expression":"{'a':'b'}"},{"name":"d","expression":"object.x"}],"validations":[{"expression":"variables.l.all(x, x == 'a')"},{"expression":"variables.m.a == 1"},{"expression":"variables.d == 1"},{"expression":"variables"}]`),
		validationOf(aboutMaps + `,"paramKind":{},"validations":[{"expression":"true"}]`),
		validationOf(aboutMaps + `,"paramKind":{"apiVersion":"a/b/c","kind":"Not Valid"},"validations":[{"expression":"true"}]`),
		validationOf(aboutMaps + `,"paramKind":{"apiVersion":"/","kind":"x"},"validations":[{"expression":"true"}]`),
		validationOf(aboutMaps + `,"paramKind":{"apiVersion":"Not_Valid/V1","kind":"ConfigMap"},"validations":[{"expression":"params.a == 1","messageExpression":"params.b"}]`),
		validationOf(aboutMaps + `,"auditAnnotations":[{"key":"a","valueExpression":"'x'"},{"key":"a","valueExpression":"null"},{"key":"not valid","valueExpression":"1"},{"key":"","valueExpression":" "},{"key":"b","valueExpression":"object.x"}]`),
		validationOf(aboutMaps + `,"matchConditions":[{"name":"","expression":"params"},{"name":"a","expression":"1"},{"name":"a","expression":" "},{"name":"b","expression":"variables.x"}],"validations":[{"expression":"true"}]`),
		validationOf(`"validations":[{"expression":"true"}],"matchConstraints":{"matchPolicy":"Some","namespaceSelector":{"matchLabels":{"a b":"c"}},"objectSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]},"resourceRules":[{"resourceNames":["a","a","b/c"],"operations":["*","CREATE","X"],"apiGroups":[],"apiVersions":[""],"resources":["*","pods/*","pods/status"],"scope":"All"}],"excludeResourceRules":[{}]}`),
		validationOf(aboutMaps + `,"validations":[{"expression":"object.data.all(k, object.data.all(l, k == l))"},{"expression":"object.x.matches('[')"},{"expression":"'a'.matches('[')"}]`),
		validationOf(`"validations":[{"expression":"true","unknown":1}]`),
		`POST ` + policiesPath + ` {"metadata":{"generateName":"gen-"},"spec":{` + aboutMaps + `,"auditAnnotations":[{"key":"a","valueExpression":"'x'"}],"validations":[{"expression":"1"}]}}`,
		`POST ` + policiesPath + `?dryRun=All {"metadata":{"name":"x.static.k8s.io"},"spec":{` + aboutMaps + `,"validations":[{"expression":"true"}]}}`,
	}},
	{name: "wrong-binding", requests: []string{
		bindingOf(``), bindingOf(`"policyName":"Not Valid","validationActions":[]`),
		bindingOf(`"policyName":"a","validationActions":["Deny","Warn","Deny","Stop"]`),
		bindingOf(`"policyName":"a","validationActions":["Audit","Warn"]`),
		bindingOf(`"policyName":"a","validationActions":["Deny"],"paramRef":{}`),
		bindingOf(`"policyName":"a","validationActions":["Deny"],"paramRef":{"name":"a/b","selector":{"matchLabels":{"a b":"c"}},"parameterNotFoundAction":"Ignore"}`),
		bindingOf(`"policyName":"a","validationActions":["Deny"],"paramRef":{"name":"a","namespace":"Not Valid","parameterNotFoundAction":"Allow"}`),
		bindingOf(`"policyName":"a","validationActions":["Deny"],"matchResources":{"resourceRules":[{}],"matchPolicy":"x"}`),
		bindingOf(`"policyName":"a","validationActions":["Deny"],"matchResources":{}`),
		mutatingBindingOf(``), mutatingBindingOf(`"policyName":"a","validationActions":["Deny"]`),
		mutatingBindingOf(`"policyName":"a","matchResources":{"resourceRules":[{"operations":["*","DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}`),
		mutatingBindingOf(`"policyName":"a","paramRef":{"selector":{},"parameterNotFoundAction":"Deny"}`),
	}},
	{name: "wrong-mutation", requests: []string{
		mutationOf(``), mutationOf(aboutMaps),
		mutationOf(aboutMaps + `,"reinvocationPolicy":"Always","mutations":[{"patchType":""},{"patchType":"Merge"},{"patchType":"JSONPatch"},{"patchType":"ApplyConfiguration"}]`),
		mutationOf(aboutMaps + `,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","applyConfiguration":{"expression":""},"jsonPatch":{"expression":" "}},{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":""},"jsonPatch":{"expression":" "}}]`),
		mutationOf(aboutMaps + `,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[1]"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: 1}]"}},{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{} == Object{}"}},{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: 1, x: Object.x{y: params}}"}},{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Other{}"}}]`),
		mutationOf(`"matchConstraints":{"resourceRules":[{"operations":["*","DELETE","CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]`),
		mutationOf(aboutMaps + `,"reinvocationPolicy":"Never","variables":[{"name":"a","expression":"Object{}"},{"name":"b","expression":"1"}],"matchConditions":[{"name":"a","expression":"variables.b == 1"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{x: variables.c}"}}]`),
		mutationOf(aboutMaps + `,"reinvocationPolicy":"IfNeeded","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/x/' + jsonpatch.escapeKey('a/b'), value: params.data.x}]"}}]`),
	}},
	{name: "stored", validate: `"validations":[{"expression":"true"}]`, match: `"objectSelector":{},"excludeResourceRules":` + rulesFor("pods"), bind: `"matchResources":{"resourceRules":` + rulesFor("pods") + `}`, requests: []string{
		`GET ` + policiesPath + `/CASE`, `GET ` + bindingsPath + `/b-CASE`,
		`merge: PATCH ` + policiesPath + `/CASE {"spec":{"validations":[{"expression":"1 == 1"}]}}`,
		`merge: PATCH ` + policiesPath + `/CASE {"metadata":{"labels":{"a":"b"}},"status":{"observedGeneration":7}}`,
		`merge: PATCH ` + policiesPath + `/CASE/status {"status":{"observedGeneration":2,"typeChecking":{"expressionWarnings":[{"fieldRef":"spec.validations[0].expression","warning":"w"}]},"conditions":[{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]},"spec":{"validations":[]}}`,
		`merge: PATCH ` + policiesPath + `/CASE/status {"status":{"typeChecking":{"expressionWarnings":[{"fieldRef":" ","warning":""}]},"conditions":[{"type":"A","status":"Maybe"}]}}`,
		`merge: PATCH ` + policiesPath + `/CASE {"spec":{"validations":[{"expression":"1"}]}}`,
		`PUT ` + policiesPath + `/CASE {"metadata":{"name":"CASE"},"spec":{}}`,
		`apply: PATCH ` + policiesPath + `/CASE?fieldManager=me&force=true {"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"CASE"},"spec":{"failurePolicy":"Ignore"}}`,
		`merge: PATCH ` + bindingsPath + `/b-CASE {"spec":{"validationActions":["Audit"]}}`,
		`merge: PATCH ` + bindingsPath + `/b-CASE {"spec":{"validationActions":["Audit","Audit"]}}`,
		`DELETE ` + policiesPath + `/CASE`,
	}},
	{name: "required", validate: `"validations":[{"expression":"has(object.metadata.labels) && 'team' in object.metadata.labels","message":"the label team is required"}]`, requests: []string{
		createMap,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE","team":"a"}}}`,
		`POST ` + configMaps + ` {"metadata":{"generateName":"gen-","labels":{"case":"CASE"}}}`,
		`POST ` + configMaps + `?dryRun=All {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"UP","labels":{"case":"CASE"}}}`,
		`merge: PATCH ` + configMaps + `/b-CASE {"metadata":{"labels":{"team":null}}}`,
		`PUT ` + configMaps + `/b-CASE {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`,
		`apply: PATCH ` + configMaps + `/d-CASE?fieldManager=app {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d-CASE","labels":{"case":"CASE"}}}`,
		`DELETE ` + configMaps + `/b-CASE`,
	}},
	{name: "replicas", resources: "deployments,deployments/scale", match: `"objectSelector":{},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}},"resourceRules":[{"resourceNames":["r-replicas"],"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","deployments/scale"]}]`,
		validate: `"validations":[{"expression":"object.spec.replicas <= 5","messageExpression":"'replicas must be at most 5, not ' + string(object.spec.replicas)"}]`, requests: []string{
			deployment("r-replicas", "7", "i"), deployment("r-replicas", "3", "i"),
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/r-replicas {"spec":{"replicas":6}}`,
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/r-replicas/scale {"spec":{"replicas":6}}`,
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/r-replicas/scale {"spec":{"replicas":5}}`,
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/r-replicas/status {"status":{"replicas":9}}`,
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/d {"spec":{"replicas":6}}`,
		}},
	{name: "images", resources: "pods,deployments", validate: `"variables":[{"name":"containers","expression":"request.kind.kind == 'Pod' ? object.spec.containers : object.spec.template.spec.containers"},{"name":"foreign","expression":"variables.containers.filter(c, !c.image.startsWith('registry.example.com/'))"}],` +
		`"validations":[{"expression":"size(variables.foreign) == 0","messageExpression":"'not from our registry: ' + variables.foreign.map(c, c.image).join(', ')","reason":"Forbidden"}]`, requests: []string{
		`POST /api/v1/namespaces/default/pods {"metadata":{"name":"i-1","labels":{"case":"CASE"}},"spec":{"containers":[{"name":"a","image":"nginx"},{"name":"b","image":"registry.example.com/b"},{"name":"c","image":"redis"}]}}`,
		`POST /api/v1/namespaces/default/pods {"metadata":{"name":"i-2","labels":{"case":"CASE"}},"spec":{"containers":[{"name":"b","image":"registry.example.com/b"}]}}`,
		deployment("i", "1", "other.example.com/i"),
		`strategic: PATCH /api/v1/namespaces/default/pods/i-2 {"spec":{"containers":[{"name":"b","image":"busybox"}]}}`,
		`DELETE /api/v1/namespaces/default/pods/i-2`,
		`DELETE /api/v1/namespaces/default/pods/i-2?gracePeriodSeconds=0`,
	}},
	{name: "classes", resources: "persistentvolumeclaims", validate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"!has(object.spec.storageClassName) || object.spec.storageClassName in params.data.classes.split(',')","messageExpression":"'class ' + object.spec.storageClassName + ' is not one of ' + params.data.classes + ' (' + params.metadata.name + ', ' + params.kind + ')'"},{"expression":"quantity(object.spec.resources.requests.storage).compareTo(quantity(params.data.limit)) <= 0","message":"the claim is too large","reason":"RequestEntityTooLarge"}]`,
		bind: `"paramRef":{"name":"limits","namespace":"kube-system","parameterNotFoundAction":"Deny"}`,
		before: []string{
			`POST /api/v1/namespaces/kube-system/configmaps {"metadata":{"name":"limits"},"data":{"classes":"fast,slow","limit":"10Gi"}}`,
		}, requests: []string{
			pvc("p-1", `,"storageClassName":"fast"`), pvc("p-2", `,"storageClassName":"gold"`), pvc("p-3", ``),
			`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/p-1 {"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`,
			`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/p-1/status {"status":{"phase":"Bound"}}`,
			`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/p-1 {"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`,
			`merge: PATCH /api/v1/namespaces/kube-system/configmaps/limits {"data":{"limit":"1Gi"}}`, "wait", pvc("p-4", `,"storageClassName":"fast"`),
			`DELETE /api/v1/namespaces/kube-system/configmaps/limits`, "wait", pvc("p-4", `,"storageClassName":"fast"`),
			`DELETE /api/v1/namespaces/default/persistentvolumeclaims/p-1`,
		}},
	{name: "absent-allow", validate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"false"}]`, bind: `"paramRef":{"name":"absent","parameterNotFoundAction":"Allow"}`, requests: []string{createMap}},
	{name: "absent-ref", validate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"params == null","messageExpression":"'params: ' + string(params.x)"},{"expression":"params.x == 1"}]`, requests: []string{createMap}},
	{name: "absent-kind", validate: `"paramKind":{"apiVersion":"example.com/v9","kind":"Absent"},"validations":[{"expression":"true"}]`, bind: `"paramRef":{"name":"absent","parameterNotFoundAction":"Allow"}`, requests: []string{createMap}},
	{name: "absent-kind-ignored", validate: `"failurePolicy":"Ignore","paramKind":{"apiVersion":"example.com/v9","kind":"Absent"},"validations":[{"expression":"false"}]`, bind: `"paramRef":{"name":"absent","parameterNotFoundAction":"Allow"}`, requests: []string{createMap}},
	{name: "selected-params", validate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"params.data.max == 'none' || object.data.k != params.data.max","messageExpression":"params.metadata.name"}]`, bind: `"paramRef":{"selector":{"matchLabels":{"params":"CASE"}},"parameterNotFoundAction":"Deny"}`,
		before: []string{
			`POST ` + configMaps + ` {"metadata":{"name":"p1-CASE","labels":{"params":"CASE"}},"data":{"max":"none"}}`,
			`POST ` + configMaps + ` {"metadata":{"name":"p2-CASE","labels":{"params":"CASE"}},"data":{"max":"v"}}`,
		}, requests: []string{
			createMap,
			`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`,
			`POST /api/v1/namespaces/chosen/configmaps {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`,
		}},
	{name: "custom-params", validate: `"paramKind":{"apiVersion":"example.com/v1","kind":"Gadget"},"validations":[{"expression":"size(object.data) <= params.spec.size","messageExpression":"'at most ' + string(params.spec.size) + ' of ' + params.apiVersion + ' ' + params.spec.mode"}]`, bind: `"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"}`,
		before:   []string{`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"limit"},"spec":{"size":1}}`},
		requests: []string{createMap, patchMap + `{"data":{"x":"y"}}`}},
	{name: "cluster-params", resources: "storageclasses", validate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"false"}]`, bind: `"paramRef":{"name":"x","parameterNotFoundAction":"Deny"}`,
		requests: []string{`POST /apis/storage.k8s.io/v1/storageclasses {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}},"provisioner":"p.example.com"}`}},
	{name: "namespaced-ref", validate: `"paramKind":{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass"},"validations":[{"expression":"false"}]`, bind: `"paramRef":{"name":"x","namespace":"default","parameterNotFoundAction":"Deny"}`, requests: []string{createMap}},
	{name: "class-params", validate: `"paramKind":{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass"},"validations":[{"expression":"params.provisioner == object.data.k","messageExpression":"params.provisioner + ' ' + params.reclaimPolicy"}]`, bind: `"paramRef":{"name":"c-CASE","parameterNotFoundAction":"Deny"}`,
		before: []string{`POST /apis/storage.k8s.io/v1/storageclasses {"metadata":{"name":"c-CASE"},"provisioner":"p.example.com"}`}, requests: []string{createMap}},
	{name: "warns", validate: `"validations":[{"expression":"false","message":" spaces "},{"expression":"object.data.k == 'w'"},{"expression":"object.absent == 1"},{"expression":"true"}]`, bind: `"validationActions":["Warn","Audit"]`, requests: []string{createMap, patchMap + `{"data":{"k":"w"}}`}},
	{name: "audits", validate: `"validations":[{"expression":"false"}],"auditAnnotations":[{"key":"k","valueExpression":"'value'"}]`, bind: `"validationActions":["Audit"]`, requests: []string{createMap}},
	{name: "annotation-fails", validate: `"auditAnnotations":[{"key":"k","valueExpression":"string(object.absent)"}]`, bind: `"validationActions":["Audit"]`, requests: []string{createMap}},
	{name: "fails", validate: `"validations":[{"expression":"object.data.absent == 'x'","message":"m","reason":"Forbidden"},{"expression":"false"}]`, requests: []string{createMap}},
	{name: "fails-ignored", validate: `"failurePolicy":"Ignore","validations":[{"expression":"object.data.absent == 'x'"},{"expression":"object.data.k == 'w'","message":"not w"}]`, requests: []string{createMap, `POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`}},
	{name: "variable-fails", validate: `"variables":[{"name":"x","expression":"object.data.absent"},{"name":"y","expression":"variables.x + 'z'"}],"validations":[{"expression":"variables.y == 'z'"}]`, requests: []string{createMap}},
	{name: "several", validate: `"validations":[{"expression":"true"},{"expression":"false","message":"first","reason":"RequestEntityTooLarge"},{"expression":"false","message":"second"}]`, requests: []string{createMap}},
	{name: "messages", validate: `"validations":[{"expression":"object.data.k != 'absent'","messageExpression":"object.data.absent","message":"fallback"},{"expression":"object.data.k != 'lines'","messageExpression":"'a\\nb'"},{"expression":"object.data.k != 'empty'","messageExpression":"' '"},{"expression":"object.data.k != 'plain'\n  && true"}]`, requests: []string{
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"absent"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"lines"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"empty"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"plain"}}`,
	}},
	{name: "expensive", validate: `"validations":[{"expression":"[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, [0,1,2,3,4,5,6,7,8,9].all(g, a+b+c+d+e+f+g >= 0)))))))"}]`, requests: []string{createMap}},
	{name: "conditions", validate: `"matchConditions":[{"name":"a","expression":"object.data.k != 'free'"},{"name":"b","expression":"!('system:nobody' in request.userInfo.groups)"}],"validations":[{"expression":"false","messageExpression":"request.operation + ' ' + request.resource.resource + ' ' + request.name + ' ' + request.namespace"}]`, requests: []string{
		createMap, `POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"free"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}}}`,
	}},
	{name: "condition-namespace", validate: `"matchConditions":[{"name":"a","expression":"namespaceObject == null"}],"validations":[{"expression":"namespaceObject == null","messageExpression":"namespaceObject.metadata.name + ' ' + namespaceObject.metadata.labels['team'] + ' ' + namespaceObject.status.phase + ' ' + namespaceObject.spec.finalizers[0]"}]`, requests: []string{
		`POST /api/v1/namespaces/chosen/configmaps {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`,
	}},
	{name: "condition-fails", validate: `"matchConditions":[{"name":"a","expression":"object.absent == 1"},{"name":"b","expression":"object.other == 1"}],"validations":[{"expression":"true"}]`, requests: []string{createMap}},
	{name: "condition-warns", validate: `"matchConditions":[{"name":"a","expression":"object.absent == 1"}],"validations":[{"expression":"true"}]`, bind: `"validationActions":["Warn"]`, requests: []string{createMap}},
	{name: "condition-ignored", validate: `"failurePolicy":"Ignore","matchConditions":[{"name":"a","expression":"object.absent == 1"}],"validations":[{"expression":"false"}]`, requests: []string{createMap}},
	{name: "authorizer", validate: `"validations":[{"expression":"!authorizer.group('').resource('pods').namespace('default').check('create').allowed()","message":"may create pods"}]`, requests: []string{createMap}},
	{name: "requester", validate: `"validations":[{"expression":"request.dryRun == false","messageExpression":"'dry ' + request.options.fieldManager"},{"expression":"request.operation != 'UPDATE' || oldObject.data.k == object.data.k","messageExpression":"oldObject.data.k + ' to ' + object.data.k"},{"expression":"request.operation != 'DELETE' || object != null","messageExpression":"'delete ' + oldObject.metadata.name + ' ' + string(oldObject.metadata.generation)"}]`, requests: []string{
		createMap, `POST ` + configMaps + `?dryRun=All&fieldManager=me {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`,
		patchMap + `{"data":{"k":"w"}}`, patchMap + `{"data":{"x":"w"}}`, deleteMap, `DELETE ` + configMaps + `?labelSelector=case%3DCASE`, `GET ` + configMaps + `/a-CASE`,
	}},
	{name: "deletes", validate: `"validations":[{"expression":"request.operation != 'DELETE' || !has(oldObject.metadata.annotations) || oldObject.metadata.annotations['keep'] != 'yes'","message":"it is kept"}]`, requests: []string{
		createMap, patchMap + `{"metadata":{"annotations":{"keep":"yes"}}}`, deleteMap, `DELETE ` + configMaps + `?labelSelector=case%3DCASE`, patchMap + `{"metadata":{"annotations":{"keep":"no"}}}`, deleteMap,
	}},
	{name: "spaces", resources: "namespaces,secrets", match: `"objectSelector":{},"namespaceSelector":{"matchLabels":{"policy":"CASE"}}`, validate: `"validations":[{"expression":"false","messageExpression":"namespaceObject == null ? 'no namespace' : namespaceObject.metadata.name"}]`, requests: []string{
		`POST /api/v1/namespaces {"metadata":{"name":"q1","labels":{"policy":"CASE"}}}`, `POST /api/v1/namespaces {"metadata":{"name":"q2"}}`,
		`merge: PATCH /api/v1/namespaces/q2 {"metadata":{"labels":{"policy":"CASE"}}}`, `POST /api/v1/namespaces/q2/secrets {"metadata":{"name":"s"}}`, `POST /api/v1/namespaces/absent/secrets {"metadata":{"name":"s"}}`,
	}},
	{name: "bound", validate: `"validations":[{"expression":"false"}]`, bind: `"matchResources":{"namespaceSelector":{"matchLabels":{"team":"a"}},"excludeResourceRules":[{"resourceNames":["free"],"operations":["*"],"apiGroups":[""],"apiVersions":["*"],"resources":["*"]}]}`, requests: []string{
		createMap, `POST /api/v1/namespaces/chosen/configmaps {"metadata":{"name":"x","labels":{"case":"CASE"}}}`, `POST /api/v1/namespaces/chosen/configmaps {"metadata":{"name":"free","labels":{"case":"CASE"}}}`,
	}},
	{name: "excluded", resources: "configmaps,secrets", match: `"excludeResourceRules":[{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]},{"resourceNames":["a-CASE"],"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]`, validate: `"validations":[{"expression":"false"}]`, requests: []string{
		createMap, patchMap + `{"data":{"k":"w"}}`, deleteMap, `POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`, `POST /api/v1/namespaces/default/secrets {"metadata":{"name":"a-CASE","labels":{"case":"CASE"}}}`,
	}},
	{name: "unbound", validate: `"validations":[{"expression":"false"}]`, bind: `"policyName":"nothing"`, requests: []string{createMap, `DELETE ` + bindingsPath + `/b-CASE`}},
	{name: "versions", match: `"objectSelector":{},"resourceRules":[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["gadgets","gadgets/*"]}]`, validate: `"matchConditions":[{"name":"a","expression":"request.resource.version == request.requestResource.version && object.metadata.name.startsWith('v-')"}],"validations":[{"expression":"object.spec.size < 3","messageExpression":"object.apiVersion + ' ' + request.kind.version + ' ' + request.resource.version + ' ' + request.requestKind.version + ' ' + request.subResource"}]`, requests: []string{
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"v-1"},"spec":{"size":3}}`,
		`POST /apis/example.com/v2/namespaces/default/gadgets {"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"v-1"},"spec":{"size":3}}`,
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"v-1"},"spec":{"size":2}}`,
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"v-2"},"spec":{}}`,
		`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/v-1/status {"status":{"size":3}}`,
		`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/v-1/scale {"spec":{"replicas":4}}`,
		`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/v-1 {"spec":{"size":4}}`,
		`DELETE /apis/example.com/v1/namespaces/default/gadgets/v-1`,
	}},
	{name: "pods", resources: "pods/*", validate: `"validations":[{"expression":"false","messageExpression":"request.subResource + ' ' + request.kind.kind + ' ' + request.name"}]`, requests: []string{
		`POST /api/v1/namespaces/default/pods/bound/binding {"metadata":{"name":"bound","labels":{"case":"CASE"}},"target":{"kind":"Node","name":"n1"}}`,
		`POST /api/v1/namespaces/default/pods/evicted/eviction {"metadata":{"name":"evicted","labels":{"case":"CASE"}}}`,
		`merge: PATCH /api/v1/namespaces/default/pods/bound/status {"status":{"message":"m"},"metadata":{"labels":{"case":"CASE"}}}`,
	}},
	{name: "reviews", resources: "serviceaccounts/token,validatingwebhookconfigurations,validatingadmissionpolicybindings", match: `"objectSelector":{}`, validate: `"matchConditions":[{"name":"a","expression":"request.namespace != 'kube-system'"}],"validations":[{"expression":"false"}]`, requests: []string{
		`POST /api/v1/namespaces/default/serviceaccounts {"metadata":{"name":"CASE"}}`,
		`POST /api/v1/namespaces/default/serviceaccounts/CASE/token {"spec":{}}`,
		`POST ` + registration + `validatingwebhookconfigurations {"metadata":{"name":"w"}}`,
		bindingOf(`"policyName":"a","validationActions":["Deny"]`),
		`DELETE ` + policiesPath + `/CASE`,
	}},
	{name: "label", mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'added': object.metadata.name}}}"}}]`, requests: []string{
		createMap, patchMap + `{"metadata":{"labels":{"added":null}}}`, patchMap + `{"data":{"x":"y"}}`,
		`apply: PATCH ` + configMaps + `/b-CASE?fieldManager=app {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`,
		`POST ` + configMaps + ` {"metadata":{"generateName":"gen-","labels":{"case":"CASE"}}}`,
		`PUT ` + configMaps + `/a-CASE {"metadata":{"name":"a-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`,
		`POST ` + configMaps + `?dryRun=All {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}}}`, deleteMap,
	}},
	{name: "patch", mutate: `"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a/b': 'c'}}, JSONPatch{op: 'replace', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), value: 'd'}, JSONPatch{op: 'copy', from: '/data/k', path: '/data/copy'}]"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"has(object.data.copy) ? [JSONPatch{op: 'remove', path: '/data/k'}] : []"}}]`, requests: []string{
		createMap, `POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`, `POST ` + configMaps + ` {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}}}`,
	}},
	{name: "patch-wrong", mutate: `"variables":[{"name":"what","expression":"object.data.k"}],"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"variables.what == 'absent' ? [JSONPatch{op: 'remove', path: '/data/absent'}] : variables.what == 'unknown' ? [JSONPatch{op: 'add', path: '/unknown', value: 1}] : variables.what == 'type' ? [JSONPatch{op: 'add', path: '/data', value: [1]}] : variables.what == 'op' ? [JSONPatch{op: 'put', path: '/data', value: [1]}] : variables.what == 'kind' ? [JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}] : variables.what == 'object' ? [JSONPatch{op: 'add', path: '/metadata', value: Object.metadata{labels: Object.metadata.wrong{}}}] : variables.what == 'invalid' ? [JSONPatch{op: 'add', path: '/metadata/labels', value: {'not valid': 'x'}}] : variables.what == 'name' ? [JSONPatch{op: 'replace', path: '/metadata/name', value: 'other-CASE'}] : []"}}]`, requests: []string{
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"absent"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"unknown"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"type"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"op"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"kind"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"object"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"invalid"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"name"}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"b-CASE","labels":{"case":"CASE"}}}`,
		`POST ` + configMaps + ` {"metadata":{"name":"c-CASE","labels":{"case":"CASE"}},"data":{"k":"nothing"}}`,
	}},
	{name: "apply-wrong", resources: "pods", mutate: `"variables":[{"name":"what","expression":"object.metadata.annotations['what']"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"variables.what == 'unknown' ? Object{spec: Object.spec{unknown: 1}} : variables.what == 'type' ? Object{spec: Object.spec{hostNetwork: 'yes'}} : variables.what == 'atomic' ? Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', command: ['a']}]}} : variables.what == 'names' ? Object{spec: Object.wrong{x: 1}} : variables.what == 'key' ? Object{spec: Object.spec{containers: [Object.spec.containers{image: 'a'}]}} : variables.what == 'twice' ? Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a'},Object.spec.containers{name: 'a'}]}} : variables.what == 'invalid' ? Object{spec: Object.spec{restartPolicy: 'Sometimes'}} : Object{}"}}]`, requests: []string{
		podWith("unknown"), podWith("type"), podWith("atomic"), podWith("names"), podWith("key"), podWith("twice"), podWith("invalid"), podWith("nothing"),
		`POST /api/v1/namespaces/default/pods {"metadata":{"name":"y","labels":{"case":"CASE"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
	}},
	{name: "sidecar", resources: "pods", mutate: `"matchConditions":[{"name":"no-sidecar","expression":"!object.spec.containers.exists(c, c.name == 'mesh')"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{containers: [Object.spec.containers{name: 'mesh', image: 'mesh/proxy:v1', ports: [Object.spec.containers.ports{containerPort: 15001}], env: [Object.spec.containers.env{name: 'NAME', value: object.metadata.name}], resources: Object.spec.containers.resources{requests: {'cpu': '100m'}}}], tolerations: object.spec.?tolerations.orValue([])}}"}}]`, requests: []string{
		podWith("sidecar"),
	}},
	{name: "inject", resources: "pods", mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'Always', securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: false}}), initContainers: [Object.spec.initContainers{name: 'mesh', image: 'mesh', restartPolicy: 'Always'}], priority: 0, terminationGracePeriodSeconds: 5}}"}}]`, requests: []string{
		podWith("inject"),
	}},
	{name: "class-default", resources: "persistentvolumeclaims", mutate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConditions":[{"name":"new","expression":"request.operation == 'CREATE' && !has(object.spec.storageClassName)"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{storageClassName: params.data.class}, metadata: Object.metadata{annotations: {'namespace': namespaceObject.metadata.name}}}"}}]`,
		bind: `"paramRef":{"name":"default-class","namespace":"kube-system","parameterNotFoundAction":"Deny"}`, before: []string{
			`POST /api/v1/namespaces/kube-system/configmaps {"metadata":{"name":"default-class"},"data":{"class":"standard"}}`,
		}, requests: []string{
			pvc("m-1", ``), pvc("m-2", `,"storageClassName":"own"`), `DELETE /api/v1/namespaces/kube-system/configmaps/default-class`, "wait", pvc("m-3", ``),
		}},
	{name: "replica-default", resources: "deployments,deployments/scale", match: `"objectSelector":{},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","deployments/scale"],"resourceNames":["m-CASE"]}]`, mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{replicas: object.spec.replicas > 5 ? 5 : object.spec.replicas}}"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'capped': string(object.spec.replicas)}}]"}}]`, requests: []string{
		deployment("m-CASE", "9", "i"), deployment("n", "9", "i"), `merge: PATCH /apis/apps/v1/namespaces/default/deployments/m-CASE {"spec":{"replicas":7}}`,
		`merge: PATCH /apis/apps/v1/namespaces/default/deployments/m-CASE/scale {"spec":{"replicas":8}}`,
	}},
	{name: "fails-mutating", mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'x': object.data.absent}}"}},{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'y': object.data.other}}"}}]`, requests: []string{createMap, `POST ` + configMaps + ` {"metadata":{"generateName":"gen-","labels":{"case":"CASE"}}}`}},
	{name: "ignored-mutating", mutate: `"failurePolicy":"Ignore","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'x': object.data.absent}}"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/y', value: 'z'}]"}}]`, requests: []string{createMap}},
	{name: "condition-mutating", mutate: `"matchConditions":[{"name":"a","expression":"object.absent == 1"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]`, requests: []string{createMap}},
	{name: "absent-mutating", mutate: `"paramKind":{"apiVersion":"example.com/v9","kind":"Absent"},"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]`, bind: `"paramRef":{"name":"a","parameterNotFoundAction":"Deny"}`, requests: []string{createMap}},
	{name: "param-mutating", mutate: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]`, bind: `"paramRef":{"name":"absent","parameterNotFoundAction":"Deny"}`, requests: []string{createMap}},
	{name: "gadgets", match: `"objectSelector":{},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["gadgets"]}]`, mutate: `"matchConditions":[{"name":"a","expression":"object.metadata.name.startsWith('g-')"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{size: has(object.spec.size) ? object.spec.size + 1 : 1}, metadata: Object.metadata{labels: {'version': object.apiVersion.split('/')[1]}}}"}}]`, requests: []string{
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g-1"},"spec":{}}`,
		`POST /apis/example.com/v2/namespaces/default/gadgets {"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"g-2"},"spec":{"size":4}}`,
		`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g-1 {"spec":{"mode":"Off"}}`,
		`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g-1/status {"status":{"size":3}}`,
	}},
	{name: "gadget-wrong", match: `"objectSelector":{},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["example.com"],"apiVersions":["v1"],"resources":["gadgets"]}]`, mutate: `"matchConditions":[{"name":"a","expression":"object.metadata.name.startsWith('w-')"}],"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"object.metadata.name == 'w-1' ? Object{spec: Object.spec{unknown: 1}} : object.metadata.name == 'w-2' ? Object{spec: Object.spec{size: 'big'}} : Object{}"}},{"patchType":"JSONPatch","jsonPatch":{"expression":"object.metadata.name == 'w-3' ? [JSONPatch{op: 'add', path: '/spec/unknown', value: 1}] : object.metadata.name == 'w-4' ? [JSONPatch{op: 'add', path: '/spec/size', value: 'big'}] : []"}}]`, requests: []string{
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"w-1"},"spec":{}}`,
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"w-2"},"spec":{}}`,
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"w-3"},"spec":{}}`,
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"w-4"},"spec":{}}`,
	}},
	{name: "exact", match: `"matchPolicy":"Exact","objectSelector":{},"resourceRules":[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["gadgets"]}]`, validate: `"matchConditions":[{"name":"a","expression":"request.name.startsWith('e-')"}],"validations":[{"expression":"false"}]`, requests: []string{
		`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"e-1"},"spec":{}}`,
		`POST /apis/example.com/v2/namespaces/default/gadgets {"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"e-2"},"spec":{}}`,
	}},
	{name: "upsert", resources: "leases", match: `"objectSelector":{},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}}`, mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'operation': request.operation}}}"}}]`,
		validate: `"validations":[{"expression":"request.operation != 'UPDATE' || object.spec.holderIdentity != 'you'","messageExpression":"oldObject.spec.holderIdentity + ' keeps it'"}]`, requests: []string{
			`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/u {"metadata":{"name":"u"},"spec":{"holderIdentity":"me"}}`,
			`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/u {"metadata":{"name":"u"},"spec":{"holderIdentity":"you"}}`,
			`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/u {"metadata":{"name":"u"},"spec":{"holderIdentity":"they"}}`,
		}},
	{name: "status", resources: "persistentvolumeclaims/status", mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{status: Object.status{capacity: {'storage': '7Gi'}}, metadata: Object.metadata{annotations: {'by': 'status'}}, spec: Object.spec{volumeName: 'x'}}"}}]`, requests: []string{
		pvc("s-1", ""), `merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/s-1/status {"status":{"phase":"Bound"}}`, `merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/s-1 {"metadata":{"labels":{"a":"b"}}}`,
	}},
	{name: "values", resources: "secrets,persistentvolumeclaims,services", validate: `"validations":[{"expression":"false","messageExpression":"request.kind.kind == 'Secret' ? string(object.data.a) + ' ' + object.type + ' ' + string(has(object.stringData)) : request.kind.kind == 'Service' ? string(type(object.spec.ports[0].targetPort) == int) + string(object.spec.ports[0].targetPort) : string(object.spec.resources.requests.storage) + ' ' + string(has(object.status)) + ' ' + string(has(object.metadata.creationTimestamp)) + ' ' + string(has(object.metadata.uid)) + ' ' + string(has(object.metadata.managedFields))"}]`, requests: []string{
		`POST /api/v1/namespaces/default/secrets {"metadata":{"name":"v","labels":{"case":"CASE"}},"stringData":{"a":"text"}}`,
		`POST /api/v1/namespaces/default/services {"metadata":{"name":"v","labels":{"case":"CASE"}},"spec":{"ports":[{"port":80}]}}`,
		`POST /api/v1/namespaces/default/services {"metadata":{"name":"v","labels":{"case":"CASE"}},"spec":{"ports":[{"port":80,"targetPort":"web"}]}}`,
		`POST /api/v1/namespaces/default/persistentvolumeclaims {"metadata":{"name":"v","labels":{"case":"CASE"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1024Mi"}}}}`,
	}},
	{name: "events", match: `"objectSelector":{},"resourceRules":[{"operations":["*"],"apiGroups":["events.k8s.io"],"apiVersions":["v1"],"resources":["events"]}]`, validate: `"matchConditions":[{"name":"a","expression":"object.metadata.name == 'e-events'"}],"validations":[{"expression":"false","messageExpression":"object.apiVersion + ' ' + object.note + ' ' + request.requestKind.group"}]`, requests: []string{
		`POST /api/v1/namespaces/default/events {"metadata":{"name":"e-events"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"r","message":"m","type":"Normal"}`,
	}},
	{name: "cluster", resources: "nodes", match: `"objectSelector":{"matchLabels":{"case":"CASE"}}`, mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'kind': request.kind.kind, 'namespace': string(namespaceObject == null)}}}"}}]`, requests: []string{
		`POST /api/v1/nodes {"metadata":{"name":"n-CASE","labels":{"case":"CASE"}}}`,
	}},
	{name: "deleted-pods", resources: "pods", validate: `"validations":[{"expression":"request.operation != 'DELETE' || request.options.gracePeriodSeconds != 7","messageExpression":"string(request.options.gracePeriodSeconds) + ' seconds'"}]`, requests: []string{
		`POST /api/v1/namespaces/default/pods {"metadata":{"name":"d-CASE","labels":{"case":"CASE"}},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`,
		`DELETE /api/v1/namespaces/default/pods/d-CASE {"gracePeriodSeconds":7}`, `DELETE /api/v1/namespaces/default/pods/d-CASE {"gracePeriodSeconds":8}`,
	}},
	{name: "both", mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'added': 'yes'}}"}}]`, validate: `"validations":[{"expression":"object.data.added == 'no'","messageExpression":"'added: ' + object.data.added"}]`, requests: []string{createMap}},
	{name: "again-1", mutate: `"reinvocationPolicy":"IfNeeded","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'n': object.data.?n.orValue('') + 'x'}}"}}]`, requests: []string{createMap, patchMap + `{"data":{"k":"w"}}`}},
}

// podWith is a request for a pod with an annotation.
func podWith(what string) string {
	return `POST /api/v1/namespaces/default/pods {"metadata":{"name":"x-` + what + `","annotations":{"what":"` + what + `"},"labels":{"case":"CASE"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
}
