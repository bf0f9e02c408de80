package controller_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
)

// A controller that labels claims once they are bound. The API server fails its first patch, so it retries; then it crashes, and
// starts again.
func Example() {
	c, err := volsim.New(volsim.Config{})
	if err != nil {
		panic(err)
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(c.AddController(controller.Controller{Name: "labeler", Start: func(s *controller.Setup) {
		var claims *controller.Cache[*corev1.PersistentVolumeClaim]
		queue := s.NewQueue("claims", func(p *controller.Process, key string) error {
			claim, ok := claims.Get(key)
			if !ok || claim.Status.Phase != corev1.ClaimBound || claim.Labels["bound"] != "" {
				return nil
			}
			_, err := controller.Patch[*corev1.PersistentVolumeClaim](p, key, `{"metadata":{"labels":{"bound":"yes"}}}`)
			return err
		})
		claims = controller.Watch(s, controller.Handler[*corev1.PersistentVolumeClaim]{
			Add:    func(claim *corev1.PersistentVolumeClaim) { queue.Add(api.KeyOf(claim)) },
			Update: func(_, claim *corev1.PersistentVolumeClaim) { queue.Add(api.KeyOf(claim)) },
		})
	}}))
	c.Faults.Fail(fake.Match{Actor: "labeler", Verb: "patch"}, fmt.Errorf("connection refused")).Once()
	check(c.Create(fake.Volume("v", "1Gi")))
	check(c.Settle())
	check(c.Create(fake.Claim("data", "1Gi")))
	check(c.Settle())
	claim, err := c.Claims.Get("data")
	check(err)
	fmt.Println(claim.Status.Phase, claim.Labels["bound"])

	check(c.Crash("labeler"))
	check(c.Create(fake.Volume("w", "1Gi"), fake.Claim("more", "1Gi")))
	check(c.Advance(time.Minute))
	claim, err = c.Claims.Get("more")
	check(err)
	fmt.Printf("crashed: %s %q\n", claim.Status.Phase, claim.Labels["bound"])
	check(c.Restart("labeler"))
	check(c.Settle())
	claim, err = c.Claims.Get("more")
	check(err)
	fmt.Println("restarted:", claim.Status.Phase, claim.Labels["bound"])
	// Output:
	// Bound yes
	// crashed: Bound ""
	// restarted: Bound yes
}
