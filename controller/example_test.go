package controller_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	named := func(name string) controller.Controller { return controller.Controller{Name: name, Start: start} }
	for _, tt := range []struct {
		ctl  controller.Controller
		want string
	}{
		{controller.Controller{Start: start}, "add controller: Controller.Name is empty; name the controller"},
		{controller.Controller{Name: "x"}, `add controller "x": Controller.Start is nil; give it a function`},
		{controller.Controller{Name: "x", Lag: -1, Start: start}, `add controller "x": Controller.Lag is -1ns; give zero or more`},
		{labeler(), `add controller "labeler": there is a controller with that name; choose another`},
		{named("kube-scheduler"), `add controller "kube-scheduler": a controller of the cluster has that name; choose another, or name it in Config.Without`},
		{named("statefulset-controller"), `add controller "statefulset-controller": a controller of the cluster has that name; choose another, or name it in Config.Without`},
		{named("kubelet/n9"), `add controller "kubelet/n9": a controller of the cluster has that name; choose another, or name it in Config.Without`},
		{named("machine/n9"), `add controller "machine/n9": that is the name of a node; choose another`},
		{named("user"), `add controller "user": that is the name of calls from outside the cluster; choose another`},
		{named("user/bob"), `add controller "user/bob": that is the name of calls from outside the cluster; choose another`},
		{named(" "), `add controller " ": Controller.Name has spaces around it, or characters that cannot be printed; remove them`},
		{named("a\nb"), `add controller "a\nb": Controller.Name has spaces around it, or characters that cannot be printed; remove them`},
	} {
		require.EqualError(t, c.Cluster.AddController(tt.ctl), tt.want)
	}
}

// TestCalls: what a controller passes is checked.
func TestCalls(t *testing.T) {
	c := volsimtest.New(t)
	var got []string
	c.AddController(controller.Controller{Name: "caller", Start: func(s *controller.Setup) {
		s.NewQueue("once", func(p *controller.Process, _ string) error {
			note := func(_ any, err error) { got = append(got, err.Error()) }
			note(controller.Create[*corev1.Pod](p, nil))
			note(controller.Update(p, &corev1.Pod{}))
			note(controller.UpdateStatus[*corev1.Pod](p, nil))
			note(controller.Get[*corev1.PersistentVolumeClaim](p, "data"))
			note(controller.Patch[*appsv1.StatefulSet](p, "db", "{}"))
			note(nil, controller.Delete[*corev1.Pod](p, "db-0"))
			return nil
		}).Add("now")
	}})
	c.Settle()
	require.Equal(t, []string{
		"create: the object is nil; pass a pointer to a k8s.io/api type",
		"update Pod: metadata.name is empty; name the object",
		"update: the object is nil; pass a pointer to a k8s.io/api type",
		`get PersistentVolumeClaim "data": the key has no namespace; want namespace/name`,
		`patch StatefulSet.apps "db": the key has no namespace; want namespace/name`,
		`delete Pod "db-0": the key has no namespace; want namespace/name`,
	}, got)
	for want, start := range map[string]func(*controller.Setup){
		`controller "x": NewQueue("q"): the function is nil`:     func(s *controller.Setup) { s.NewQueue("q", nil) },
		`controller "x": Every(1s): the function is nil`:         func(s *controller.Setup) { s.Every(time.Second, nil) },
		`controller "x": Watch of *v1.Pod: the function is nil`:  func(s *controller.Setup) { controller.Watch[*corev1.Pod](s, nil) },
		`controller "x": Every(0s): the period must be positive`: func(s *controller.Setup) { s.Every(0, nil) },
	} {
		c := volsimtest.New(t)
		require.PanicsWithValue(t, want, func() { c.AddController(controller.Controller{Name: "x", Start: start}) })
	}
}

// TestPopulatorKind: a populator needs a kind that exists, and that has no controllers of its own.
func TestPopulatorKind(t *testing.T) {
	c := volsimtest.New(t)
	for kind, want := range map[api.Kind]string{"Missing.example.com": "no matches for kind", api.Pod: "Pod has a typed table"} {
		populator := controller.Populator{Kind: kind, Prefix: "example.com"}.Controller()
		require.ErrorContains(t, c.Cluster.AddController(populator), `add controller "example.com-populator": Populator.Kind: `+want)
	}
}

// TestReplacement: an added controller can have the name of one of Kubernetes that does not run, also of one that starts with its first object.
func TestReplacement(t *testing.T) {
	c := volsimtest.New(t, volsim.Config{Without: []string{"statefulset-controller", volsim.Kubelets}})
	for _, name := range []string{"statefulset-controller", "kubelet/n1"} {
		c.AddController(controller.Controller{Name: name, Start: func(*controller.Setup) {}})
	}
	c.Create(fake.Node("n1"), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}, Spec: fake.Pod("p").Spec},
	}})
	c.Settle()
	require.Empty(t, c.Pods.List())
}
