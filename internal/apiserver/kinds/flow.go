package kinds

import (
	"fmt"
	"math"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/apiserver/flows"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// The rules of FlowSchemas (API-520) and of PriorityLevelConfigurations (API-521).
var (
	flowSchemaRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(s *flowcontrolv1.FlowSchema) {
				if s.Spec.MatchingPrecedence == 0 {
					s.Spec.MatchingPrecedence = 1000
				}
				for i := range s.Spec.Rules {
					for j := range s.Spec.Rules[i].ResourceRules {
						// API-547: an empty list is stored as null.
						if rule := &s.Spec.Rules[i].ResourceRules[j]; len(rule.Namespaces) == 0 {
							rule.Namespaces = nil
						}
					}
				}
			})
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			return append(prefixOfUpdate(obj, old), typedCheck(checkFlowSchema)(obj, old)...)
		},
		CheckStatus: typedCheck(func(s *flowcontrolv1.FlowSchema) field.ErrorList {
			return checkFlowConditions(s.Status.Conditions, func(c flowcontrolv1.FlowSchemaCondition) string { return string(c.Type) })
		}),
	}
	priorityLevelRules = store.KindRules{
		Default: func(obj *plain.Object) { typedDefault(obj, defaultPriorityLevel) },
		Check: func(obj, old *plain.Object) field.ErrorList {
			return append(prefixOfUpdate(obj, old), typedCheck(checkPriorityLevel)(obj, old)...)
		},
		CheckStatus: typedCheck(func(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
			return checkFlowConditions(l.Status.Conditions, func(c flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) })
		}),
	}
)

func defaultPriorityLevel(l *flowcontrolv1.PriorityLevelConfiguration) {
	if e := l.Spec.Exempt; e != nil {
		orNew(&e.NominalConcurrencyShares)
		orNew(&e.LendablePercent)
	}
	limited := l.Spec.Limited
	if limited == nil {
		return
	}
	if limited.NominalConcurrencyShares == nil {
		limited.NominalConcurrencyShares = new(int32(30))
	}
	orNew(&limited.LendablePercent)
	q := limited.LimitResponse.Queuing
	if q == nil {
		return
	}
	for _, number := range []struct {
		field *int32
		value int32
	}{{&q.HandSize, 8}, {&q.Queues, 64}, {&q.QueueLengthLimit, 50}} {
		if *number.field == 0 {
			*number.field = number.value
		}
	}
}

// maxPrecedence is the largest matchingPrecedence of a FlowSchema.
const maxPrecedence = 10000

func checkFlowSchema(s *flowcontrolv1.FlowSchema) field.ErrorList {
	var errs field.ErrorList
	path, spec := field.NewPath("spec"), &s.Spec
	at := path.Child("matchingPrecedence")
	switch n := spec.MatchingPrecedence; {
	case n <= 0:
		errs = append(errs, field.Invalid(at, n, "must be a positive value"))
	case n > maxPrecedence:
		errs = append(errs, field.Invalid(at, n, fmt.Sprintf("must not be greater than %d", maxPrecedence)))
	case n == 1 && s.Name != flows.Exempt:
		errs = append(errs, field.Invalid(at, n, "only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	if m := spec.DistinguisherMethod; m != nil {
		if known := []string{"ByNamespace", "ByUser"}; !slices.Contains(known, string(m.Type)) {
			errs = append(errs, field.NotSupported(path.Child("distinguisherMethod", "type"), strategy.InternalForm(m), known))
		}
	}
	at = path.Child("priorityLevelConfiguration", "name")
	if name := spec.PriorityLevelConfiguration.Name; name == "" {
		errs = append(errs, field.Required(at, "must reference a priority level"))
	} else {
		for _, text := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(at, name, text))
		}
	}
	for i := range spec.Rules {
		errs = append(errs, checkFlowRule(&spec.Rules[i], path.Child("rules").Index(i))...)
	}
	if fixed := flows.Schema(s.Name); fixed != nil && (s.Name == flows.Exempt || s.Name == flows.CatchAll) && !apiequality.Semantic.DeepEqual(fixed, spec) {
		errs = append(errs, field.Invalid(path, strategy.InternalForm(spec), fmt.Sprintf("spec of '%s' must equal the fixed value", s.Name)))
	}
	return errs
}

func checkFlowRule(rule *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(rule.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for i := range rule.Subjects {
		errs = append(errs, checkFlowSubject(&rule.Subjects[i], path.Child("subjects").Index(i))...)
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range rule.ResourceRules {
		r, at := &rule.ResourceRules[i], path.Child("resourceRules").Index(i)
		errs = append(errs, checkFlowVerbs(r.Verbs, at)...)
		errs = append(errs, checkAnyOf(r.APIGroups, at.Child("apiGroups"), "resource rules must supply at least one api group", "api groups")...)
		errs = append(errs, checkAnyOf(r.Resources, at.Child("resources"), "resource rules must supply at least one resource", "resources")...)
		if len(r.Namespaces) == 0 && r.ClusterScope {
			continue
		}
		names := at.Child("namespaces")
		errs = append(errs, checkAnyOf(r.Namespaces, names, "resource rules that are not cluster scoped must supply at least one namespace", "namespaces")...)
		for j, namespace := range r.Namespaces {
			for _, text := range apivalidation.ValidateNamespaceName(namespace, false) {
				if !slices.Contains(r.Namespaces, Anything) {
					errs = append(errs, field.Invalid(names.Index(j), namespace, "each member of this list must be '*' or a DNS-1123 label; "+text))
				}
			}
		}
	}
	for i := range rule.NonResourceRules {
		r, at := &rule.NonResourceRules[i], path.Child("nonResourceRules").Index(i)
		errs = append(errs, checkFlowVerbs(r.Verbs, at)...)
		urls := at.Child("nonResourceURLs")
		errs = append(errs, checkAnyOf(r.NonResourceURLs, urls, "nonResourceURLs must contain at least one value", "non-resource URLs")...)
		for j, url := range r.NonResourceURLs {
			if text := wrongURL(url); text != "" && !slices.Contains(r.NonResourceURLs, Anything) {
				errs = append(errs, field.Invalid(urls.Index(j), url, text))
			}
		}
	}
	return errs
}

// checkAnyOf requires at least one value, and no others beside the star.
func checkAnyOf(values []string, path *field.Path, missing, others string) field.ErrorList {
	switch {
	case len(values) == 0:
		return field.ErrorList{field.Required(path, missing)}
	case len(values) > 1 && slices.Contains(values, Anything):
		return field.ErrorList{field.Invalid(path, values, "if '*' is present, must not specify other "+others)}
	}
	return nil
}

func checkFlowVerbs(verbs []string, path *field.Path) field.ErrorList {
	known := []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
	unknown := func(verb string) bool { return !slices.Contains(known, verb) }
	if slices.Contains(verbs, Anything) || len(verbs) == 0 || !slices.ContainsFunc(verbs, unknown) {
		return checkAnyOf(verbs, path.Child("verbs"), "verbs must contain at least one value", "verbs")
	}
	return field.ErrorList{field.NotSupported(path.Child("verbs"), verbs, known)}
}

// wrongURL says what is wrong with a path that is no star.
func wrongURL(url string) string {
	stars := strings.Count(url, Anything)
	switch {
	case url == "":
		return "must not be empty"
	case url == "/":
		return ""
	case url[0] != '/':
		return "must start with slash"
	case strings.Contains(url, " "):
		return "must not contain white-space"
	case strings.Contains(url, "//"):
		return "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(url, "/*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}

// checkFlowSubject requires the part of a subject that its kind names, and no other.
func checkFlowSubject(s *flowcontrolv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := []struct {
		kind, field string
		set         bool
	}{{"ServiceAccount", "serviceAccount", s.ServiceAccount != nil}, {"User", "user", s.User != nil}, {"Group", "group", s.Group != nil}}
	known := false
	for _, k := range kinds {
		if known = known || string(s.Kind) == k.kind; string(s.Kind) == k.kind && !k.set {
			errs = append(errs, field.Required(path.Child(k.field), fmt.Sprintf("%s is required when subject kind is '%s'", k.field, k.kind)))
		}
	}
	if !known {
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, []string{"Group", "ServiceAccount", "User"})}
	}
	switch {
	case s.Kind == "User" && s.User != nil && s.User.Name == "":
		errs = append(errs, field.Required(path.Child("user", "name"), ""))
	case s.Kind == "Group" && s.Group != nil && s.Group.Name == "":
		errs = append(errs, field.Required(path.Child("group", "name"), ""))
	case s.Kind == "ServiceAccount" && s.ServiceAccount != nil:
		errs = append(errs, checkFlowAccount(s.ServiceAccount, path.Child("serviceAccount"))...)
	}
	for _, k := range kinds {
		if k.set && string(s.Kind) != k.kind {
			errs = append(errs, field.Forbidden(path.Child(k.field), fmt.Sprintf("%s is forbidden when subject kind is not '%s'", k.field, k.kind)))
		}
	}
	return errs
}

func checkFlowAccount(s *flowcontrolv1.ServiceAccountSubject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else if s.Name != Anything {
		for _, text := range apivalidation.ValidateServiceAccountName(s.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), s.Name, text))
		}
	}
	if s.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	for _, text := range apivalidation.ValidateNamespaceName(s.Namespace, false) {
		errs = append(errs, field.Invalid(path.Child("namespace"), s.Namespace, text))
	}
	return errs
}

func checkFlowConditions[T any](conditions []T, typeOf func(T) string) field.ErrorList {
	var errs field.ErrorList
	var known []string
	for i, c := range conditions {
		at, name := field.NewPath("status", "conditions").Index(i).Child("type"), typeOf(c)
		if slices.Contains(known, name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		if known = append(known, name); name == "" {
			errs = append(errs, field.Required(at, ""))
		}
	}
	return errs
}

// annotationZeroShares belongs to a version that is not served.
const annotationZeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

func checkPriorityLevel(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	var errs field.ErrorList
	if _, ok := l.Annotations[annotationZeroShares]; ok {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations"), fmt.Sprintf("annotation '%s' is forbidden", annotationZeroShares)))
	}
	path, spec := field.NewPath("spec"), &l.Spec
	exempt := spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	if exempt != (l.Name == flows.Exempt) {
		errs = append(errs, field.Invalid(path.Child("type"), spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
	}
	switch {
	case exempt:
		if spec.Limited != nil {
			errs = append(errs, field.Forbidden(path.Child("limited"), "must be nil if the type is not Limited"))
		}
		if e := spec.Exempt; e != nil {
			errs = append(errs, checkShares(e.NominalConcurrencyShares, e.LendablePercent, nil, path.Child("exempt"))...)
		}
	case spec.Type == flowcontrolv1.PriorityLevelEnablementLimited:
		if spec.Exempt != nil {
			errs = append(errs, field.Forbidden(path.Child("exempt"), "must be nil if the type is Limited"))
		}
		if spec.Limited == nil {
			errs = append(errs, field.Required(path.Child("limited"), "must not be empty when type is Limited"))
			break
		}
		at := path.Child("limited")
		if n := spec.Limited.NominalConcurrencyShares; n != nil && *n < 0 {
			errs = append(errs, field.Invalid(at.Child("nominalConcurrencyShares"), *n, "must be a non-negative integer"))
		}
		errs = append(errs, checkLimitResponse(&spec.Limited.LimitResponse, at.Child("limitResponse"))...)
		errs = append(errs, checkShares(nil, spec.Limited.LendablePercent, spec.Limited.BorrowingLimitPercent, at)...)
	case spec.Type == "":
		errs = append(errs, field.Required(path.Child("type"), ""))
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), spec.Type, []string{"Exempt", "Limited"}))
	}
	return append(errs, checkMandatoryLevel(l, path)...)
}

// checkMandatoryLevel: a mandatory object has its fixed spec. What is exempt has shares that may change.
func checkMandatoryLevel(l *flowcontrolv1.PriorityLevelConfiguration, path *field.Path) field.ErrorList {
	if l.Name != flows.Exempt && l.Name != flows.CatchAll {
		return nil
	}
	fixed, spec, except := *flows.Level(l.Name), l.Spec, ""
	if l.Name == flows.Exempt {
		spec.Exempt, except = fixed.Exempt, " except the 'spec.exempt' field"
	}
	if apiequality.Semantic.DeepEqual(fixed, spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, strategy.InternalForm(&l.Spec), fmt.Sprintf("spec of '%s'%s must equal the fixed value", l.Name, except))}
}

func checkShares(nominal, lendable, borrowing *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if nominal != nil && *nominal < 0 {
		errs = append(errs, field.Invalid(path.Child("nominalConcurrencyShares"), *nominal, "must be a non-negative integer"))
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		errs = append(errs, field.Invalid(path.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive"))
	}
	if borrowing != nil && *borrowing < 0 {
		errs = append(errs, field.Invalid(path.Child("borrowingLimitPercent"), *borrowing, "if specified, must be a non-negative integer"))
	}
	return errs
}

// Limits of queues: how many there are, and how many bits choose a hand of them.
const (
	maxQueues   = 10_000_000
	maxHashBits = 60
)

func checkLimitResponse(r *flowcontrolv1.LimitResponse, path *field.Path) field.ErrorList {
	q, at := r.Queuing, path.Child("queuing")
	switch {
	case r.Type == "":
		return field.ErrorList{field.Required(path.Child("type"), "")}
	case r.Type == flowcontrolv1.LimitResponseTypeReject && q != nil:
		return field.ErrorList{field.Forbidden(at, "must be nil if limited.limitResponse.type is not Limited")}
	case r.Type == flowcontrolv1.LimitResponseTypeReject:
		return nil
	case r.Type != flowcontrolv1.LimitResponseTypeQueue:
		return field.ErrorList{field.NotSupported(path.Child("type"), r.Type, []string{"Queue", "Reject"})}
	case q == nil:
		return field.ErrorList{field.Required(at, "must not be empty if limited.limitResponse.type is Limited")}
	}
	var errs field.ErrorList
	if q.QueueLengthLimit <= 0 {
		errs = append(errs, field.Invalid(at.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive"))
	}
	switch {
	case q.Queues <= 0:
		errs = append(errs, field.Invalid(at.Child("queues"), q.Queues, "must be positive"))
	case q.Queues > maxQueues:
		errs = append(errs, field.Invalid(at.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	hand := at.Child("handSize")
	switch bits := entropy(int(q.Queues), int(q.HandSize)); {
	case q.HandSize <= 0:
		errs = append(errs, field.Invalid(hand, q.HandSize, "must be positive"))
	case q.HandSize > q.Queues:
		errs = append(errs, field.Invalid(hand, q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	case bits > maxHashBits:
		errs = append(errs, field.Invalid(hand, q.HandSize,
			fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, maxHashBits)))
	}
	return errs
}

// entropy returns how many bits choose a hand from a deck, one card after the other.
func entropy(deck, hand int) int {
	return int(math.Ceil(math.Log2(float64(deck)) * float64(hand)))
}
