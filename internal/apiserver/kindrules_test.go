package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

// The collections of kinds with rows here.
const (
	budgetPath       = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	configPath       = "/api/v1/namespaces/default/configmaps"
	corePath         = "/api/v1/namespaces/default/"
	coreEventPath    = "/api/v1/namespaces/default/events"
	deploymentPath   = "/apis/apps/v1/namespaces/default/deployments"
	eventPath        = "/apis/events.k8s.io/v1/namespaces/default/events"
	ingressPath      = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
	classPath        = "/apis/networking.k8s.io/v1/ingressclasses"
	networkPath      = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
	endpointsPath    = "/api/v1/namespaces/default/endpoints"
	slicePath        = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	addressPath      = "/apis/networking.k8s.io/v1/ipaddresses"
	rangePath        = "/apis/networking.k8s.io/v1/servicecidrs"
	leasePath        = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	registrationPath = "/apis/apiregistration.k8s.io/v1/apiservices"
	revisionPath     = "/apis/apps/v1/namespaces/default/controllerrevisions"
	scalerPath       = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	setPath          = "/apis/apps/v1/namespaces/default/statefulsets"
)

// Objects that get a status. That of a Service is written for a load balancer.
const (
	podPath     = "/api/v1/namespaces/default/pods"
	servicePath = "/api/v1/namespaces/default/services"
	plainPod    = `{"metadata":{"name":"a"},` + containers + `}`
	service     = `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`
	balanced    = `{"metadata":{"name":"a"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`
	quota       = `{"metadata":{"name":"a"},"spec":{"hard":{"pods":"1"}}}`
)

func withStatus(object, status string) string {
	return strings.TrimSuffix(object, "}") + `,"status":` + status + "}"
}

// armored returns a pod with a security context and an annotation that names an AppArmor profile for its container.
func armored(profile, context string) string {
	return `{"metadata":{"name":"a","annotations":{"container.apparmor.security.beta.kubernetes.io/a":"` + profile + `"}},` +
		`"spec":{"securityContext":` + context + `,"containers":[{"name":"a","image":"b"}]}}`
}

const containers = `"spec":{"containers":[{"name":"a","image":"b"}]}`

// newEvent is an Event of the group events.k8s.io, without what closes it.
const newEvent = `{"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"example.com/c","reportingInstance":"i","reason":"Bound",` +
	`"type":"Normal","regarding":{"kind":"Pod","namespace":"other","name":"p"}`

func scaler(metric string) string {
	return `{"metadata":{"name":"a"},"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"metrics":[` + metric + `]}}`
}

// ingress returns an Ingress with a rule, and a path in it.
func ingress(host, path string) string {
	rule := strings.Trim(host+`,"http":{"paths":[{`+path+`}]}`, ",")
	if path == "" {
		rule = host
	}
	return `{"metadata":{"name":"a"},"spec":{"rules":[{` + rule + `}]}}`
}

// registration returns an APIService.
func registration(name, spec string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"groupPriorityMinimum":1,"versionPriority":1,` + spec + `}}`
}

func deployment(selector, template string) string {
	return `{"metadata":{"name":"a"},"spec":{"selector":` + selector + `,"template":{"metadata":` + template + `,` + containers + `}}}`
}

// TestKindRules creates objects. want is the code of the answer and a part of its text.
func TestKindRules(t *testing.T) {
	for _, row := range []struct{ rule, path, body, want string }{
		{"API-557", ingressPath, `{"metadata":{"name":"a"},"spec":{}}`, "422 spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
		{"API-557", ingressPath, ingress(`"host":"1.2.3.4"`, ""), `422 spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address`},
		{"API-557", ingressPath, ingress(`"host":"*.*.com"`, ""), `422 spec.rules[0].host: Invalid value: "*.*.com": a wildcard DNS-1123 subdomain must start with '*.'`},
		{"API-557", ingressPath, ingress(`"host":"a.com"`, `"path":"/"`), `422 spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified`},
		{"API-557", ingressPath, ingress(`"host":"a.com"`, `"pathType":"Prefix","path":"a//b/."`),
			`422 [spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": must be an absolute path, spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": must not contain '//', ` +
				`spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": cannot end with '/.', spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required]`},
		{"API-557", ingressPath, ingress("", `"pathType":"Exact","path":"/","backend":{"service":{"name":"a","port":{"name":"b","number":1}}}`),
			`422 spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number`},
		{"API-557", ingressPath, ingress("", `"pathType":"ImplementationSpecific","backend":{"resource":{"kind":"a/b","name":"c"}}`),
			`422 spec.rules[0].http.paths[0].backend.resource.kind: Invalid value: "a/b": may not contain '/'`},
		{"API-557", ingressPath, `{"metadata":{"name":"a","annotations":{"kubernetes.io/ingress.class":"b"}},"spec":{"ingressClassName":"c","defaultBackend":{"service":{"name":"a","port":{"number":1}}}}}`,
			"422 annotations.kubernetes.io/ingress.class: Invalid value: \"b\": must match `ingressClassName` when both are specified"},
		{"API-557", ingressPath, `{"metadata":{"name":"a"},"spec":{"tls":[{"secretName":"_"}],"defaultBackend":{"service":{"name":"a","port":{}}}}}`,
			`422 [spec.defaultBackend: Required value: port name or number is required, spec.tls[0].secretName: Invalid value: "_"`},
		{"API-558", classPath, `{"metadata":{"name":"a"},"spec":{"controller":"a"}}`, `422 spec.controller: Invalid value: "a": must be a domain-prefixed path`},
		{"API-558", classPath, `{"metadata":{"name":"a"},"spec":{"controller":"a.b/c","parameters":{"kind":"K","name":"n"}}}`, `201 "scope":"Cluster"`},
		{"API-558", classPath, `{"metadata":{"name":"a"},"spec":{"controller":"a.b/c","parameters":{"kind":"K","name":"n","scope":"Namespace"}}}`,
			"422 spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
		{"API-559", networkPath, `{"metadata":{"name":"a"},"spec":{"podSelector":{},"egress":[{"ports":[{"port":1}]}]}}`,
			`201 "egress":[{"ports":[{"protocol":"TCP","port":1}]}],"policyTypes":["Ingress","Egress"]`},
		{"API-559", networkPath, `{"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"from":[{}],"ports":[{"port":"a","endPort":2},{"port":5,"endPort":4}]}]}}`,
			"422 [spec.ingress[0].ports[0].endPort: Invalid value: 2: may not be specified when `port` is non-numeric, " +
				"spec.ingress[0].ports[1].endPort: Invalid value: 5: must be greater than or equal to `port`, spec.ingress[0].from[0]: Required value: must specify a peer]"},
		{"API-559", networkPath, `{"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"from":[{"podSelector":{},"ipBlock":{"cidr":"10.0.0.0/8","except":["11.0.0.0/9"]}}]}]}}`,
			"422 [spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/9\": must be a strict subset of `cidr`, spec.ingress[0].from[0]: Forbidden: may not specify both"},
		{"API-560", endpointsPath, `{"metadata":{"name":"a"},"subsets":[{"ports":[{"port":1},{"port":2}]}]}`,
			"422 [subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`, subsets[0].ports[0].name: Required value, subsets[0].ports[1].name: Required value]"},
		{"API-560", endpointsPath, `{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":1}]}]}`, `422 subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback`},
		{"API-560", endpointsPath, `{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":1}]}]}`, `201 "ports":[{"port":1,"protocol":"TCP"}]`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"endpoints":[]}`, `422 addressType: Required value`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["fd00::1"]}]}`, `422 endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv6","endpoints":[{"addresses":[],"hints":{"forZones":[{"name":"z"},{"name":"z"}]}}]}`,
			`422 [endpoints[0].addresses: Required value: must contain at least 1 address, endpoints[0].hints.forZones[1].name: Duplicate value: "z"]`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[],"ports":[{"port":1}]}`, `201 "endpoints":null,"ports":[{"name":"","protocol":"TCP","port":1}]`},
		{"API-562", addressPath, `{"metadata":{"name":"a"},"spec":{"parentRef":{"resource":"services","name":"a"}}}`, `422 metadata.name: Invalid value: "a": must be a valid IP address`},
		{"API-562", addressPath, `{"metadata":{"name":"fd00::1"},"spec":{"parentRef":{"name":"a"}}}`, `422 "fd00::1" is invalid: spec.parentRef.resource: Required value`},
		{"API-563", rangePath, `{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8","11.0.0.0/8"]}}`, `422 spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.5"],"deprecatedTopology":{"a":"b"}}]}`,
			`201 "endpoints":[{"addresses":["10.0.0.5"],"conditions":{}}]`},
		{"API-564", podPath, armored("unconfined", `{}`), `201 "securityContext":{"appArmorProfile":{"type":"Unconfined"}}`},
		{"API-564", podPath, armored("localhost/p", `{}`), `201 "appArmorProfile":{"type":"Localhost","localhostProfile":"p"}`},
		{"API-564", podPath, armored("runtime/default", `{"appArmorProfile":{"type":"RuntimeDefault"}}`), `201 "image":"b","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]`},
		{"API-564", podPath, armored("x", `{}`), `422 metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: Invalid value: "x": invalid AppArmor profile name: "x"`},
		{"API-569", podPath, armored("localhost/p", `{"appArmorProfile":{"type":"Unconfined"}}`), `201 "appArmorProfile":{"type":"Localhost"`},
		{"API-569", podPath, `{"metadata":{"name":"a","annotations":{"container.apparmor.security.beta.kubernetes.io/b":"unconfined"}},` + containers + `}`,
			`422 metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: "b": container not found`},
		{"API-569", podPath, `{"metadata":{"name":"a","annotations":{"seccomp.security.alpha.kubernetes.io/pod":"localhost/../a"}},` + containers + `}`,
			`422 metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "../a": must not contain '..'`},
		{"API-569", podPath, `{"metadata":{"name":"a","annotations":{"seccomp.security.alpha.kubernetes.io/pod":"docker/default"}},` +
			`"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}},"containers":[{"name":"a","image":"b"}]}}`,
			`422 spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match`},
		{"API-569", deploymentPath, `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"},` +
			`"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"localhost/p"}},"spec":{"containers":[{"name":"a","image":"b",` +
			`"securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"q"}}}]}}}}`,
			`422 spec.template.spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match`},
		{"API-305", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"as.example.com","generateName":"as"},"spec":{"group":"example.com","scope":"Cluster",` +
			`"names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
			`422 metadata.generateName: Invalid value: "as": must be spec.names.plural`},
		{"API-356", podPath, `{"metadata":{"name":"a"},"spec":{"securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"` + strings.Repeat("p", 4096) + `"}},` +
			`"containers":[{"name":"a","image":"b"}]}}`, `422 spec.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes`},
		{"API-564", podPath, strings.Replace(armored("unconfined", `{}`), `"securityContext":{}`, `"os":{"name":"windows"}`, 1), `201 "image":"b","resources":{},"terminationMessagePath"`},
		{"API-565", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}}`,
			`201 "exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}`},
		{"API-565", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
			`{"metadata":{"name":"a"},"spec":{"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"s","deviceClassName":"c","allocationMode":"All"}]}]}}}}`,
			`201 "firstAvailable":[{"name":"s","deviceClassName":"c","allocationMode":"All"}]`},
		{"API-566", registrationPath, registration("v1.a.b", `"group":"a.b","version":"v1","service":{"namespace":"n","name":"s"}`),
			`201 "service":{"namespace":"n","name":"s","port":443},"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1},"status":{}}`},
		{"API-566", registrationPath, registration("v1.a.b", `"group":"a.b","version":"v1"`), `201 "status":{"conditions":[{"type":"Available","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Local","message":"Local APIServices are always available"}]}}`},
		{"API-566", registrationPath, registration("v1.a", `"group":"a.b","version":"v1"`),
			"422 metadata.name: Invalid value: \"v1.a\": must be `spec.version+\".\"+spec.group`: \"v1.a.b\""},
		{"API-566", registrationPath, registration("v2.", `"version":"v2"`), `422 spec.group: Required value: only v1 may have an empty group`},
		{"API-566", registrationPath, `{"metadata":{"name":"v1.a"},"spec":{"group":"a","version":"v1","groupPriorityMinimum":20001,"insecureSkipTLSVerify":true,"caBundle":"eA=="}}`,
			`422 [spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000, spec.versionPriority: Invalid value: 0: must be positive and less than 1000, ` +
				`spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle, spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have`},
		{"API-566", registrationPath, registration("v1.a", `"group":"a","version":"v1","insecureSkipTLSVerify":true,"caBundle":"eA==","service":{"port":70000}`),
			`422 [spec.service.namespace: Required value, spec.service.name: Required value, spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive, ` +
				`spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present]`},
		{"API-001", configPath, `{"metadata":{"name":"a","selfLink":"/a"}}`, `201 "metadata":{"name":"a","namespace":"default","uid":`},
		{"API-350", servicePath, `{"metadata":{"name":"a"},"spec":{"externalIPs":["010.0.0.1"],"ports":[{"port":80}]}}`, `422 spec.externalIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s`},
		{"WORK-021", deploymentPath, deployment(`{"matchLabels":{"a":"-1"}}`, `{"labels":{"a":"-1"}}`),
			`422 [spec.selector.matchLabels: Invalid value: "-1": a valid label`},
		{"WORK-021", deploymentPath, deployment(`{"matchExpressions":[{"key":"a","operator":"x"}]}`, `{"labels":{"a":"b"}}`),
			`422 [spec.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator, spec.selector: Invalid value:`},
		{"WORK-021", deploymentPath, deployment(`{"matchLabels":{"a":"b"}}`, `{"labels":{}}`), "422 spec.template.metadata.labels: Invalid value: {}: `selector` does not match"},
		{"WORK-023", deploymentPath, deployment(`{"matchLabels":{"a":"b"}}`, `{"labels":{"a":"b"},"annotations":{"a/b/c":""}}`),
			`422 spec.template.annotations: Invalid value: "a/b/c"`},
		{"WORK-023", deploymentPath, deployment(`{"matchLabels":{"a":"b"}}`, `{"labels":{"a":"b"},"annotations":{"controller.kubernetes.io/pod-deletion-cost":"x"}}`),
			`422 spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "x": must be a 32bit integer`},
		{"API-375", setPath, `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}},` +
			`"template":{"metadata":{"labels":{"a":"b"}},` + containers + `}}}`, `201 "f:rollingUpdate":{".":{},"f:maxUnavailable":{},"f:partition":{}}`},
		{"API-542", corePath + "podtemplates", `{"metadata":{"name":"a"},"template":{}}`, `422 template.spec.containers: Required value`},
		{"API-542", corePath + "podtemplates", `{"metadata":{"name":"a"},"template":{` + containers + `}}`, `201 "restartPolicy":"Always"`},
		{"API-543", revisionPath, `{"metadata":{"name":"a"},"revision":1}`, `422 data: Required value: data is mandatory`},
		{"API-543", revisionPath, `{"metadata":{"name":"a"},"revision":1,"data":[]}`, `422 data: Required value: data must be a valid JSON object`},
		{"API-543", revisionPath, `{"metadata":{"name":"a"},"revision":-1,"data":{}}`, `422 revision: Invalid value: -1: must be greater than or equal to 0`},
		{"API-544", leasePath, `{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":0}}`, `422 spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0`},
		{"API-544", leasePath, `{"metadata":{"name":"a"},"spec":{"leaseTransitions":-1}}`, `422 spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0`},
		{"API-545", eventPath, newEvent + `}`, `422 action: Required value`},
		{"API-545", "/api/v1/namespaces/default/events", `{"involvedObject":{"kind":"Pod","namespace":"other","name":"p"}}`,
			`422 Event "" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace`},
		{"API-545", "/api/v1/namespaces/default/events", `{"involvedObject":{"kind":"Pod","namespace":"default","name":"p"}}`, `422 metadata.name: Required value: name or generateName is required`},
		{"API-545", eventPath, strings.Replace(newEvent, `"name":"e"`, `"name":"e","finalizers":[""]`, 1) + `,"action":"Bind"}`,
			`422 [metadata.finalizers: Invalid value: "": name part must be non-empty`},
		{"API-545", eventPath, newEvent + `,"action":"Bind"}`, `201 "regarding":{"kind":"Pod","namespace":"other","name":"p"}`},
		{"API-545", eventPath, newEvent + `,"action":"Bind","series":{"count":1,"lastObservedTime":null}}`,
			`422 [series.count: Invalid value: "": should be at least 2, series.lastObservedTime: Required value]`},
		{"API-545", eventPath, newEvent + `,"action":"Bind","deprecatedCount":1}`, `422 count: Invalid value: "": needs to be unset`},
		{"API-545", coreEventPath, `{"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingInstance":"i","action":"a","reason":"r","involvedObject":{}}`,
			`422 [reportingComponent: Required value, reportingComponent: Invalid value: ""`},
		{"API-545", coreEventPath, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"other"}}`, `422 involvedObject.namespace: Invalid value: "other": does not match event.namespace`},
		{"API-546", scalerPath, scaler(`{"type":"Pods"}`), `422 spec.metrics[0].pods: Required value: must populate information for the given metric source`},
		{"API-546", scalerPath, scaler(`{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":0}}}`),
			`422 spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0`},
		{"API-546", scalerPath, scaler(`{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":1}},"pods":{"metric":{"name":"m"},"target":{"type":"Value","averageValue":"1"}}}`),
			`422 spec.metrics[0].pods: Forbidden: must populate the given metric source only`},
		{"API-547", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"a"},"rules":[]}`, `201 "rules":null`},
		{"API-547", configPath, `{"metadata":{"name":"a"},"binaryData":{"a":null}}`, `201 "binaryData":{"a":""}`},
		{"NS-003", "/api/v1/namespaces", `{"metadata":{"name":"a"},"spec":{"finalizers":["x"]}}`, `422 spec.finalizers: Invalid value: "x": name is neither a standard finalizer name`},
		{"API-033", budgetPath, `{"metadata":{"name":"a","generateName":"-A"},"spec":{"maxUnavailable":1}}`, `201 "generateName":"-A"`},
		{"API-033", "/api/v1/namespaces", `{"metadata":{"name":"a","generateName":"a.b"}}`, `422 metadata.generateName: Invalid value: "a.b": must not contain dots`},
	} {
		resp, got := newFixtureWith(t, apiserver.Config{}).request("POST "+row.path+"?dryRun=All", row.body)
		want, text := row.want[:3], row.want[4:]
		require.Equal(t, want, resp.Status[:3], "%s: %s: %s", row.rule, row.body, got)
		if want != "201" {
			var status struct{ Message string }
			require.NoError(t, json.Unmarshal([]byte(got), &status))
			got = status.Message
		}
		require.Contains(t, got, text, "%s: %s", row.rule, row.body)
	}
}

// TestKindRulesOfUpdates replaces objects.
func TestKindRulesOfUpdates(t *testing.T) {
	for _, row := range []struct{ rule, path, before, after, want string }{
		{"API-558", classPath, `{"metadata":{"name":"a"},"spec":{"controller":"a.b/c"}}`, `{"metadata":{"name":"a"},"spec":{"controller":"a.b/d"}}`,
			`422 spec.controller: Invalid value: "a.b/d": field is immutable`},
		{"API-001", configPath, `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a","selfLink":"/a","labels":{"b":"c"}}}`, `200 "namespace":"default","uid":`},
		{"API-569", podPath, armored("unconfined", `{}`), plainPod,
			`422 metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: Forbidden: may not remove or update AppArmor annotations`},
		{"API-563", rangePath, `{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"]}}`, `{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8","fd00::/112"]}}`, `200 "cidrs":["10.0.0.0/8","fd00::/112"]`},
		{"API-563", rangePath, `{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"]}}`, `{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/16"]}}`, `422 spec.cidrs[0]: Invalid value: "10.0.0.0/16": field is immutable`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[]}`, `{"metadata":{"name":"a","labels":{"b":"c"}},"addressType":"IPv4","endpoints":[]}`, `200 "generation":2`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.5"]}]}`,
			`{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.5"],"deprecatedTopology":{"a":"b"}}]}`, `200 "generation":2`},
		{"API-561", slicePath, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[]}`, `{"metadata":{"name":"a"},"addressType":"IPv6","endpoints":[]}`,
			`422 addressType: Invalid value: "IPv6": field is immutable`},
		{"API-557", ingressPath, ingress("", `"pathType":"Exact","path":"/","backend":{"service":{"name":"a","port":{"number":1}}}`),
			withStatus(ingress("", `"pathType":"Exact","path":"/","backend":{"service":{"name":"a","port":{"number":1}}}`), `{"loadBalancer":{"ingress":[{"ip":"1"},{"hostname":"_"}]}}`),
			`422 [status.loadBalancer.ingress[0].ip: Invalid value: "1": must be a valid IP address`},
		{"API-543", revisionPath, `{"metadata":{"name":"a"},"revision":1,"data":{}}`, `{"metadata":{"name":"a"},"revision":1,"data":{"a":"b"}}`,
			`422 data: Invalid value: {"a":"b"}: field is immutable`},
		{"API-042", configPath, `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a","generateName":"-1"}}`, `422 metadata.generateName: Invalid value: "-1"`},
		{"API-548", configPath, `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a","generateName":"-1"}}`, `422 "field":"metadata.generateName"}]},"code":422}`},
		{"API-506", "/api/v1/namespaces", `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a","labels":{"b":"c"}}}`, `200 "f:labels":{".":{},"f:b":{},"f:kubernetes.io/metadata.name":{}}}}`},
		{"API-549", podPath, plainPod, withStatus(plainPod, `{"qosClass":"BestEffort","podIP":"1.2.3.4","podIPs":[{"ip":"1.2.3.5"}]}`), `200 "podIPs":[{"ip":"1.2.3.4"}]`},
		{"API-549", podPath, plainPod, withStatus(plainPod, `{"qosClass":"BestEffort","podIPs":[{"ip":"1.2.3.4"},{"ip":"1.2.3.5"}]}`),
			`422 status.podIPs: Invalid value: [{"IP":"1.2.3.4"},{"IP":"1.2.3.5"}]: may specify no more than one IP for each IP family`},
		{"API-549", podPath, plainPod, withStatus(plainPod, `{"qosClass":"BestEffort","hostIP":"1.2.3.4","hostIPs":[{"ip":"1.2.3.5"}]}`),
			`422 status.hostIPs[0].ip: Invalid value: "1.2.3.5": must be equal to`},
		{"API-550", podPath, plainPod, withStatus(plainPod, `{"qosClass":"BestEffort","containerStatuses":[{"name":"a","user":{"linux":{"uid":-1,"gid":0}}}]}`),
			`422 status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive`},
		{"API-552", servicePath, service, withStatus(service, `{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}`),
			`422 status.loadBalancer.ingress: Forbidden: may only be used when`},
		{"API-552", servicePath, balanced, withStatus(balanced, `{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}`), `200 "ingress":[{"ip":"1.2.3.4","ipMode":"VIP"}]`},
		{"API-552", servicePath, balanced, withStatus(balanced, `{"loadBalancer":{"ingress":[{"ip":"1.2.3.4","ipMode":"A"},{"hostname":"1.2.3.4"}]}}`),
			`422 [status.loadBalancer.ingress[0].ipMode: Unsupported value: "A": supported values: "Proxy", "VIP", status.loadBalancer.ingress[1].hostname: Invalid value`},
		{"QUO-002", corePath + "resourcequotas", quota, withStatus(quota, `{"used":{"pods":"-1"}}`), `422 status.used[pods]: Invalid value: "-1": must be greater than or equal to 0`},
	} {
		f := newFixtureWith(t, apiserver.Config{})
		f.must("POST "+row.path, row.before)
		path := row.path + "/a"
		if strings.Contains(row.after, `"status"`) {
			path += "/status"
		}
		resp, got := f.request("PUT "+path, row.after)
		want, text := row.want[:3], row.want[4:]
		require.Equal(t, want, resp.Status[:3], "%s: %s: %s", row.rule, row.after, got)
		require.Contains(t, strings.ReplaceAll(got, `\"`, `"`), text, "%s: %s", row.rule, row.after)
	}
}

// TestWarningOfSecret: API-461, a Secret for TLS whose certificate is none is stored, with a warning.
func TestWarningOfSecret(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	for kind, want := range map[string]string{"kubernetes.io/tls": `299 - "tls: failed to find any PEM data in certificate input"`, "Opaque": ""} {
		resp, _ := f.request("POST /api/v1/namespaces/default/secrets?dryRun=All", `{"metadata":{"name":"a"},"type":"`+kind+`","data":{"tls.crt":"eA==","tls.key":"eA=="}}`)
		require.Equal(t, 201, resp.StatusCode)
		require.Equal(t, want, resp.Header.Get("Warning"), "API-461")
	}
}

// TestRequestRules makes requests about the pod, the namespace, and the definition a.
func TestRequestRules(t *testing.T) {
	const (
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		name        = "as.example.com"
		definition  = `{"metadata":{"name":"as.example.com","finalizers":["example.com/a"]},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"as","kind":"A"},` +
			`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
		strategic = "Content-Type: application/strategic-merge-patch+json"
		applied   = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},`
	)
	for _, row := range []struct{ rule, line, body, header, want string }{
		{"API-555", "POST " + podPath + "/a/eviction?dryRun=All", `{"metadata":{"name":"a"},"deleteOptions":{"dryRun":["All","All"]}}`, "",
			`500 Non-matching dry-run options in request and content: [All] and [All All]`},
		{"API-555", "POST " + podPath + "/a/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"propagationPolicy":""}}`, "", `422 propagationPolicy: Unsupported value: ""`},
		{"API-064", "DELETE " + podPath + "/a?dryRun=All", "", "", `200 "deletionGracePeriodSeconds":0`},
		{"NS-004", "PUT /api/v1/namespaces/a/finalize", `{"metadata":{"name":"a"},"spec":{"finalizers":["x"]}}`, "",
			`422 spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`},
		{"NS-004", "PUT /api/v1/namespaces/a/finalize", `{"metadata":{"name":"a","labels":{"b":"c"}},"spec":{}}`, "", `200 "labels":{"b":"c","kubernetes.io/metadata.name":"a"}`},
		{"API-556", "PATCH " + definitions + "/" + name, `{"metadata":{"finalizers":["example.com/b"]},"spec":{"names":{"shortNames":["x"]}}}`, strategic,
			`200 "finalizers":["example.com/b","example.com/a"]`},
		{"API-556", "PATCH " + definitions + "/" + name, `{"spec":{"names":{"kind":1}}}`, strategic, `422 patch: Invalid value: "map[spec:map[names:map[kind:1]]]"`},
		{"API-556", "PATCH " + definitions + "/" + name + "?fieldManager=m&force=true", applied + `"spec":{"names":{"shortNames":["x"]},"preserveUnknownFields":null}}`, applyType,
			`200 "shortNames":["x"]`},
	} {
		f := newFixtureWith(t, apiserver.Config{})
		f.must("POST "+podPath, plainPod)
		f.must("POST /api/v1/namespaces", `{"metadata":{"name":"a"}}`)
		f.must("POST "+definitions, definition)
		headers := []string{"Content-Type: application/json"}
		if row.header != "" {
			headers = []string{row.header}
		}
		resp, got := f.request(row.line, row.body, headers...)
		require.Equal(t, row.want[:3], resp.Status[:3], "%s: %s: %s", row.rule, row.body, got)
		require.Contains(t, strings.ReplaceAll(got, `\"`, `"`), row.want[4:], "%s: %s", row.rule, row.body)
	}
}
