package kubectl

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scopes are what kubectl explains of scopes of quotas.
var scopes = map[corev1.ResourceQuotaScope]string{
	corev1.ResourceQuotaScopeTerminating: "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being " +
		"actively terminated by the system.",
	corev1.ResourceQuotaScopeNotTerminating: "Matches all pods that do not have an active deadline. These pods usually include long running pods whose " +
		"container command is not expected to terminate.",
	corev1.ResourceQuotaScopeBestEffort: "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.",
	corev1.ResourceQuotaScopeNotBestEffort: "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed " +
		"quality of service.",
}

// scopesOf writes the scopes of a quota, and explains them.
func (d *description) scopesOf(q *corev1.ResourceQuota, indent, bullet string) {
	if len(q.Spec.Scopes) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(q.Spec.Scopes))
	d.printf("%sScopes:\t%s\n", indent, strings.ReplaceAll(joined(sorted, func(s corev1.ResourceQuotaScope) string { return string(s) }), ",", ", "))
	for _, scope := range sorted {
		if help := scopes[scope]; help != "" {
			d.printf("%s* %s\n", bullet, help)
		}
	}
}

func (d *description) quota(q *corev1.ResourceQuota) {
	d.scopesOf(q, "", " ")
	d.printf("Resource\tUsed\tHard\n--------\t----\t----\n")
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		if used.Format != hard.Format {
			used = *resource.NewQuantity(used.Value(), hard.Format)
		}
		d.printf("%s\t%s\t%s\n", name, used.String(), hard.String())
	}
}
