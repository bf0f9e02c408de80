package discovery

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// API-504: the health endpoints and their checks are those of kube-apiserver. None of the checks fails here.

// healthChecks are the checks of each health endpoint, in the order of an answer.
var healthChecks = map[string][]string{
	"healthz": slices.Concat(firstChecks, []string{"loopback-serving-certificate", "etcd"}, startChecks),
	"livez":   slices.Concat(firstChecks, []string{"loopback-serving-certificate", "etcd"}, startChecks),
	"readyz":  slices.Concat(firstChecks, []string{"etcd", "etcd-readiness", "informer-sync"}, startChecks, []string{"shutdown"}),
}

var firstChecks = []string{"ping", "log"}

// startChecks say that what kube-apiserver does when it starts is done.
var startChecks = []string{
	"poststarthook/start-apiserver-admission-initializer",
	"poststarthook/generic-apiserver-start-informers",
	"poststarthook/priority-and-fairness-config-consumer",
	"poststarthook/priority-and-fairness-filter",
	"poststarthook/storage-object-count-tracker-hook",
	"poststarthook/start-apiextensions-informers",
	"poststarthook/start-apiextensions-controllers",
	"poststarthook/crd-informer-synced",
	"poststarthook/start-system-namespaces-controller",
	"poststarthook/peer-endpoint-reconciler-controller",
	"poststarthook/start-cluster-authentication-info-controller",
	"poststarthook/start-kube-apiserver-identity-lease-controller",
	"poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
	"poststarthook/storage-readiness",
	"poststarthook/start-legacy-token-tracking-controller",
	"poststarthook/start-service-ip-repair-controllers",
	"poststarthook/rbac/bootstrap-roles",
	"poststarthook/scheduling/bootstrap-system-priority-classes",
	"poststarthook/priority-and-fairness-config-producer",
	"poststarthook/bootstrap-controller",
	"poststarthook/start-kubernetes-service-cidr-controller",
	"poststarthook/start-kube-aggregator-informers",
	"poststarthook/apiservice-status-local-available-controller",
	"poststarthook/apiservice-status-remote-available-controller",
	"poststarthook/apiservice-registration-controller",
	"poststarthook/apiservice-discovery-controller",
	"poststarthook/kube-apiserver-autoregistration",
	"autoregister-completion",
	"poststarthook/apiservice-openapi-controller",
	"poststarthook/apiservice-openapiv3-controller",
}

// Health answers a request for a health endpoint, or for one of its checks; ok is false if there is none of that name. query are the parameters of the
// request.
func Health(path string, query url.Values) (text string, single, ok bool) {
	name, check, single := strings.Cut(path, "/")
	checks, ok := healthChecks[name]
	switch {
	case !ok || single && !slices.Contains(checks, check):
		return "", false, false
	case !single && query.Has("verbose"):
		return verboseHealth(name, query["exclude"]), single, true
	}
	return "ok", single, true
}

// verboseHealth lists the checks of a health endpoint. Excluded ones are not made.
func verboseHealth(name string, excluded []string) string {
	text := ""
	for _, check := range healthChecks[name] {
		if slices.Contains(excluded, check) {
			text += "[+]" + check + " excluded: ok\n"
		} else {
			text += "[+]" + check + " ok\n"
		}
	}
	var unknown []string
	for _, check := range excluded {
		if quoted := strconv.Quote(check); !slices.Contains(healthChecks[name], check) && !slices.Contains(unknown, quoted) {
			unknown = append(unknown, quoted)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		text += "warn: some health checks cannot be excluded: no matches for " + strings.Join(unknown, ",") + "\n"
	}
	return text + name + " check passed\n"
}

// healthEndpoints are the names of the endpoints.
var healthEndpoints = []string{"healthz", "livez", "readyz"}

// healthPaths lists the paths of the endpoints and of their checks.
func healthPaths() []string {
	var paths []string
	for _, name := range healthEndpoints {
		paths = append(paths, "/"+name)
		for _, check := range healthChecks[name] {
			paths = append(paths, "/"+name+"/"+check)
		}
	}
	return paths
}

// HealthMetrics returns the result of each check as a metric.
func HealthMetrics() string {
	var lines []string
	for _, name := range healthEndpoints {
		for _, check := range healthChecks[name] {
			lines = append(lines, fmt.Sprintf("kubernetes_healthcheck{name=%q,type=%q} 1\n", check, name))
		}
	}
	slices.Sort(lines)
	return "# HELP kubernetes_healthcheck The result of each health check.\n# TYPE kubernetes_healthcheck gauge\n" + strings.Join(lines, "")
}
