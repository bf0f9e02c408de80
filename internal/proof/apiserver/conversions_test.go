package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"
)

// converter is a conversion webhook for both servers. The path says what it answers. Version v1 has spec.hostPort, v2 has spec.host and spec.port.
type converter struct{ *httptest.Server }

func newConverter(t *testing.T) *converter {
	t.Helper()
	c := &converter{}
	c.Server = httptest.NewTLSServer(c)
	t.Cleanup(c.Close)
	return c
}

type object = map[string]any

// ServeHTTP converts the objects of a review.
func (c *converter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // an incomplete one is no JSON
	var review struct {
		APIVersion string
		Kind       string
		Request    struct {
			UID               string
			DesiredAPIVersion string
			Objects           []object
		}
	}
	if err := json.Unmarshal(body, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var converted []object
	for _, obj := range review.Request.Objects {
		obj["apiVersion"] = review.Request.DesiredAPIVersion
		spec, _ := obj["spec"].(object)
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v2") {
			if text, ok := spec["hostPort"].(string); ok {
				spec["host"], spec["port"], _ = strings.Cut(text, ":")
				delete(spec, "hostPort")
			}
		} else if host, ok := spec["host"]; ok {
			spec["hostPort"] = fmt.Sprintf("%v:%v", host, spec["port"])
			delete(spec, "host")
			delete(spec, "port")
		}
		converted = append(converted, obj)
	}
	response := object{"uid": review.Request.UID, "result": object{"status": "Success"}, "convertedObjects": converted}
	answer := object{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response}
	metadata := func() object { return converted[0]["metadata"].(object) }
	switch path.Base(req.URL.Path) {
	case "message":
		response["result"] = object{"status": "Failure", "message": "cannot convert"}
	case "status":
		response["result"] = object{"status": "Failure"}
	case "uid":
		response["uid"] = "other"
	case "kind":
		answer["kind"] = "Other"
	case "absent":
		delete(answer, "response")
	case "none":
		response["convertedObjects"] = []object{}
	case "two":
		response["convertedObjects"] = append(converted, converted[0])
	case "version":
		converted[0]["apiVersion"] = "example.com/v3"
	case "otherkind":
		converted[0]["kind"] = "Other"
	case "name":
		metadata()["name"] = "other"
	case "namespace":
		metadata()["namespace"] = "other"
	case "nometa":
		delete(converted[0], "metadata")
	case "badlabels":
		metadata()["labels"] = object{"not valid": "x"}
	case "badannotations":
		metadata()["annotations"] = object{"not valid": "x"}
	case "labeltype":
		metadata()["labels"] = object{"a": 1}
	case "labelstype":
		metadata()["labels"] = "a"
	case "labels":
		metadata()["labels"], metadata()["annotations"] = object{"to": path.Base(review.Request.DesiredAPIVersion)}, object{"by": "webhook"}
	case "meta":
		metadata()["generation"], metadata()["resourceVersion"], metadata()["finalizers"] = 7, "1", []string{"example.com/x"}
	case "unknown":
		converted[0]["spec"].(object)["unknown"], converted[0]["more"] = "x", "y"
	case "500":
		http.Error(w, "it is on fire", http.StatusInternalServerError)
		return
	case "text":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// conversionCase is a definition whose webhook gives an answer, and requests about its objects.
type conversionCase struct {
	name     string // of the group, and the answer
	versions string // of ConversionReview, v1 without
	requests []string
}

// definition returns the definition of a case.
func (c *converter) definition(one conversionCase) string {
	versions := one.versions
	if versions == "" {
		versions = "v1"
	}
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}))
	version := func(name string, storage bool, properties string) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},`+
			`"additionalPrinterColumns":[{"name":"Mode","type":"string","jsonPath":".spec.mode"},{"name":"Host","type":"string","jsonPath":".spec.host"}],`+
			`"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%s,"size":{"type":"integer","maximum":4},"mode":{"type":"string","default":"Auto-%s"}}},`+
			`"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}`, name, storage, properties, name)
	}
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.%s.example.com"},"spec":{"group":"%s.example.com","scope":"Namespaced",`+
		`"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},"versions":[%s,%s],`+
		`"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["%s"],"clientConfig":{"url":"%s/%s","caBundle":"%s"}}}}}`, one.name, one.name,
		version("v1", true, `"hostPort":{"type":"string"}`), version("v2", false, `"host":{"type":"string"},"port":{"type":"string","pattern":"^[0-9]+$"}`), strings.ReplaceAll(versions, ",", `","`), c.URL, one.name, authority)
}

// TestConversions compares the answers of both servers about objects that a webhook converts.
func TestConversions(t *testing.T) {
	hook := newConverter(t)
	servers := []*server{real(t, false), simulated(t)}
	compare := func(c conversionCase, r request) {
		t.Helper()
		var results []string
		for _, s := range servers {
			results = append(results, s.answer(t, r))
		}
		if results[0] != results[1] {
			t.Errorf("%s: %s %s\n%s", c.name, r, r.body, difference(results[0], results[1]))
		}
	}
	for _, c := range conversionCases {
		r := request{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: hook.definition(c)}
		for _, s := range servers {
			s.answer(t, r)
		}
	}
	time.Sleep(4 * time.Second) // until kube-apiserver serves the custom kinds
	count := 0
	for _, c := range conversionCases {
		if ok, _ := path.Match(*only, c.name); !ok {
			continue
		}
		for _, text := range c.requests {
			count++
			v := strings.NewReplacer("V1", "/apis/"+c.name+".example.com/v1/namespaces/default/gadgets", "V2", "/apis/"+c.name+".example.com/v2/namespaces/default/gadgets",
				"G1", c.name+".example.com/v1", "G2", c.name+".example.com/v2")
			text, table := strings.CutPrefix(v.Replace(text), "table: ")
			r := hookCase{name: c.name}.requestOf(text)
			if table {
				r.header = [][2]string{{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}
			}
			compare(c, r)
		}
	}
	t.Logf("%d requests", count)
}

const (
	createV1 = `POST V1 {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"a"},"spec":{"hostPort":"h:1"}}`
	createV2 = `POST V2 {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"b","labels":{"x":"y"}},"spec":{"host":"k","port":"2"}}`
)

// failing are requests about a webhook that fails.
var failing = []string{createV1, createV2, "GET V1/a", "GET V2/a", `merge: PATCH V2/a {"spec":{"port":"3"}}`, "DELETE V2/a"}

var conversionCases = []conversionCase{
	{name: "good", requests: []string{
		createV1, createV2,
		"GET V1/a", "GET V2/a", "GET V1/b", "GET V2/b", "GET V1", "GET V2", "GET V2?limit=1", "GET V2?labelSelector=x%3Dy", "GET V2?fieldSelector=metadata.name%3Da",
		`POST V2 {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"a"},"spec":{"host":"k","port":"2"}}`,
		`POST V2 {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"c"},"spec":{"host":"k","port":"x"}}`,
		`POST V2 {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"c"},"spec":{"host":"k","port":"2"}}`,
		`POST V2?fieldValidation=Strict {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"c"},"spec":{"host":"k","port":"2"}}`,
		`POST V2?fieldValidation=Ignore {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"c"},"spec":{"host":"k","port":"2"}}`,
		"GET V1?watch=true&timeoutSeconds=1", "GET V2?watch=true&timeoutSeconds=1", "table: GET V2", "table: GET V1", "table: GET V2?watch=true&timeoutSeconds=1",
		`POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"m"}}`, `POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"n"}}`,
		"table: GET /api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1",
		`POST V2?fieldValidation=Strict {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"c"},"spec":{"hostPort":"k:2"}}`,
		`POST V2?dryRun=All {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"d"},"spec":{"host":"k","port":"2"}}`,
		`PUT V2/a {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"a"},"spec":{"host":"k","port":"2"}}`,
		`merge: PATCH V2/a {"spec":{"port":"3"}}`,
		`merge: PATCH V2/a {"spec":{"port":"3"}}`,
		`merge: PATCH V2/a {"spec":{"port":"y"}}`,
		`merge: PATCH V2/a?dryRun=All {"spec":{"port":"4"}}`,
		`json: PATCH V2/a [{"op":"replace","path":"/spec/port","value":"5"}]`,
		`json: PATCH V2/a [{"op":"test","path":"/spec/hostPort","value":"5"}]`,
		`merge: PATCH V1/a {"spec":{"hostPort":"z:9"}}`,
		`apply: PATCH V2/a?fieldManager=app&force=true {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"a"},"spec":{"host":"applied","port":"7"}}`,
		`apply: PATCH V1/a?fieldManager=other {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"a"},"spec":{"hostPort":"conflict:8"}}`,
		`apply: PATCH V1/a?fieldManager=app&force=true {"apiVersion":"G1","kind":"Gadget","metadata":{"name":"a"},"spec":{"hostPort":"one:8"}}`,
		`apply: PATCH V2/n?fieldManager=app {"apiVersion":"G2","kind":"Gadget","metadata":{"name":"n"},"spec":{"host":"new","port":"7"}}`,
		`merge: PATCH V2/a/status {"status":{"size":1}}`,
		"GET V2/a/status", "GET V1/a/scale",
		`merge: PATCH V2/a/scale {"spec":{"replicas":3}}`,
		`merge: PATCH V2/a {"spec":{"size":2}}`,
		`merge: PATCH V2/a/scale {"spec":{"replicas":3}}`,
		"GET V1/a/scale", "GET V2/a/scale", "GET V1/a", "GET V2/a",
		`merge: PATCH V2/a {"metadata":{"labels":{"l":"m"},"finalizers":["example.com/f"]}}`,
		"DELETE V2/a?dryRun=All", "DELETE V2/a", "GET V1/a", "GET V2/a",
		`merge: PATCH V2/a {"metadata":{"finalizers":null}}`,
		"GET V2/a", "DELETE V1/b", "DELETE V2", "GET V2",
	}},
	{name: "meta", requests: []string{createV1, createV2, "GET V1/a", "GET V2/a", "GET V1/b", `merge: PATCH V2/a {"spec":{"port":"3"}}`, "GET V1/a"}},
	{name: "labels", requests: []string{createV1, createV2, "GET V1/a", "GET V2/a", "GET V1/b", `merge: PATCH V2/a {"spec":{"port":"3"}}`, "GET V1/a"}},
	{name: "unknown", requests: []string{createV1, createV2, "GET V1/a", "GET V2/a", "GET V1/b"}},
	{name: "beta", versions: "v1beta1,v1", requests: []string{createV1, createV2, "GET V1/a", "GET V2/a", "GET V1/b"}},
	{name: "later", versions: "v7,v1", requests: []string{createV1, createV2, "GET V2/a"}},
	{name: "message", requests: failing},
	{name: "status", requests: failing},
	{name: "uid", requests: failing},
	{name: "kind", requests: failing},
	{name: "absent", requests: failing},
	{name: "none", requests: failing},
	{name: "two", requests: failing},
	{name: "version", requests: failing},
	{name: "otherkind", requests: failing},
	{name: "name", requests: failing},
	{name: "namespace", requests: failing},
	{name: "nometa", requests: failing},
	{name: "badlabels", requests: failing},
	{name: "badannotations", requests: failing},
	{name: "labeltype", requests: failing},
	{name: "labelstype", requests: failing},
	{name: "500", requests: failing},
	{name: "text", requests: failing},
}
