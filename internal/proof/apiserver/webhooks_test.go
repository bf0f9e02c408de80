package apiserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooks is a server of webhooks for both servers. The path says who asks, and what the answer is: /SERVER/ANSWER/WEBHOOK.
type hooks struct {
	*httptest.Server
	mu      sync.Mutex
	reviews map[string][]string // since the last look, by server
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{reviews: map[string][]string{}}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	return h
}

// authority is the certificate of the server, as in a configuration.
func (h *hooks) authority() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
}

// patches are answers that change the object.
var patches = map[string]string{
	"label":     `[{"op":"add","path":"/metadata/labels","value":{"hook":"was-here"}}]`,
	"more":      `[{"op":"add","path":"/metadata/annotations","value":{"more":"yes"}}]`,
	"default":   `[{"op":"remove","path":"/spec/replicas"}]`,
	"container": `[{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"side"}}]`,
	"nothing":   `[]`,
	"same":      `[{"op":"replace","path":"/metadata/name","value":"a"}]`,
	"undone":    `[{"op":"remove","path":"/metadata/absent"}]`,
	"malformed": `{"op":"remove"}`,
	"type":      `[{"op":"add","path":"/data","value":{"a":1}}]`,
	"kind":      `[{"op":"replace","path":"/kind","value":"Secret"}]`,
	"invalid":   `[{"op":"add","path":"/metadata/labels","value":{"not valid":"x"}}]`,
	"size":      `[{"op":"add","path":"/spec/size","value":5}]`,
	"wrong":     `[{"op":"add","path":"/spec/size","value":"big"}]`,
	"scale":     `[{"op":"replace","path":"/spec/replicas","value":3}]`,
	"owners":    `[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}]}]`,
	"managed":   `[{"op":"remove","path":"/metadata/managedFields"}]`,
	"node":      `[{"op":"replace","path":"/target/name","value":"n2"}]`,
	"version":   `[{"op":"add","path":"/metadata/resourceVersion","value":"1"}]`,
	"rename":    `[{"op":"replace","path":"/metadata/name","value":"other"}]`,
}

// ServeHTTP answers a review as the path says.
func (h *hooks) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	server, answer := parts[0], parts[1]
	body, _ := io.ReadAll(req.Body) // an incomplete one is no JSON
	var review map[string]any
	_ = json.Unmarshal(body, &review)
	request, _ := review["request"].(map[string]any)
	uid := request["uid"]
	h.note(server, fmt.Sprintf("%s?%s %s", path.Join(parts[1:]...), req.URL.RawQuery, req.Header.Get("Content-Type")), review)
	response := map[string]any{"uid": uid, "allowed": true}
	out := map[string]any{"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
	status := func(fields map[string]any) { response["allowed"], response["status"] = false, fields }
	if patch, ok := patches[answer]; ok {
		response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString([]byte(patch)), "JSONPatch"
	}
	switch answer {
	case "warn":
		response["warnings"] = []string{"a warning", "a warning", `another "one"`}
	case "deny":
		response["allowed"] = false
	case "message":
		status(map[string]any{"message": "not today"})
	case "reason":
		status(map[string]any{"reason": "Forbidden", "code": 403})
	case "code":
		status(map[string]any{"message": "teapot", "code": 418, "reason": "Teapot", "details": map[string]any{"name": "x", "causes": []any{map[string]any{"message": "m"}}}})
	case "success":
		status(map[string]any{"status": "Success", "code": 200, "message": "well"})
	case "deny-warn":
		status(map[string]any{"message": "no"})
		response["warnings"] = []string{"but"}
	case "uid":
		response["uid"] = "other"
	case "nokind":
		delete(out, "kind")
		delete(out, "apiVersion")
	case "otherkind":
		out["kind"] = "Pod"
	case "beta":
		out["apiVersion"] = "admission.k8s.io/v1beta1"
	case "absent":
		delete(out, "response")
	case "patchtype":
		response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString([]byte(patches["label"])), "Merge"
	case "notype":
		response["patch"] = "W10="
	case "nopatch":
		response["patchType"] = "JSONPatch"
	case "slow":
		select {
		case <-time.After(5 * time.Second):
		case <-req.Context().Done():
		}
	case "text":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
		return
	case "500", "404", "503":
		code := map[string]int{"500": 500, "404": 404, "503": 503}[answer]
		http.Error(w, "it is on fire", code)
		return
	case "500json":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(500)
		_, _ = io.WriteString(w, `{"a":"b"}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// bodies are kinds of objects that are not stored.
var bodies = map[string]bool{"Binding": true, "Eviction": true, "TokenRequest": true, "Scale": true, "SelfSubjectAccessReview": true}

// note keeps a review for the comparison.
func (h *hooks) note(server, line string, review map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if request, ok := review["request"].(map[string]any); ok {
		request["userInfo"] = nil // the servers know different users
		for _, field := range []string{"object", "oldObject"} {
			// volsim does not track the fields of objects that are not stored, and the metadata of a token is incomplete.
			object, ok := request[field].(map[string]any)
			if metadata, _ := object["metadata"].(map[string]any); ok && bodies[fmt.Sprint(object["kind"])] {
				delete(metadata, "managedFields")
				if object["kind"] == "TokenRequest" {
					delete(object, "metadata")
					delete(object["spec"].(map[string]any), "audiences")
				}
			}
		}
		if object, ok := request["object"].(map[string]any); ok && object["kind"] == "PersistentVolumeClaim" && request["operation"] == "CREATE" {
			delete(object["status"].(map[string]any), "phase") // which kube-apiserver sets last
		}
		if name := fmt.Sprint(request["name"]); strings.HasPrefix(name, "apiserver-") {
			return // kube-apiserver renews its Lease
		}
	}
	text, _ := json.MarshalIndent(normalizedValue(review), "", " ") // it was decoded from JSON
	h.reviews[server] = append(h.reviews[server], line+"\n"+normalizedText(string(text)))
}

// take returns the reviews of a server since the last time. Those that come at the same time, or all, are in an order of their own.
func (h *hooks) take(server string, all bool) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.reviews[server]
	delete(h.reviews, server)
	var validating []string
	if all {
		slices.Sort(list)
		return strings.Join(list, "\n")
	}
	list = slices.DeleteFunc(list, func(text string) bool {
		if strings.Contains(strings.SplitN(text, "?", 2)[0], "/V-") {
			validating = append(validating, text)
			return true
		}
		return false
	})
	slices.Sort(validating)
	return strings.Join(append(list, validating...), "\n")
}

// hook is a webhook of a configuration. Its path says what it answers; further fields replace those that it has.
type hook struct {
	answer string
	fields string // JSON
}

// hookCase is a configuration, for objects with the label case: NAME unless the rules say otherwise, and requests.
type hookCase struct {
	name     string
	rules    string // JSON, "" for ConfigMaps
	mutate   []hook
	validate []hook
	policy   policyCase // beside the webhooks; its name is that of the case
	requests []string   // METHOD PATH BODY, with CASE for the name; a first word such as merge: is the media type
}

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	createMap  = "POST " + configMaps + ` {"metadata":{"name":"a-CASE","labels":{"case":"CASE"}},"data":{"k":"v"}}`
	allRules   = `[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["RESOURCES"]}]`
)

func rulesFor(resources string) string {
	return strings.Replace(allRules, "RESOURCES", strings.ReplaceAll(resources, ",", `","`), 1)
}

// configuration returns a configuration in JSON, "" without webhooks.
func (h *hooks) configuration(server, kind string, c hookCase, list []hook) string {
	var all []string
	for i, one := range list {
		prefix := kind[:1]
		fields := map[string]any{
			"name": fmt.Sprintf("%s-%d.example.com", strings.ReplaceAll(one.answer, "_", "-"), i), "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
			"rules": json.RawMessage(cmp.Or(c.rules, rulesFor("configmaps"))),
			"clientConfig": map[string]any{
				"url":      fmt.Sprintf("%s/%s/%s/%s-%s-%d", h.URL, server, one.answer, prefix, c.name, i),
				"caBundle": h.authority(),
			},
			"timeoutSeconds": 1,
		}
		if c.rules == "" {
			fields["objectSelector"] = map[string]any{"matchLabels": map[string]any{"case": c.name}}
		}
		if one.fields != "" {
			more := map[string]any{}
			if err := json.Unmarshal([]byte(one.fields), &more); err != nil {
				panic(err)
			}
			maps.Copy(fields, more)
		}
		data, _ := json.Marshal(fields) // it was JSON
		all = append(all, string(data))
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":%q,"metadata":{"name":%q},"webhooks":[%s]}`, kind, c.name, strings.Join(all, ","))
}

// requestOf reads a request of a case.
func (c hookCase) requestOf(text string) request {
	text = strings.ReplaceAll(text, "CASE", c.name)
	var r request
	if types := map[string]string{
		"merge:": "application/merge-patch+json", "json:": "application/json-patch+json", "apply:": "application/apply-patch+yaml",
		"strategic:": "application/strategic-merge-patch+json",
	}; types[strings.Fields(text)[0]] != "" {
		var first string
		first, text, _ = strings.Cut(text, " ")
		r.header = [][2]string{{"Content-Type", types[first]}}
	}
	r.method, text, _ = strings.Cut(text, " ")
	r.path, r.body, _ = strings.Cut(text, " ")
	return r
}

// TestWebhooks makes both servers ask the same webhooks, and compares their answers and what the webhooks were shown.
func TestWebhooks(t *testing.T) {
	h := newHooks(t)
	want, got := real(t, false), simulated(t)
	servers := []*server{want, got}
	compare := func(c hookCase, r request, bodies ...string) {
		t.Helper()
		awaitSecond()
		var results []string
		for i, s := range servers {
			mine := r
			if len(bodies) > 0 {
				mine.body = bodies[i]
			}
			text := s.answer(t, mine) + "\n" + h.take(s.name, r.method == "DELETE")
			text = strings.ReplaceAll(text, "URL/"+s.name+"/", "URL/SERVER/")
			results = append(results, strings.ReplaceAll(text, "/"+s.name+"/", "/SERVER/"))
		}
		if results[0] != results[1] {
			t.Errorf("%s: %s %s\n%s", c.name, r, r.body, difference(results[0], results[1]))
		}
	}
	for _, r := range preparation {
		for _, s := range servers {
			s.answer(t, hookCase{}.requestOf(r))
		}
	}
	time.Sleep(4 * time.Second) // until kube-apiserver serves the custom kind
	for _, c := range hookCases {
		for kind, list := range map[string][]hook{"MutatingWebhookConfiguration": c.mutate, "ValidatingWebhookConfiguration": c.validate} {
			if len(list) > 0 {
				r := request{method: "POST", path: "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "s"}
				compare(c, r, h.configuration(want.name, kind, c, list), h.configuration(got.name, kind, c, list))
			}
		}
		for _, r := range c.policy.objects() {
			compare(c, c.requestOf(r))
		}
	}
	time.Sleep(3 * time.Second) // until kube-apiserver has seen the configurations
	count := 0
	for _, c := range hookCases {
		if ok, _ := path.Match(*only, c.name); !ok {
			continue
		}
		for _, r := range c.requests {
			count++
			compare(c, c.requestOf(r))
		}
	}
	t.Logf("%d requests", count)
}

// awaitSecond waits for the next second if this one is nearly over, so that both servers write in the same one: their managedFields are in the
// order of their times, which have whole seconds.
func awaitSecond() {
	if left := time.Second - time.Since(time.Now().Truncate(time.Second)); left < 200*time.Millisecond {
		time.Sleep(left)
	}
}

// preparation are requests before there are webhooks.
var preparation = []string{
	`POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions {"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},` +
		`"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},"versions":[` +
		`{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},"schema":{"openAPIV3Schema":{"type":"object","properties":{` +
		`"spec":{"type":"object","properties":{"size":{"type":"integer","maximum":4},"mode":{"type":"string","default":"Auto"}}},"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}},` +
		`{"name":"v2","served":true,"storage":false,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},"schema":{"openAPIV3Schema":{"type":"object","properties":{` +
		`"spec":{"type":"object","properties":{"size":{"type":"integer","maximum":4},"mode":{"type":"string","default":"Auto"}}},"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`,
	`POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"e"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
	`POST /api/v1/namespaces {"metadata":{"name":"chosen","labels":{"team":"a"}}}`,
	`POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
	`POST /api/v1/namespaces/default/pods {"metadata":{"name":"bound"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
	`POST /api/v1/namespaces/default/pods {"metadata":{"name":"evicted"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
}

var hookCases = []hookCase{
	{name: "policy-order", policy: policyCase{
		mutate:   `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'policy': has(object.metadata.labels.hook) ? 'second' : 'first'}}"}}]`,
		validate: `"validations":[{"expression":"false","messageExpression":"object.data.policy + ' ' + object.metadata.labels.hook"}]`, bind: `"validationActions":["Warn"]`,
	}, mutate: []hook{{"label", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap, "merge: PATCH " + configMaps + `/a-CASE {"data":{"k":"w"}}`}},
	{name: "policy-denies", policy: policyCase{validate: `"validations":[{"expression":"false"}]`}, mutate: []hook{{"allow", ""}}, validate: []hook{{"message", ""}}, requests: []string{createMap}},
	{name: "policy-again", policy: policyCase{
		mutate: `"reinvocationPolicy":"IfNeeded","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'n': object.data.?n.orValue('') + 'x'}}"}}]`,
	}, mutate: []hook{{"allow", `{"reinvocationPolicy":"IfNeeded"}`}, {"more", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap, "merge: PATCH " + configMaps + `/a-CASE {"data":{"k":"w"}}`}},
	{name: "policy-once", policy: policyCase{
		mutate: `"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'n': object.data.?n.orValue('') + 'x'}}"}}]`,
	}, mutate: []hook{{"allow", `{"reinvocationPolicy":"IfNeeded"}`}}, validate: []hook{{"allow", ""}}, requests: []string{createMap}},
	{name: "policy-same", policy: policyCase{
		mutate: `"reinvocationPolicy":"IfNeeded","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'k': 'v'}}"}}]`,
	}, mutate: []hook{{"allow", `{"reinvocationPolicy":"IfNeeded"}`}}, validate: []hook{{"allow", ""}}, requests: []string{createMap, "DELETE " + configMaps + "/a-CASE"}},
	{name: "policy-nothing", policy: policyCase{
		mutate: `"matchConditions":[{"name":"a","expression":"has(object.metadata.annotations)"}],"reinvocationPolicy":"IfNeeded","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'seen': 'annotations'}}"}}]`,
	}, mutate: []hook{{"more", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap}},
	{name: "cond-true", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"true"}]}`}}, requests: []string{createMap}},
	{name: "cond-false", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"true"},{"name":"c1","expression":"false"}]}`}}, requests: []string{createMap}},
	{name: "cond-object", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object.data.k == 'v'"},{"name":"c1","expression":"!has(object.spec)"}]}`}}, requests: []string{createMap}},
	{name: "cond-request", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"request.operation == 'CREATE' && request.name.startsWith('a-') && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.namespace == 'default' && !request.dryRun"}]}`}}, requests: []string{createMap}},
	{name: "cond-old", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"oldObject == null"}]}`}}, requests: []string{createMap}},
	{name: "cond-options", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"request.options.kind == 'CreateOptions'"}]}`}}, requests: []string{createMap}},
	{name: "cond-authorizer", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"authorizer.group('').resource('pods').check('get').allowed()"},{"name":"c1","expression":"authorizer.requestResource.check('update').allowed()"}]}`}}, requests: []string{createMap}},
	{name: "cond-error", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object.data.absent == 'v'"}]}`}}, requests: []string{createMap}},
	{name: "cond-two-errors", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object.data.absent == 'v'"},{"name":"c1","expression":"object.data.k == 'v'"},{"name":"c2","expression":"object.spec.x == 1"}]}`}}, requests: []string{createMap}},
	{name: "cond-error-false", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object.data.absent == 'v'"},{"name":"c1","expression":"object.data.k == 'w'"}]}`}}, requests: []string{createMap}},
	{name: "cond-ignore", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object.data.absent == 'v'"}],"failurePolicy":"Ignore"}`}}, requests: []string{createMap}},
	{name: "cond-namespace", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"namespaceObject == null"}]}`}}, requests: []string{createMap}},
	{name: "cond-bad", validate: []hook{{"deny", `{"matchConditions":[{"name":"c0","expression":"object."},{"name":"c1","expression":"1"},{"name":"c2","expression":"request.absent == 1"},{"name":"c3","expression":"unknown == 1"},{"name":"c4","expression":""},{"name":"c5","expression":" "}]}`}}, requests: []string{createMap}},
	{name: "cond-names", validate: []hook{{"deny", `{"matchConditions":[{"name":"","expression":"true"},{"name":"a","expression":"true"},{"name":"a","expression":"true"},{"name":"not valid","expression":"true"},{"name":"example.com/fine"}]}`}}, requests: []string{createMap}},
	{name: "cond-mutate", mutate: []hook{{"label", `{"matchConditions":[{"name":"c0","expression":"!has(object.metadata.annotations)"}]}`}, {"more", `{"matchConditions":[{"name":"c0","expression":"object.metadata.labels.hook == 'was-here'"}]}`}}, requests: []string{createMap}},
	{name: "cond-update", validate: []hook{{"message", `{"matchConditions":[{"name":"c0","expression":"request.operation != 'CREATE' && oldObject.data.k == 'v'"},{"name":"c1","expression":"object == null || object.data.k != 'v'"}]}`}}, requests: []string{createMap, `merge: PATCH /api/v1/namespaces/default/configmaps/a-CASE {"data":{"k":"w"}}`, `DELETE /api/v1/namespaces/default/configmaps/a-CASE`}},
	{name: "allow", mutate: []hook{{"allow", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		createMap,
		"PUT " + configMaps + `/a-CASE {"metadata":{"name":"a-CASE","labels":{"case":"CASE"}},"data":{"k":"w"}}`,
		"PUT " + configMaps + `/a-CASE {"metadata":{"name":"a-CASE","labels":{"case":"CASE"},"resourceVersion":"1"},"data":{"k":"w"}}`,
		"PUT " + configMaps + `/a-CASE {"metadata":{"name":"a-CASE","labels":{"case":"CASE"},"uid":"1"},"data":{"k":"w"}}`,
		"PUT " + configMaps + `/a-CASE {"metadata":{"name":"a-CASE"},"data":{"k":"unlabeled"}}`,
		"merge: PATCH " + configMaps + `/a-CASE?fieldManager=me {"metadata":{"labels":{"case":"CASE"}}}`,
		"json: PATCH " + configMaps + `/a-CASE?dryRun=All [{"op":"add","path":"/data/x","value":"y"}]`,
		"strategic: PATCH " + configMaps + `/a-CASE?fieldValidation=Strict {"data":{"s":"t"}}`,
		"apply: PATCH " + configMaps + `/a-CASE?fieldManager=app&force=true {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a-CASE"},"data":{"k":"applied"}}`,
		"apply: PATCH " + configMaps + `/b-CASE?fieldManager=app {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b-CASE","labels":{"case":"CASE"}},"data":{"k":"applied"}}`,
		"POST " + configMaps + `?dryRun=All&fieldManager=me {"metadata":{"name":"c","labels":{"case":"CASE"}}}`,
		"POST " + configMaps + ` {"metadata":{"name":"a-CASE","labels":{"case":"CASE"}}}`,
		"POST " + configMaps + ` {"metadata":{"name":"UP","labels":{"case":"CASE"}}}`,
		"POST " + configMaps + ` {"metadata":{"name":"x-CASE","labels":{"case":"CASE"}},"data":1}`,
		"merge: PATCH " + configMaps + `/absent {"metadata":{"labels":{"case":"CASE"}}}`,
		"DELETE " + configMaps + `/a-CASE?dryRun=All`,
		"DELETE " + configMaps + `/a-CASE?propagationPolicy=Background`,
		"DELETE " + configMaps + `/absent`,
		"DELETE " + configMaps + `/b-CASE {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"1"}}`,
		"DELETE " + configMaps + `?labelSelector=case%3DCASE`,
	}},
	{name: "warn", mutate: []hook{{"warn", ""}}, validate: []hook{{"warn", ""}, {"allow", ""}}, requests: []string{createMap}},
	{name: "deny", mutate: []hook{{"deny", ""}, {"allow", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap}},
	{name: "message", validate: []hook{{"message", ""}}, requests: []string{createMap}},
	{name: "reason", validate: []hook{{"reason", ""}}, requests: []string{createMap}},
	{name: "code", validate: []hook{{"code", ""}}, requests: []string{createMap}},
	{name: "success", validate: []hook{{"success", ""}}, requests: []string{createMap}},
	{name: "deny-warn", validate: []hook{{"deny-warn", ""}}, requests: []string{createMap}},
	{name: "uid", validate: []hook{{"uid", ""}}, requests: []string{createMap}},
	{name: "nokind", validate: []hook{{"nokind", ""}}, requests: []string{createMap}},
	{name: "otherkind", validate: []hook{{"otherkind", ""}}, requests: []string{createMap}},
	{name: "beta", validate: []hook{{"beta", ""}}, requests: []string{createMap}},
	{name: "v1beta1", mutate: []hook{{"label", `{"admissionReviewVersions":["v1beta1","v1"]}`}}, validate: []hook{{"allow", `{"admissionReviewVersions":["v2","v1beta1"]}`}}, requests: []string{createMap}},
	{name: "absent", validate: []hook{{"absent", ""}}, requests: []string{createMap}},
	{name: "patchtype", mutate: []hook{{"patchtype", ""}}, requests: []string{createMap}},
	{name: "notype", mutate: []hook{{"notype", ""}}, requests: []string{createMap}},
	{name: "nopatch", mutate: []hook{{"nopatch", ""}}, requests: []string{createMap}},
	{name: "v-patch", validate: []hook{{"label", ""}}, requests: []string{createMap}},
	{name: "v-type", validate: []hook{{"nopatch", ""}}, requests: []string{createMap}},
	{name: "text", validate: []hook{{"text", ""}}, requests: []string{createMap}},
	{name: "code-500", validate: []hook{{"500", ""}}, requests: []string{createMap}},
	{name: "code-404", validate: []hook{{"404", ""}}, requests: []string{createMap}},
	{name: "code-503", validate: []hook{{"503", ""}}, requests: []string{createMap}},
	{name: "code-json", validate: []hook{{"500json", ""}}, requests: []string{createMap}},
	{name: "slow", validate: []hook{{"slow", ""}}, requests: []string{createMap}},
	{name: "ignored", mutate: []hook{{"500", `{"failurePolicy":"Ignore"}`}, {"label", ""}}, validate: []hook{{"uid", `{"failurePolicy":"Ignore"}`}, {"message", ""}}, requests: []string{createMap}},
	{name: "refused", validate: []hook{{"allow", `{"clientConfig":{"url":"https://127.0.0.1:1/a/../b"}}`}}, requests: []string{createMap}},
	{name: "unknown-ca", validate: []hook{{"allow", `{"clientConfig":{"url":"https://127.0.0.1:1/","caBundle":"YQ=="}}`}}, requests: []string{createMap}},
	{name: "label", mutate: []hook{{"label", ""}, {"more", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		createMap, "merge: PATCH " + configMaps + `/a-CASE {"data":{"x":"y"}}`, "GET " + configMaps + "/a-CASE",
	}},
	{name: "reinvoked", mutate: []hook{{"allow", `{"reinvocationPolicy":"IfNeeded"}`}, {"more", ""}, {"allow", `{"reinvocationPolicy":"IfNeeded"}`}, {"allow", ""}}, requests: []string{
		createMap, "merge: PATCH " + configMaps + `/a-CASE {"metadata":{"annotations":null}}`,
	}},
	{name: "nothing", mutate: []hook{{"allow", `{"reinvocationPolicy":"IfNeeded"}`}, {"nothing", ""}}, requests: []string{createMap}},
	{name: "undone", mutate: []hook{{"undone", ""}}, requests: []string{createMap}},
	{name: "malformed", mutate: []hook{{"malformed", ""}}, requests: []string{createMap}},
	{name: "type", mutate: []hook{{"type", ""}}, requests: []string{createMap}},
	{name: "kind", mutate: []hook{{"kind", ""}}, requests: []string{createMap}},
	{name: "invalid", mutate: []hook{{"invalid", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap}},
	{name: "owners", mutate: []hook{{"owners", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap}},
	{name: "managed", mutate: []hook{{"managed", ""}}, validate: []hook{{"allow", ""}}, requests: []string{createMap, "merge: PATCH " + configMaps + `/a-CASE {"data":{"x":"y"}}`}},
	{name: "version", mutate: []hook{{"version", ""}}, requests: []string{createMap}},
	{name: "rename", mutate: []hook{{"rename", ""}}, requests: []string{createMap, "GET " + configMaps + "/other"}},
	{name: "deleted", mutate: []hook{{"label", `{"rules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`}}, requests: []string{
		createMap, "DELETE " + configMaps + "/a-CASE",
	}},
	{name: "keep", validate: []hook{{"message", `{"rules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`}}, requests: []string{
		createMap, "DELETE " + configMaps + "/a-CASE", "DELETE " + configMaps + "?labelSelector=case%3DCASE", "GET " + configMaps + "?labelSelector=case%3DCASE",
	}},
	{name: "generated", mutate: []hook{{"allow", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		"POST " + configMaps + ` {"metadata":{"generateName":"gen-","labels":{"case":"CASE"}}}`,
	}},
	{name: "namespaced", rules: rulesFor("secrets"), mutate: []hook{{"label", `{"namespaceSelector":{"matchLabels":{"team":"a"}}}`}}, requests: []string{
		`POST /api/v1/namespaces/chosen/secrets {"metadata":{"name":"s"}}`, `POST /api/v1/namespaces/default/secrets {"metadata":{"name":"s"}}`,
		`POST /api/v1/namespaces/absent/secrets {"metadata":{"name":"s"}}`,
	}},
	{name: "spaces", rules: rulesFor("namespaces"), validate: []hook{{"allow", `{"namespaceSelector":{"matchLabels":{"case":"CASE"}}}`}}, requests: []string{
		`POST /api/v1/namespaces {"metadata":{"name":"s1","labels":{"case":"CASE"}}}`, `POST /api/v1/namespaces {"metadata":{"name":"s2"}}`,
		`merge: PATCH /api/v1/namespaces/s2 {"metadata":{"labels":{"case":"CASE"}}}`, `DELETE /api/v1/namespaces/s2`,
	}},
	{name: "scopes", rules: `[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["storageclasses","configmaps","namespaces"],"scope":"Cluster"}]`,
		validate: []hook{{"allow", `{"objectSelector":{"matchLabels":{"case":"scopes"}}}`}}, requests: []string{
			createMap, `POST /apis/storage.k8s.io/v1/storageclasses {"metadata":{"name":"c","labels":{"case":"CASE"}},"provisioner":"a.example.com"}`,
		}},
	{name: "pods", rules: rulesFor("pods/*,pods"), mutate: []hook{{"allow", ""}, {"container", `{"objectSelector":{"matchLabels":{"side":"car"}}}`}}, validate: []hook{{"allow", ""}}, requests: []string{
		`POST /api/v1/namespaces/default/pods {"metadata":{"name":"w","labels":{"side":"car"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		`POST /api/v1/namespaces/default/pods/bound/binding {"metadata":{"name":"bound"},"target":{"kind":"Node","name":"n1"}}`,
		`POST /api/v1/namespaces/default/pods/absent/binding {"metadata":{"name":"absent"},"target":{"kind":"Node","name":"n1"}}`,
		`POST /api/v1/namespaces/default/pods/evicted/eviction {"metadata":{"name":"evicted"}}`,
		`merge: PATCH /api/v1/namespaces/default/pods/w/status {"status":{"message":"m"}}`,
		`DELETE /api/v1/namespaces/default/pods/bound {"gracePeriodSeconds":5}`,
		`DELETE /api/v1/namespaces/default/pods/bound`,
		`DELETE /api/v1/namespaces/default/pods/w`,
	}},
	{name: "bindings", rules: rulesFor("bindings"), mutate: []hook{{"node", ""}}, requests: []string{
		`POST /api/v1/namespaces/default/bindings {"metadata":{"name":"absent"},"target":{"kind":"Node","name":"n1"}}`,
	}},
	{name: "scale", rules: rulesFor("*/scale"), mutate: []hook{{"scale", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		`merge: PATCH /apis/apps/v1/namespaces/default/deployments/d/scale {"spec":{"replicas":2}}`,
		`PUT /apis/apps/v1/namespaces/default/deployments/d/scale {"metadata":{"name":"d","namespace":"default"},"spec":{"replicas":7}}`,
	}},
	{name: "workload", rules: `[{"operations":["UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","deployments/status"]}]`, mutate: []hook{{"default", ""}, {"allow", ""}},
		validate: []hook{{"allow", ""}}, requests: []string{
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/e {"spec":{"replicas":5},"status":{"replicas":9}}`,
			`merge: PATCH /apis/apps/v1/namespaces/default/deployments/e/status {"status":{"replicas":1}}`,
		}},
	{name: "custom", rules: `[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["gadgets","gadgets/*"]}]`,
		mutate: []hook{
			{"allow", ""}, {"size", `{"objectSelector":{"matchLabels":{"make":"size"}}}`},
			{"wrong", `{"objectSelector":{"matchLabels":{"make":"wrong"}}}`}, {"label", `{"matchPolicy":"Exact"}`},
		}, validate: []hook{{"allow", ""}, {"allow", `{"matchPolicy":"Exact"}`}}, requests: []string{
			`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{}}`,
			`POST /apis/example.com/v2/namespaces/default/gadgets {"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"h"},"spec":{}}`,
			`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"i","labels":{"make":"size"}},"spec":{}}`,
			`POST /apis/example.com/v1/namespaces/default/gadgets {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"k","labels":{"make":"wrong"}},"spec":{}}`,
			`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g {"spec":{"size":2},"status":{"size":3}}`,
			`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g {"spec":{"size":20}}`,
			`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g/status {"status":{"size":3},"spec":{"size":1}}`,
			`merge: PATCH /apis/example.com/v1/namespaces/default/gadgets/g/scale {"spec":{"replicas":1}}`,
			`apply: PATCH /apis/example.com/v1/namespaces/default/gadgets/l?fieldManager=app {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"l"},"spec":{"size":1}}`,
			`DELETE /apis/example.com/v1/namespaces/default/gadgets/g`,
		}},
	{name: "reviews", rules: rulesFor("selfsubjectaccessreviews,serviceaccounts/token"), validate: []hook{{"message", ""}}, requests: []string{
		`POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`,
		`POST /api/v1/namespaces/default/serviceaccounts {"metadata":{"name":"a"}}`,
		`POST /api/v1/namespaces/default/serviceaccounts/a/token {"spec":{}}`,
	}},
	{name: "events", rules: `[{"operations":["*"],"apiGroups":["events.k8s.io"],"apiVersions":["v1"],"resources":["events"]}]`, validate: []hook{{"allow", ""}}, requests: []string{
		`POST /api/v1/namespaces/default/events {"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"r","message":"m","type":"Normal"}`,
	}},
	{name: "upsert", rules: rulesFor("leases"), mutate: []hook{{"label", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l {"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}`,
		`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l {"metadata":{"name":"l"},"spec":{"holderIdentity":"you"}}`,
	}},
	{name: "claims", rules: rulesFor("persistentvolumeclaims"), mutate: []hook{{"label", ""}}, validate: []hook{{"allow", ""}}, requests: []string{
		`POST /api/v1/namespaces/default/persistentvolumeclaims {"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
		`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/c {"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`,
		`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/c/status {"status":{"phase":"Bound"}}`,
		`DELETE /api/v1/namespaces/default/persistentvolumeclaims/c`,
		`DELETE /api/v1/namespaces/default/persistentvolumeclaims/c`,
		`merge: PATCH /api/v1/namespaces/default/persistentvolumeclaims/c {"metadata":{"finalizers":null}}`,
	}},
}
