package standard

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
)

// TypeCheck returns what is wrong with the types in the expressions of a policy.
type TypeCheck func(*admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning

// startPolicyStatus writes into the status of ValidatingAdmissionPolicies what is wrong with their types (API-524), once for each generation.
func startPolicyStatus(s *controller.Setup, check TypeCheck) {
	var policies *controller.Cache[*admissionregistrationv1.ValidatingAdmissionPolicy]
	queue := s.NewQueue("policies", func(p *controller.Process, name string) error {
		policy, ok := policies.Get(name)
		if !ok || policy.Generation <= policy.Status.ObservedGeneration {
			return nil
		}
		policy.Status.ObservedGeneration = policy.Generation
		policy.Status.TypeChecking = &admissionregistrationv1.TypeChecking{ExpressionWarnings: check(policy)}
		_, err := controller.UpdateStatus(p, policy)
		return ignored(err)
	})
	policies = controller.Watch(s, func(c api.Change[*admissionregistrationv1.ValidatingAdmissionPolicy]) { queue.Add(c.Object.Name) })
}
