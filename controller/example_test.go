package controller_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/volsimtest"
)

// labeler labels claims once they are bound.
func labeler() controller.Controller {
	return controller.Controller{Name: "labeler", Lag: time.Second, Start: func(s *controller.Setup) {
		var claims *controller.Cache[*corev1.PersistentVolumeClaim]
		queue := s.NewQueue("claims", func(p *controller.Process, key string) error {
			claim, ok := claims.Get(key)
			if !ok || claim.Status.Phase != corev1.ClaimBound || claim.Labels["bound"] != "" {
				return nil
			}
			claim.Labels = map[string]string{"bound": "yes"}
			_, err := controller.Update(p, claim)
			return err // a conflict is retried, with backoff
		})
		claims = controller.Watch(s, func(c api.Change[*corev1.PersistentVolumeClaim]) { queue.Add(c.Key) })
	}}
}

// The API server fails the first update of the controller, so it retries; then it crashes, and starts again.
func Example() {
	c, err := volsim.New(volsim.Config{})
	if err != nil {
		panic(err)
	}
	show := func(when, name string) {
		claim, err := c.Claims.Get(name)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s %q\n", when, claim.Status.Phase, claim.Labels["bound"])
	}
	c.Faults.Fail(fake.Match{Actor: "labeler", Verb: "update"}, fmt.Errorf("connection refused")).Once()
	err = errors.Join(c.AddController(labeler()), c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi")), c.Settle())
	show("settled", "data")
	err = errors.Join(err, c.Crash("labeler"), c.Create(fake.Volume("w", "1Gi"), fake.Claim("more", "1Gi")), c.Advance(time.Minute))
	show("crashed", "more")
	err = errors.Join(err, c.Restart("labeler"), c.Settle())
	show("restarted", "more")
	fmt.Println(err)
	// Output:
	// settled: Bound "yes"
	// crashed: Bound ""
	// restarted: Bound "yes"
	// <nil>
}

// TestLabeler crashes the controller after each number of steps, in a different order of events each time.
func TestLabeler(t *testing.T) {
	for seed := range int64(100) {
		c := volsimtest.New(t, volsim.Config{Seed: seed, Latency: 10 * time.Millisecond})
		c.AddController(labeler())
		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
		for range seed {
			c.Step()
		}
		c.Crash("labeler")
		c.Restart("labeler")
		c.Advance(time.Minute)
		require.Equal(t, "yes", c.Claim("data").Labels["bound"], "seed %d", seed)
	}
}

// TestLag: the lag of a controller delays what it sees, and of no other.
func TestLag(t *testing.T) {
	c := volsimtest.New(t)
	ctl := labeler()
	ctl.Lag = time.Minute
	c.AddController(ctl)
	c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
	c.Advance(59 * time.Second)
	require.Equal(t, corev1.ClaimBound, c.Claim("data").Status.Phase)
	require.Empty(t, c.Claim("data").Labels)
	c.Settle()
	require.Equal(t, "yes", c.Claim("data").Labels["bound"])
}

// TestMisuse: a controller that cannot run is an error that says what to do.
func TestMisuse(t *testing.T) {
	c := volsimtest.New(t)
	c.AddController(labeler())
	start := labeler().Start
	for _, tt := range []struct {
		ctl  controller.Controller
		want string
	}{
		{controller.Controller{Start: start}, "add controller: Controller.Name is empty; name the controller"},
		{controller.Controller{Name: "x"}, `add controller "x": Controller.Start is nil; give it a function`},
		{controller.Controller{Name: "x", Lag: -1, Start: start}, `add controller "x": Controller.Lag is -1ns; give zero or more`},
		{labeler(), `add controller "labeler": there is a controller with that name; choose another`},
		{controller.Controller{Name: "kube-scheduler", Start: start},
			`add controller "kube-scheduler": there is a controller with that name; choose another`},
	} {
		require.EqualError(t, c.Cluster.AddController(tt.ctl), tt.want)
	}
}
