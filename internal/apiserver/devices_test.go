package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

const (
	devicePath   = "/apis/resource.k8s.io/v1/"
	claimPath    = devicePath + "namespaces/default/resourceclaims"
	templatePath = devicePath + "namespaces/default/resourceclaimtemplates"
)

// TestDeviceRules creates objects of resource.k8s.io. The comparison with a real server has all cases.
func TestDeviceRules(t *testing.T) {
	claim := func(requests string) string { return `{"requests":[` + requests + `]}` }
	exactly := func(fields string) string {
		return claim(`{"name":"r","exactly":{"deviceClassName":"c",` + fields + `}}`)
	}
	class := func(expression string) string {
		return fmt.Sprintf(`{"selectors":[{"cel":{"expression":%q}}]}`, expression)
	}
	slice := func(fields string) string {
		return `{"driver":"d","pool":{"name":"p","resourceSliceCount":1},` + fields + `}`
	}
	device := func(fields string) string { return slice(`"allNodes":true,"devices":[{"name":"g",` + fields + `}]`) }
	policy := func(text string) string {
		return device(`"allowMultipleAllocations":true,"capacity":{"memory":{"value":"10","requestPolicy":` + text + `}}`)
	}
	for _, row := range []struct{ rule, resource, spec, want string }{
		{"API-579", "deviceclasses", class("device.driver == 'd' && device.capacity['d'].memory.compareTo(quantity('1Gi')) > 0"), ""},
		{"API-579", "deviceclasses", class("device.attributes['d'].shared"), ""},
		{"API-579", "deviceclasses", class("cel.bind(d, device.attributes['d'], d.a || d.b)"), ""},
		{"API-579", "deviceclasses", class("device.drive == 'd'"), `spec.selectors[0].cel.expression: Invalid value: "device.drive == 'd'": compilation failed: ERROR: `},
		{"API-579", "deviceclasses", class("1"), `Invalid value: "1": must evaluate to bool or the unknown type, not int`},
		{"API-579", "deviceclasses", class("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == d && b == c))))"),
			"spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"},
		{"API-579", "deviceclasses", class(strings.Repeat(" ", 10*1024) + "true"), "spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"},
		{"API-579", "deviceclasses", `{"config":[{},{"opaque":{"driver":"","parameters":[]}}],"extendedResourceName":"cpu"}`, `[spec.config[0].opaque: Required value, spec.config[1].opaque.driver: Required value, ` +
			`spec.config[1].opaque.parameters: Invalid value: "\u003cvalue omitted\u003e": must be a valid JSON object, spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name]`},
		{"API-580", "resourceclaims", claim(`{"name":"r"}`), "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
		{"API-580", "resourceclaims", claim(`{"name":"r","exactly":{"deviceClassName":"c"}},{"name":"r","firstAvailable":[{"name":"s"}]}`),
			`[spec.devices.requests[1].firstAvailable[0].deviceClassName: Required value, spec.devices.requests[1]: Duplicate value: "r"]`},
		{"API-580", "resourceclaims", exactly(`"allocationMode":"All","count":1`), "spec.devices.requests[0].exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'"},
		{"API-580", "resourceclaims", exactly(`"tolerations":[{"operator":"Exists","value":"a"}]`), "exactly.tolerations[0].value: Invalid value: \"a\": must be empty for operator `Exists`"},
		{"API-565", "resourceclaims", exactly(`"tolerations":[{"key":"a"}]`), `"tolerations":[{"key":"a","operator":"Equal"}]`},
		{"API-580", "resourceclaims", `{"constraints":[{"requests":["a/b/c"],"matchAttribute":"numa"}]}`, `[spec.devices.constraints[0].requests[0]: Invalid value: "a/b/c": must be the name of a request in the claim ` +
			`or the name of a request and a subrequest separated by '/', spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a name`},
		{"API-580", "resourceclaimtemplates", claim(`{"name":"R","exactly":{"deviceClassName":"c"}}`), `spec.spec.devices.requests[0].name: Invalid value: "R"`},
		{"API-582", "resourceslices", slice(`"devices":[]`), "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"},
		{"API-582", "resourceslices", slice(`"allNodes":true,"nodeName":"n","devices":[],"sharedCounters":[{"name":"s"}]`),
			"[spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set, " +
				"spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed, spec.sharedCounters[0].counters: Required value]"},
		{"API-582", "resourceslices", device(`"attributes":{"a":{},"b":{"int":1,"string":"x"},"c":{"version":"1"},"d/e-f":{"bool":true}}`), `[spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified, ` +
			`spec.devices[0].attributes[b]: Invalid value: {"IntValue":1,"BoolValue":null,"StringValue":"x","VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one`},
		{"API-582", "resourceslices", policy(`{"default":"3","validValues":["1","20"]}`), `[spec.devices[0].capacity[memory].requestPolicy.validValues[1]: Invalid value: "20": option is larger than capacity value: 10, ` +
			`spec.devices[0].capacity[memory].requestPolicy.validValues: Invalid value: "3": default value is not valid according to the requestPolicy]`},
		{"API-582", "resourceslices", policy(`{"default":"3","validRange":{"min":"1","max":"9","step":"4"}}`),
			`spec.devices[0].capacity[memory].requestPolicy.validRange.step: Invalid value: "3": value is not a multiple of a given step (4) from (1)`},
		{"API-582", "resourceslices", policy(`{"default":"3","validRange":{"min":"1","step":"0"}}`), `requestPolicy.validRange.step: Invalid value: "3": value is not a multiple of a given step (0) from (1)`},
		{"API-582", "resourceslices", device(`"capacity":{"memory":{"value":"10","requestPolicy":{}}}`), `requestPolicy: Forbidden: allowMultipleAllocations must be true`},
		{"API-582", "resourceslices", device(`"bindingConditions":["a"],"bindingFailureConditions":["a"]`), `bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions`},
		{"API-582", "resourceslices", device(`"taints":[{"key":"a","effect":"NoSchedule"}]`), `"taints":[{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]`},
		{"API-583", "resourceclaims", exactly(`"adminAccess":true`), "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"},
		{"API-583", "resourceclaimtemplates", exactly(`"adminAccess":true`), "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires"},
		{"API-584", "resourceslices", device(`"attributes":{"a":{"ints":[1],"bool":true}},"nodeAllocatableResourceMappings":{"cpu":{}}`), `"devices":[{"name":"g","attributes":{"a":{"bool":true}}}]`},
	} {
		f := newFixtureWith(t, apiserver.Config{})
		path, spec := devicePath+row.resource, row.spec
		switch row.resource {
		case "resourceclaims":
			path, spec = claimPath, `{"devices":`+spec+`}`
		case "resourceclaimtemplates":
			path, spec = templatePath, `{"spec":{"devices":`+spec+`}}`
		}
		resp, got := f.request("POST "+path, `{"metadata":{"name":"a"},"spec":`+spec+`}`)
		require.Contains(t, []int{201, 422}, resp.StatusCode, "%s: %s: %s", row.rule, row.spec, got)
		require.Contains(t, strings.ReplaceAll(got, `\"`, `"`), row.want, "%s: %s", row.rule, row.spec)
		if row.want == "" {
			require.Equal(t, 201, resp.StatusCode, "%s: %s: %s", row.rule, row.spec, got)
		}
	}
}

// TestDeviceRulesOfUpdates replaces objects of resource.k8s.io.
func TestDeviceRulesOfUpdates(t *testing.T) {
	const claim = `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}%s}`
	slice := func(fields string) string {
		return `{"metadata":{"name":"a"},"spec":{"pool":{"name":"p","resourceSliceCount":1},` + fields + `}}`
	}
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST "+claimPath, fmt.Sprintf(claim, ""))
	f.must("POST "+devicePath+"resourceslices", slice(`"driver":"d","nodeName":"n","devices":[]`))
	f.must("POST "+devicePath+"deviceclasses", `{"metadata":{"name":"a","generateName":"-1"}}`) // API-579
	status := func(fields string) string { return fmt.Sprintf(claim, `,"status":{`+fields+`}`) }
	const allocation = `"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"g"}]}}`
	const report = `"devices":[{"driver":"d","pool":"p","device":"g"}]`
	for _, row := range []struct{ rule, path, body, want string }{
		{"API-580", claimPath, strings.Replace(fmt.Sprintf(claim, ""), `"r"`, `"s"`, 1), `spec: Invalid value: {"Devices":{"Requests":[{"Name":"s","Exactly":{"DeviceClassName":"c","Selectors":null,"AllocationMode":"ExactCount","Count":1,`},
		{"API-582", devicePath + "resourceslices", slice(`"driver":"e","allNodes":true,"devices":[]`), `[spec.driver: Invalid value: "e": field is immutable, spec.nodeName: Invalid value: null: field is immutable]`},
		{"API-584", devicePath + "resourceslices", slice(`"driver":"d","nodeName":"n","devices":[{"name":"g","nodeAllocatableResourceMappings":{"cpu":{}}}]`), `"generation":2,`},
		{"API-584", devicePath + "resourceslices", slice(`"driver":"d","nodeName":"n","devices":[{"name":"g","nodeAllocatableResourceMappings":{"cpu":{}}}]`), `"generation":3,`},
		{"API-581", claimPath, status(`"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]`), "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
		{"API-581", claimPath, status(report), `status.devices[0]: Invalid value: {"Driver":"d","Pool":"p","Device":"g","ShareID":""}: must be an allocated device in the claim`},
		{"API-581", claimPath, status(strings.Replace(allocation, `"r"`, `"s"`, 1)), `status.allocation.devices.results[0].request: Invalid value: "s": must be the name of a request in the claim`},
		{"API-581", claimPath, status(strings.Replace(allocation, `"device"`, `"shareID":"A","device"`, 1)), `shareID: Invalid value: "A": error validating uid: invalid UUID length: 1`},
		{"API-583", claimPath, status(strings.Replace(allocation, `"device"`, `"adminAccess":true,"device"`, 1)), `status.allocation.devices.results[0].adminAccess: Forbidden`},
		{"API-581", claimPath, status(allocation + "," + report + `,"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]`), `"devices":[{"driver":"d","pool":"p","device":"g","conditions":null}]`},
		{"API-581", claimPath, status(strings.Replace(allocation, `"g"`, `"h"`, 1)), `status.allocation: Invalid value: {"Devices":{"Results":[{"Request":"r","Driver":"d","Pool":"p","Device":"h"`},
		{"API-581", claimPath, status(report), `{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}]}},"status":{}}`},
	} {
		path := row.path + "/a"
		if strings.Contains(row.body, `"status"`) {
			path += "/status"
		}
		_, got := f.request("PUT "+path, row.body)
		require.Contains(t, strings.ReplaceAll(got, `\"`, `"`), row.want, "%s: %s", row.rule, row.body)
	}
	resp, _ := f.request("GET "+claimPath+"/a/status", "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	require.Equal(t, 406, resp.StatusCode, "API-581")
	f.must("POST /api/v1/namespaces", `{"metadata":{"name":"default","labels":{"resource.kubernetes.io/admin-access":"true"}}}`)
	f.must("PUT "+claimPath+"/a/status", status(strings.Replace(allocation, `"device"`, `"adminAccess":true,"device"`, 1))) // API-583
	_, got := f.request("GET "+devicePath+"resourceslices?fieldSelector=spec.driver%3Dd,spec.nodeName%3Dm", "")
	require.Contains(t, got, `"items":[]`, "API-582")
	resp, _ = f.request("POST "+devicePath+"resourceslices?dryRun=All", strings.Replace(slice(`"driver":"D","nodeName":"n","devices":[]`), `"a"`, `"b"`, 1))
	require.Equal(t, `299 - "spec.driver: driver names should be lowercase; \"D\" contains uppercase characters"`, resp.Header.Get("Warning"), "API-582")
}

// TestClaimPermissions: API-585, who may allocate devices, and report about them.
func TestClaimPermissions(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const claim = `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}%s}`
	f.must("POST "+claimPath, fmt.Sprintf(claim, ""))
	const roles = "/apis/rbac.authorization.k8s.io/v1/"
	grant := func(name, rule string) {
		f.must("POST "+roles+"clusterroles", `{"metadata":{"name":"`+name+`"},"rules":[{"apiGroups":["resource.k8s.io"],`+rule+`}]}`)
		f.must("POST "+roles+"clusterrolebindings", `{"metadata":{"name":"`+name+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+name+
			`"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"u"}]}`)
	}
	grant("status", `"resources":["resourceclaims/status"],"verbs":["update"]`)
	const allocation = `,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"g"}]}}%s}`
	put := func(status string) (int, string) {
		resp, got := f.request("PUT "+claimPath+"/a/status", fmt.Sprintf(claim, status), "Impersonate-User: u")
		return resp.StatusCode, strings.ReplaceAll(got, `\"`, `"`)
	}
	code, got := put(fmt.Sprintf(allocation, ""))
	require.Equal(t, 422, code, got)
	require.Contains(t, got, `status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="update" permission: `+
		`resourceclaims.resource.k8s.io is forbidden: User "u" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope`, "API-585")
	grant("binding", `"resources":["resourceclaims/binding"],"verbs":["update"]`)
	code, got = put(fmt.Sprintf(allocation, ""))
	require.Equal(t, 200, code, got)
	report := fmt.Sprintf(allocation, `,"devices":[{"driver":"d","pool":"p","device":"g"}]`)
	_, got = put(report)
	require.Contains(t, got, `status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:update]" permission: `+
		`resourceclaims.resource.k8s.io "d" is forbidden: User "u" cannot arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"`, "API-585")
	grant("driver", `"resources":["resourceclaims/driver"],"resourceNames":["d"],"verbs":["arbitrary-node:update"]`)
	code, got = put(report)
	require.Equal(t, 200, code, got)
}
