package auth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/apiserver/rbac"
)

// CheckClaimStatus returns why a user may not write the status of a ResourceClaim, with the verb of a request (API-585).
func (a *Authority) CheckClaimStatus(user authenticationv1.UserInfo, verb string, claim, old *resourcev1.ResourceClaim) field.ErrorList {
	var errs field.ErrorList
	status, before := &claim.Status, &old.Status
	r := rbac.Request{User: user, Verb: verb, Group: resourcev1.GroupName, Resource: "resourceclaims", Subresource: resourcev1.SubresourceBinding}
	if !apiequality.Semantic.DeepEqual(status.Allocation, before.Allocation) || !apiequality.Semantic.DeepEqual(status.ReservedFor, before.ReservedFor) {
		if err := a.authorize(r); err != nil {
			text := fmt.Sprintf(`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, verb, err)
			errs = append(errs, field.Forbidden(field.NewPath("status", "allocation"), text))
		}
	}
	if status.Allocation == nil {
		return errs // the reports of drivers are dropped
	}
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + verb}
	if runsOn(user, status.Allocation.NodeSelector) {
		verbs = []string{resourcev1.VerbPrefixAssociatedNode + verb, verbs[0]}
	}
	r.Subresource, r.Namespace = resourcev1.SubresourceDriver, claim.Namespace
	for _, driver := range changedDrivers(status.Devices, before.Devices) {
		var first error
		r.Name = driver
		allowed := slices.ContainsFunc(verbs, func(verb string) bool {
			r.Verb = verb
			err := a.authorize(r)
			if first == nil {
				first = err
			}
			return err == nil
		})
		if !allowed {
			text := fmt.Sprintf(`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, first)
			errs = append(errs, field.Forbidden(field.NewPath("status", "devices"), text))
		}
	}
	return errs
}

// changedDrivers returns the drivers of reports that differ, in order.
func changedDrivers(devices, old []resourcev1.AllocatedDeviceStatus) []string {
	drivers := map[string]bool{}
	note := func(devices, others []resourcev1.AllocatedDeviceStatus) {
		for _, d := range devices {
			if !slices.ContainsFunc(others, func(o resourcev1.AllocatedDeviceStatus) bool { return apiequality.Semantic.DeepEqual(d, o) }) {
				drivers[d.Driver] = true
			}
		}
	}
	note(devices, old)
	note(old, devices)
	return slices.Sorted(maps.Keys(drivers))
}

// runsOn reports whether a user is a ServiceAccount in a pod on the only node that a selector selects by name.
func runsOn(user authenticationv1.UserInfo, selector *corev1.NodeSelector) bool {
	nodes := user.Extra["authentication.kubernetes.io/node-name"]
	if len(nodes) != 1 || nodes[0] == "" || !strings.HasPrefix(user.Username, "system:serviceaccount:") || selector == nil {
		return false
	}
	want := []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: nodes}}}}
	return apiequality.Semantic.DeepEqual(selector.NodeSelectorTerms, want)
}
