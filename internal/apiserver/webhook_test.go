package apiserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/internals"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

// hooked is a server, and a server of webhooks that it asks.
type hooked struct {
	*fixture
	hooks *httptest.Server

	mu     sync.Mutex
	asked  []*admissionv1.AdmissionRequest
	answer func(path string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) // not with mu held
}

// newHooked returns a server with webhooks that allow everything, unless answer says otherwise. The service hooks/a is that server, too.
func newHooked(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{answer: func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {}}
	h.hooks = httptest.NewTLSServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.hooks.Close)
	u, err := url.Parse(h.hooks.URL)
	require.NoError(t, err)
	h.fixture = newFixtureWith(t, apiserver.Config{NoManagedFields: true, Webhooks: webhooks.NewClient(map[string]string{"hooks/a": u.Host})})
	return h
}

func (h *hooked) serve(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.asked = append(h.asked, review.Request)
	h.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	h.answer(req.URL.Path, review.Request, review.Response)
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the client is the server under test
}

// take returns the reviews since the last time.
func (h *hooked) take() []*admissionv1.AdmissionRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = nil
	return asked
}

func (h *hooked) authority() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.hooks.Certificate().Raw}))
}

// use stores a configuration. The path of each webhook is its name.
func (h *hooked) use(path string, hooks ...map[string]any) {
	h.t.Helper()
	for _, hook := range hooks {
		if _, given := hook["clientConfig"].(map[string]any)["service"]; !given {
			hook["clientConfig"] = map[string]any{"url": h.hooks.URL + "/" + hook["name"].(string), "caBundle": h.authority()}
		}
	}
	h.must("POST "+path, configurationOf(h.t, "a", hooks...))
}

// forget removes the configurations.
func (h *hooked) forget() {
	h.t.Helper()
	for _, path := range []string{mutatings, validatings} {
		h.must("DELETE "+path, "")
	}
}

// patching answers with a patch.
func patching(patch string) func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {
	return func(_ string, _ *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		resp.Patch, resp.PatchType = []byte(patch), new(admissionv1.PatchTypeJSONPatch)
	}
}

// refusing answers that it does not allow the request.
func refusing(_ string, _ *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
	resp.Allowed = false
}

type fields = map[string]any

func only(operations, resources []string, more fields) fields {
	all := fields{"rules": []any{fields{"operations": operations, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": resources}}}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// TestWebhookMatching: which requests webhooks are asked about.
func TestWebhookMatching(t *testing.T) {
	h := newHooked(t)
	h.must("POST /api/v1/namespaces", `{"metadata":{"name":"chosen","labels":{"team":"a"}}}`)
	h.must("POST "+configMaps, `{"metadata":{"name":"a","labels":{"old":"yes"}}}`)
	h.must("POST /apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},`+
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	h.must("POST "+pods, pod)
	h.must("POST "+definitions, definitionOf(version("v1", true, anything), version("v2", false, anything)))
	const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`
	widgets := "/apis/example.com/v1/namespaces/default/widgets"
	labeled := fields{"matchLabels": fields{"old": "yes"}}
	team := fields{"namespaceSelector": fields{"matchLabels": fields{"team": "a"}}}
	for _, test := range []struct {
		id, name string
		hook     fields
		line     string
		body     string
		want     int
	}{
		{"API-383", "any", only([]string{"*"}, []string{"*"}, nil), "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 1},
		{"API-383", "another operation", only([]string{"UPDATE"}, []string{"*"}, nil), "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 0},
		{"API-383", "another resource", only([]string{"*"}, []string{"secrets"}, nil), "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 0},
		{"API-383", "a read", only([]string{"*"}, []string{"*/*"}, nil), "GET " + configMaps, "", 0},
		{"API-383", "no subresources", only([]string{"*"}, []string{"*"}, nil), "PUT /apis/apps/v1/namespaces/default/deployments/d/scale?dryRun=All", `{"metadata":{"name":"d"},"spec":{"replicas":3}}`, 0},
		{"API-395", "a scale", only([]string{"*"}, []string{"deployments/scale"}, nil), "PUT /apis/apps/v1/namespaces/default/deployments/d/scale?dryRun=All", `{"metadata":{"name":"d"},"spec":{"replicas":3}}`, 1},
		{"API-395", "an eviction", only([]string{"CREATE"}, []string{"pods/*"}, nil), "POST " + pods + "/web/eviction?dryRun=All", `{"metadata":{"name":"web"}}`, 1},
		{"API-395", "a binding", only([]string{"CREATE"}, []string{"*/binding"}, nil), "POST " + pods + "/web/binding?dryRun=All", `{"metadata":{"name":"web"},"target":{"name":"n"}}`, 1},
		{"API-383", "another scope", only([]string{"*"}, []string{"*"}, fields{"rules": []any{fields{"operations": []string{"*"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"},
			"resources": []string{"*"}, "scope": "Cluster"}}}), "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 0},
		{"API-384", "old labels", fields{"objectSelector": labeled}, "PUT " + configMaps + "/a?dryRun=All", `{"metadata":{"name":"a"}}`, 1},
		{"API-384", "no labels", fields{"objectSelector": labeled}, "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 0},
		{"API-384", "namespace", team, "POST /api/v1/namespaces/chosen/configmaps?dryRun=All", `{"metadata":{"name":"b"}}`, 1},
		{"API-384", "another namespace", team, "POST " + configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 0},
		{"API-384", "no namespace", team, "POST " + classes + "?dryRun=All", class, 1},
		{"API-384", "a namespace itself", team, "POST /api/v1/namespaces?dryRun=All", `{"metadata":{"name":"n","labels":{"team":"a"}}}`, 1},
		{"API-383", "configurations", fields{}, "POST " + validatings + "?dryRun=All", configurationOf(t, "b"), 0},
		{"API-385", "another version", fields{"rules": []any{fields{"operations": []string{"*"}, "apiGroups": []string{"example.com"}, "apiVersions": []string{"v2"}, "resources": []string{"widgets"}}}},
			"POST " + widgets + "?dryRun=All", widget, 1},
		{"API-385", "only this version", fields{"matchPolicy": "Exact", "rules": []any{fields{"operations": []string{"*"}, "apiGroups": []string{"example.com"}, "apiVersions": []string{"v2"},
			"resources": []string{"widgets"}}}}, "POST " + widgets + "?dryRun=All", widget, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			for _, path := range []string{mutatings, validatings} {
				h.use(path, webhook(test.hook))
				h.take()
				h.must(test.line, test.body)
				asked := h.take()
				require.Len(t, asked, test.want, "%s: %s", test.id, path)
				if test.name == "another version" {
					require.Equal(t, "v2", asked[0].Kind.Version)
					require.Equal(t, "v1", asked[0].RequestKind.Version)
					require.Contains(t, string(asked[0].Object.Raw), `"apiVersion":"example.com/v2"`)
				}
				h.forget()
			}
		})
	}
}

// TestWebhookConditions: a webhook is asked if its conditions hold (API-382). The texts are those of kube-apiserver.
func TestWebhookConditions(t *testing.T) {
	h := newHooked(t)
	conditions := func(texts ...string) []any {
		var list []any
		for i, text := range texts {
			list = append(list, fields{"name": fmt.Sprint("c", i), "expression": text})
		}
		return list
	}
	for _, test := range []struct {
		id, name, policy string
		conditions       []any
		want             int
		fails            string
	}{
		{"API-382", "all hold", "Fail", conditions("object.data.k == 'v'", "oldObject == null", "request.operation == 'CREATE' && request.dryRun"), 1, ""},
		{"API-382", "one does not", "Fail", conditions("object.data.k == 'v'", "object.data.k == 'w'"), 0, ""},
		{"API-382", "everyone may do everything", "Fail", conditions("authorizer.group('').resource('pods').check('get').allowed()", "authorizer.requestResource.check('update').allowed()"), 1, ""},
		{"API-382", "an error", "Fail", conditions("object.spec.x == 1", "object.data.k == 'v'"), 0,
			`configmaps "b" is forbidden: expression 'object.spec.x == 1' resulted in error: no such key: spec`},
		{"API-382", "an error, and one does not hold", "Fail", conditions("object.spec.x == 1", "object.data.k == 'w'"), 0, ""},
		{"API-382", "an error that is ignored", "Ignore", conditions("object.spec.x == 1"), 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			h.use(validatings, webhook(only([]string{"*"}, []string{"configmaps"}, fields{"matchConditions": test.conditions, "failurePolicy": test.policy})))
			h.take()
			const body = `{"metadata":{"name":"b"},"data":{"k":"v"}}`
			if test.fails != "" {
				h.fails("POST "+configMaps+"?dryRun=All", body, 403, test.fails)
			} else {
				h.must("POST "+configMaps+"?dryRun=All", body)
			}
			require.Len(t, h.take(), test.want, test.id)
			h.forget()
		})
	}
}

// TestWebhookAnswers: what the answers of webhooks mean. The texts are those of kube-apiserver, as is compared by internal/proof/apiserver.
func TestWebhookAnswers(t *testing.T) {
	const failed = `Internal error occurred: failed calling webhook \"a.example.com\": `
	for _, test := range []struct {
		id, name string
		path     string
		hook     fields
		answer   func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)
		query    string
		code     int
		want     string
	}{
		{"API-391", "refused", validatings, nil, refusing, "", 400, `"message":"admission webhook \"a.example.com\" denied the request without explanation"`},
		{"API-391", "refused first", mutatings, nil, refusing, "", 400, `"message":"admission webhook \"a.example.com\" denied the request without explanation"`},
		{"API-388", "patched", mutatings, nil, patching(`[{"op":"add","path":"/data","value":{"k":"v"}}]`), "", 201, `"data":{"k":"v"}`},
		{"API-388", "not patched", mutatings, nil, patching(`[{"op":"remove","path":"/absent"}]`), "", 500, `Internal error occurred: error in remove for path: '/absent'`},
		{"API-390", "valid", mutatings, nil, patching(`[{"op":"add","path":"/metadata/labels","value":{"a":"-"}}]`), "", 422, `metadata.labels: Invalid value`},
		{"API-387", "a patch that is refused", validatings, nil, patching(`[]`), "", 500, failed + `received invalid webhook response: validating webhook may not return response.patch`},
		{"API-387", "another uid", validatings, nil, func(_ string, _ *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) { resp.UID = "x" }, "", 500,
			failed + `received invalid webhook response: expected response.uid=`},
		{"API-392", "ignored", validatings, fields{"failurePolicy": "Ignore"}, patching(`[]`), "", 201, `"name":"a"`},
		{"API-393", "dry run", validatings, nil, func(_ string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
			resp.Allowed = !*req.DryRun
		}, "?dryRun=All", 400, `denied the request`},
		{"API-397", "a service", validatings, fields{"clientConfig": fields{"service": fields{"namespace": "hooks", "name": "a", "path": "/b"}, "caBundle": "CA"}}, refusing, "", 500,
			`failed to call webhook: Post \"https://a.hooks.svc:443/b?timeout=10s\": tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not a.hooks.svc`},
		{"API-397", "an unknown service", validatings, fields{"clientConfig": fields{"service": fields{"namespace": "hooks", "name": "b"}}}, refusing, "", 500,
			`failed to call webhook: Post \"https://b.hooks.svc:443/?timeout=10s\": no address of service hooks/b is known; volsim serve takes --service hooks/b=HOST:PORT`},
		{"API-397", "an unknown service that is ignored", mutatings, fields{"failurePolicy": "Ignore", "clientConfig": fields{"service": fields{"namespace": "hooks", "name": "b"}}}, refusing, "", 201, `"name":"a"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHooked(t)
			h.answer = test.answer
			hook := webhook(test.hook)
			if client := hook["clientConfig"].(fields); client["caBundle"] == "CA" {
				client["caBundle"] = h.authority()
			}
			h.use(test.path, hook)
			resp, got := h.request("POST "+configMaps+test.query, `{"metadata":{"name":"a"}}`)
			require.Equal(t, test.code, resp.StatusCode, "%s: %s", test.id, got)
			require.Contains(t, got, test.want, test.id)
		})
	}
}

// TestWebhookTimeout: a webhook that does not answer in time has failed (API-398).
func TestWebhookTimeout(t *testing.T) {
	h := newHooked(t)
	release := make(chan struct{})
	h.answer = func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) { <-release }
	h.use(validatings, webhook(fields{"timeoutSeconds": 1}))
	_, got := h.request("POST "+configMaps, `{"metadata":{"name":"a"}}`)
	close(release)
	require.Contains(t, got, `?timeout=1s\": context deadline exceeded`, "API-398")
}

// TestWebhookReview: what a webhook is shown (API-386).
func TestWebhookReview(t *testing.T) {
	h := newHooked(t)
	h.use(validatings, webhook(nil))
	h.must("POST "+configMaps+"?fieldManager=me", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	h.must("PATCH "+configMaps+"/a", `{"data":{"k":"w"}}`, "Content-Type: application/merge-patch+json")
	h.must("DELETE "+configMaps+"/a?dryRun=All&propagationPolicy=Background", "")
	h.must("DELETE "+configMaps, "")
	asked := h.take()
	require.Len(t, asked, 4)
	create, update, remove, collection := asked[0], asked[1], asked[2], asked[3]
	require.NotEqual(t, create.UID, update.UID)
	require.Equal(t, "test", create.UserInfo.Username)
	require.Equal(t, "ConfigMap", create.Kind.Kind)
	require.Equal(t, "configmaps", create.Resource.Resource)
	require.Equal(t, "default/a", create.Namespace+"/"+create.Name)
	require.JSONEq(t, `{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions","fieldManager":"me"}`, string(create.Options.Raw))
	require.Nil(t, create.OldObject.Raw)
	require.Equal(t, admissionv1.Update, update.Operation)
	require.Contains(t, string(update.OldObject.Raw), `"k":"v"`)
	require.Contains(t, string(update.Object.Raw), `"k":"w"`)
	require.Equal(t, admissionv1.Delete, remove.Operation)
	require.True(t, *remove.DryRun)
	require.JSONEq(t, `{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","dryRun":["All"],"propagationPolicy":"Background"}`, string(remove.Options.Raw))
	require.Empty(t, collection.Name, "API-396")
}

// TestWebhookOrder: webhooks that change objects come one after the other, and once more if they ask for it (API-388, API-389).
func TestWebhookOrder(t *testing.T) {
	h := newHooked(t)
	var paths []string
	h.answer = func(path string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		paths = append(paths, path)
		if path == "/b.example.com" {
			patching(`[{"op":"add","path":"/data","value":{"by":"b"}}]`)(path, req, resp)
		}
	}
	h.use(mutatings, webhook(fields{"reinvocationPolicy": "IfNeeded"}), webhook(fields{"name": "b.example.com"}), webhook(fields{"name": "c.example.com"}))
	h.use(validatings, webhook(fields{"name": "v.example.com"}))
	require.Contains(t, h.must("POST "+configMaps, `{"metadata":{"name":"a"}}`), `"data":{"by":"b"}`)
	require.Equal(t, []string{"/a.example.com", "/b.example.com", "/c.example.com", "/a.example.com", "/v.example.com"}, paths, "API-388, API-389")
	asked := h.take()
	require.NotContains(t, string(asked[0].Object.Raw), `"by"`)
	require.Contains(t, string(asked[3].Object.Raw), `"by"`)
}

// TestWebhookReads: a webhook may use the API while it is asked, and a request that another one has overtaken is reviewed again (API-394).
func TestWebhookReads(t *testing.T) {
	h := newHooked(t)
	h.must("POST "+configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	var once sync.Once
	h.answer = func(_ string, req *admissionv1.AdmissionRequest, resp *admissionv1.AdmissionResponse) {
		h.must("GET "+configMaps+"/a", "")
		once.Do(func() {
			h.must("PATCH "+configMaps+"/a", `{"metadata":{"labels":{"other":"writer"}}}`, "Content-Type: application/merge-patch+json", "User-Agent: other")
		})
	}
	h.use(mutatings, webhook(fields{"objectSelector": fields{"matchLabels": fields{"mine": "yes"}}}))
	got := h.must("PATCH "+configMaps+"/a", `{"metadata":{"labels":{"mine":"yes"}}}`, "Content-Type: application/merge-patch+json")
	require.Contains(t, got, `"labels":{"mine":"yes","other":"writer"}`, "API-394")
	asked := h.take()
	require.Len(t, asked, 2, "API-394")
	require.NotContains(t, string(asked[0].Object.Raw), "writer")
	require.Contains(t, string(asked[1].Object.Raw), "writer")
}

// TestWebhooksAtOnce: requests do not wait for the webhooks of others.
func TestWebhooksAtOnce(t *testing.T) {
	h := newHooked(t)
	var together sync.WaitGroup
	together.Add(4)
	h.answer = func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {
		together.Done()
		together.Wait()
	}
	h.use(validatings, webhook(nil))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			req, _ := http.NewRequest("POST", "http://volsim.invalid"+configMaps, strings.NewReader(`{"metadata":{"generateName":"a`+string(rune('a'+i))+`-"}}`))
			req.Header.Set("User-Agent", "test/v1")
			resp, err := h.server.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusCreated {
				t.Errorf("%v %v", resp, err)
			}
		})
	}
	all.Wait()
	require.Len(t, h.take(), 4)
}

// TestWebhookAgain: a request can be done again without the webhooks.
func TestWebhookAgain(t *testing.T) {
	h := newHooked(t)
	h.answer = patching(`[{"op":"add","path":"/data","value":{"k":"v"}}]`)
	configuration := webhook(nil)
	h.use(mutatings, configuration)
	again := newFixtureWith(t, apiserver.Config{NoManagedFields: true})
	again.must("POST "+mutatings, configurationOf(t, "a", configuration))
	var sent []apiserver.Sent
	h.server = apiserver.New(apiserver.Config{
		Backend: apiserver.ForEngine(internals.Engine(h.cluster)), NoManagedFields: true, Webhooks: webhooks.NewClient(nil),
		Sent: func(s apiserver.Sent, _ int) { sent = append(sent, s) },
	})
	want := h.must("POST "+configMaps, `{"metadata":{"generateName":"a-"}}`)
	require.Len(t, sent, 1)
	require.NotNil(t, sent[0].Answers)
	data, err := json.Marshal(sent[0].Answers)
	require.NoError(t, err)
	answers := &apiserver.Answers{}
	require.NoError(t, json.Unmarshal(data, answers))
	again.must("POST "+configMaps, `{"metadata":{"name":"other"}}`, "User-Agent: nobody") // no answers: its webhooks are not asked
	req, err := http.NewRequest("POST", "http://volsim.invalid"+configMaps, strings.NewReader(`{"metadata":{"generateName":"a-"}}`))
	require.NoError(t, err)
	req.Header.Set("User-Agent", "test/v1")
	resp, err := again.server.RoundTrip(apiserver.WithAnswers(req, answers))
	require.NoError(t, err)
	var got, stored struct {
		Metadata struct{ Name string }
		Data     map[string]string
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	require.NoError(t, json.Unmarshal([]byte(want), &stored))
	require.Equal(t, stored, got)
	require.Equal(t, map[string]string{"k": "v"}, got.Data)
}

// TestWebhookEnded: a request whose client gives up while a webhook is asked has no effect, and none when it is done again (API-541).
func TestWebhookEnded(t *testing.T) {
	h := newHooked(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.answer = func(string, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) { cancel() }
	h.use(validatings, webhook(nil))
	var sent []apiserver.Sent
	h.server = apiserver.New(apiserver.Config{
		Backend: apiserver.ForEngine(internals.Engine(h.cluster)), NoManagedFields: true, Webhooks: webhooks.NewClient(nil),
		Sent: func(s apiserver.Sent, code int) {
			require.GreaterOrEqual(t, code, http.StatusBadRequest, "API-541")
			sent = append(sent, s)
		},
	})
	send := func(with func(*http.Request) *http.Request) {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://volsim.invalid"+configMaps, strings.NewReader(`{"metadata":{"name":"a"}}`))
		require.NoError(t, err)
		req.Header.Set("User-Agent", "test/v1")
		resp, err := h.server.RoundTrip(with(req))
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode, "API-541")
		resp, got := h.request("GET "+configMaps+"/a", "")
		require.Equal(t, http.StatusNotFound, resp.StatusCode, got)
	}
	send(func(req *http.Request) *http.Request { return req })
	require.Len(t, sent, 1)
	data, err := json.Marshal(sent[0].Answers)
	require.NoError(t, err)
	answers := &apiserver.Answers{}
	require.NoError(t, json.Unmarshal(data, answers))
	send(func(req *http.Request) *http.Request { return apiserver.WithAnswers(req, answers) })
}

// TestWebhooksAreNotAsked: a server without a network calls no webhooks (API-399).
func TestWebhooksAreNotAsked(t *testing.T) {
	f := newFixture(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	f.must("POST "+validatings, configurationOf(t, "a", webhook(fields{"clientConfig": fields{"url": "https://" + listener.Addr().String()}})))
	f.must("POST "+configMaps, `{"metadata":{"name":"a"}}`)
}
