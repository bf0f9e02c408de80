package standard

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/internal/apiserver/rbac"
)

// Each default role has these.
var (
	roleLabels      = map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
	roleAnnotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
)

// startAPIServer creates what kube-apiserver creates when it starts: the default roles and bindings (API-508), and the system's priority classes
// (API-509). What exists stays. It keeps the objects of flow control.
func startAPIServer(s *controller.Setup) {
	startFlows(s)
	queue := s.NewQueue("objects", func(p *controller.Process, _ string) error {
		for _, class := range priorityClasses() {
			if _, err := controller.Create(p, class); ignored(err) != nil {
				return err
			}
		}
		roles := rbac.Defaults()
		if err := createRoles(p, roles.ClusterRoles); err != nil {
			return err
		}
		if err := createRoles(p, roles.ClusterRoleBindings); err != nil {
			return err
		}
		if err := createRoles(p, roles.Roles); err != nil {
			return err
		}
		return createRoles(p, roles.RoleBindings)
	})
	queue.Add("all")
}

// createRoles creates roles or bindings.
func createRoles[T api.Object](p *controller.Process, roles []T) error {
	for _, role := range roles {
		obj := role.DeepCopyObject().(T)
		labels := maps.Clone(roleLabels)
		maps.Copy(labels, obj.GetLabels())
		obj.SetLabels(labels)
		obj.SetAnnotations(maps.Clone(roleAnnotations))
		if _, err := controller.Create(p, obj); ignored(err) != nil {
			return err
		}
	}
	return nil
}

func priorityClasses() []*schedulingv1.PriorityClass {
	class := func(name, description string, value int32) *schedulingv1.PriorityClass {
		c := &schedulingv1.PriorityClass{Value: value, Description: description, PreemptionPolicy: new(corev1.PreemptLowerPriority)}
		c.Name = name
		return c
	}
	return []*schedulingv1.PriorityClass{
		class("system-node-critical", "Used for system critical pods that must not be moved from their current node.", 2_000_001_000),
		class("system-cluster-critical", "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.", 2_000_000_000),
	}
}

// startAggregation keeps the rules of ClusterRoles that aggregate others (API-497). A change of any role leads to a look at all of them.
func startAggregation(s *controller.Setup) {
	var roles *controller.Cache[*rbacv1.ClusterRole]
	queue := s.NewQueue("aggregated roles", func(p *controller.Process, _ string) error {
		all := roles.List()
		for _, role := range all {
			if role.AggregationRule == nil {
				continue
			}
			rules := rbac.Aggregate(role, all)
			if slices.EqualFunc(rules, role.Rules, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
				continue
			}
			role.Rules = rules
			if _, err := controller.Update(p, role); ignored(err) != nil {
				return err
			}
		}
		return nil
	})
	roles = controller.Watch(s, func(api.Change[*rbacv1.ClusterRole]) { queue.Add("all") })
}
