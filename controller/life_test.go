package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/volsimtest"
)

// life has the parts of a controller between a start and the crash after it.
type life struct {
	setup  *controller.Setup
	queue  *controller.Queue
	claims *controller.Cache[*corev1.PersistentVolumeClaim]
	maps   *controller.Cache[*corev1.ConfigMap]
	proc   *controller.Process // of the last sync
	synced []string
}

func (l *life) sync(p *controller.Process, key string) error {
	l.proc, l.synced = p, append(l.synced, key)
	return nil
}

// TestEndedLife: after a crash, nothing that the life had has an effect or finds anything, and its Process is an error.
func TestEndedLife(t *testing.T) {
	c := volsimtest.New(t)
	var lives []*life
	c.AddController(controller.Controller{Name: "x", Start: func(s *controller.Setup) {
		l := &life{setup: s}
		lives = append(lives, l)
		l.queue = s.NewQueue("claims", l.sync)
		l.claims = controller.Watch(s, func(e api.Change[*corev1.PersistentVolumeClaim]) { l.queue.Add(e.Key) })
		l.maps = controller.Watch(s, func(api.Change[*corev1.ConfigMap]) {})
	}})
	c.Create(fake.Claim("a", "1Gi"))
	c.Settle()
	old := lives[0]
	require.Equal(t, []string{"default/a"}, old.synced)
	require.Len(t, old.claims.List(), 1)
	for _, state := range []string{"crashed", "restarted"} {
		if c.Crash("x"); state == "restarted" {
			c.Restart("x")
			c.Create(fake.Claim("b", "1Gi"))
			c.Settle()
			c.Create(fake.Claim("c", "1Gi")) // no cache has it yet
		}
		_, found := old.claims.Get("default/a")
		require.False(t, found, state)
		require.Empty(t, old.claims.List(), state)
		require.Empty(t, old.maps.List(), state)
		old.queue.Add("default/a")
		old.queue.AddAfter("default/a", time.Second)
		old.setup.NewQueue("later", old.sync).Add("default/a")
		old.setup.Every(time.Second, func(*controller.Process) { t.Error("periodic work of an ended life") })
		require.Empty(t, controller.Watch(old.setup, func(api.Change[*corev1.PersistentVolumeClaim]) { t.Error("watch of an ended life") }).List())
		require.Empty(t, controller.Watch(old.setup, func(api.Change[*corev1.ConfigMap]) { t.Error("watch of an ended life") }).List())
		c.Advance(time.Minute)
		require.Equal(t, []string{"default/a"}, old.synced, state)
	}
	require.Equal(t, []string{"default/a", "default/b", "default/c"}, lives[1].synced)

	const ended = `this Process of controller "x" has ended; use the one that the function gets`
	for _, p := range []*controller.Process{old.proc, lives[1].proc} {
		_, err := controller.Get[*corev1.PersistentVolumeClaim](p, "default/a")
		require.EqualError(t, err, "get: "+ended)
		_, err = controller.Create(p, fake.Claim("d", "1Gi"))
		require.EqualError(t, err, "create: "+ended)
		require.EqualError(t, controller.Delete[*corev1.PersistentVolumeClaim](p, "default/a"), "delete: "+ended)
		entries := c.Trace().Len()
		p.Sleep(time.Second)
		p.Decide(c.Claim("a"), "nothing")
		p.Event(c.Claim("a"), corev1.EventTypeNormal, "Nothing", "nothing")
		require.Equal(t, c.Now(), p.Now())
		c.Settle()
		require.Equal(t, entries, c.Trace().Len())
	}
}

// TestTimeWithinAnEvent: time does not pass within an event.
func TestTimeWithinAnEvent(t *testing.T) {
	c := volsimtest.New(t)
	const within = ": time passes already: the call is made within an event of the cluster, such as a sync or a call of a backend"
	synced := false
	c.AddController(controller.Controller{Name: "x", Start: func(s *controller.Setup) {
		queue := s.NewQueue("claims", func(p *controller.Process, _ string) error {
			now := p.Now()
			require.EqualError(t, c.Cluster.Advance(time.Hour), "advance"+within)
			require.EqualError(t, c.Cluster.Settle(), "settle"+within)
			require.EqualError(t, c.Cluster.Until(func() bool { return true }, time.Hour), "until"+within)
			require.False(t, c.Cluster.Step())
			require.Equal(t, now, p.Now())
			synced = true
			return nil
		})
		controller.Watch(s, func(e api.Change[*corev1.PersistentVolumeClaim]) { queue.Add(e.Key) })
	}})
	c.Create(fake.Claim("a", "1Gi"))
	c.Settle()
	require.True(t, synced)
}
