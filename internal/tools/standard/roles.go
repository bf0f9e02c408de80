package standard

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	corev1 "k8s.io/api/core/v1"

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
// (API-509). What exists stays.
func startAPIServer(s *controller.Setup) {
	queue := s.NewQueue("objects", func(p *controller.Process, _ string) error {
		for _, class := range priorityClasses() {
			if _, err := controller.Create(p, class); ignored(err) != nil {
				return err
			}
		}
		roles := rbac.Defaults()
		for _, obj := range roles.ClusterRoles {
			if err := createRole(p, obj.DeepCopy()); err != nil {
				return err
			}
		}
		for _, obj := range roles.ClusterRoleBindings {
			if err := createRole(p, obj.DeepCopy()); err != nil {
				return err
			}
		}
		for _, obj := range roles.Roles {
			if err := createRole(p, obj.DeepCopy()); err != nil {
				return err
			}
		}
		for _, obj := range roles.RoleBindings {
			if err := createRole(p, obj.DeepCopy()); err != nil {
				return err
			}
		}
		return nil
	})
	queue.Add("all")
}

// createRole creates a role or a binding.
func createRole[T api.Object](p *controller.Process, obj T) error {
	labels := maps.Clone(roleLabels)
	maps.Copy(labels, obj.GetLabels())
	obj.SetLabels(labels)
	obj.SetAnnotations(maps.Clone(roleAnnotations))
	_, err := controller.Create(p, obj)
	return ignored(err)
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
