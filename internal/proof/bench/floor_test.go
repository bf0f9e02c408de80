package bench

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// BenchmarkFloor measures what no implementation of binding on this store and engine can avoid: the four writes of a bind with the API
// server's checks, their delivery to as many informers as a cluster has, and one queue turn for each changed volume and claim. It
// searches and decides nothing: each claim has its volume by number, there is no cache, and one controller does everything.
func BenchmarkFloor(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pairs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			cpu := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				f := newFloor(b, n)
				began := cpuTime()
				b.StartTimer()
				must(b, f.engine.Settle(time.Hour))
				b.StopTimer()
				cpu += cpuTime() - began
				if f.bound != n {
					b.Fatalf("%d claims are Bound, want %d", f.bound, n)
				}
				b.StartTimer()
			}
			total := float64(n) * float64(b.N)
			b.ReportMetric(total/b.Elapsed().Seconds(), "binds/s")
			reportCPU(b, cpu, total, "bind")
		})
	}
}

// floor is a controller that knows in advance which volume each claim gets.
type floor struct {
	engine  *engine.Engine
	volumes map[string]string // by claim
	bound   int
}

const (
	volumeInformers = 5
	claimInformers  = 6
)

func newFloor(b *testing.B, n int) *floor {
	b.Helper()
	e, err := engine.New(engine.Config{})
	must(b, err)
	f := &floor{engine: e, volumes: make(map[string]string, n)}
	for i := range n {
		pv, err := e.Store().Volumes.Create(fake.Volume(volumeName(i), fmt.Sprintf("%dMi", i+1)))
		must(b, err)
		available := *pv
		available.Status.Phase = corev1.VolumeAvailable
		_, err = e.Store().Volumes.UpdateStatus(&available)
		must(b, err)
		f.volumes["default/"+claimName(i)] = volumeName(i)
	}
	_, err = e.NewActor("binder", f.start)
	must(b, err)
	for i := 1; i < claimInformers; i++ {
		_, err := e.NewActor(fmt.Sprint("onlooker ", i), func(a *engine.Actor) {
			engine.NewInformer(a, e.Store().Claims)
			if i < volumeInformers {
				engine.NewInformer(a, e.Store().Volumes)
			}
		})
		must(b, err)
	}
	for i := range n {
		_, err := e.Store().Claims.Create(fake.Claim(claimName(i), fmt.Sprintf("%dMi", i+1)))
		must(b, err)
	}
	return f
}

func (f *floor) start(a *engine.Actor) {
	s := f.engine.Store()
	volumes, claims := engine.NewInformer(a, s.Volumes), engine.NewInformer(a, s.Claims)
	claimQueue := a.NewQueue(engine.QueueConfig{Name: "claims",
		Sync: func(p *engine.Process, key string) error { return f.bind(p, claims, key) }})
	volumeQueue := a.NewQueue(engine.QueueConfig{Name: "volumes", Sync: func(*engine.Process, string) error { return nil }})
	volumes.Handle(engine.Handler[*corev1.PersistentVolume]{
		Update: func(_, pv *corev1.PersistentVolume) { volumeQueue.Add(pv.Name) },
	})
	claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    func(claim *corev1.PersistentVolumeClaim) { claimQueue.Add(claims.KeyOf(claim)) },
		Update: func(_, claim *corev1.PersistentVolumeClaim) { claimQueue.Add(claims.KeyOf(claim)) },
	})
}

var boundAnnotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}

// bind makes the four writes of a bind, unless the claim is bound.
func (f *floor) bind(p *engine.Process, claims engine.Informer[*corev1.PersistentVolumeClaim], key string) error {
	claim, ok := claims.Get(key)
	if !ok || claim.Status.Phase == corev1.ClaimBound {
		return nil
	}
	pv, err := p.Engine().Store().Volumes.Get(f.volumes[key])
	if err != nil {
		return err
	}
	pointed := *pv
	pointed.Spec.ClaimRef = &corev1.ObjectReference{Kind: string(api.PersistentVolumeClaim), APIVersion: "v1", Namespace: claim.Namespace,
		Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion}
	if pv, err = p.API().Volumes.Replace(p, &pointed); err != nil {
		return err
	}
	taken := *pv
	taken.Status.Phase = corev1.VolumeBound
	if _, err = p.API().Volumes.ReplaceStatus(p, &taken); err != nil {
		return err
	}
	named := *claim
	named.Spec.VolumeName, named.Annotations = pv.Name, boundAnnotations
	if claim, err = p.API().Claims.Replace(p, &named); err != nil {
		return err
	}
	shown := *claim
	shown.Status.Phase, shown.Status.Capacity, shown.Status.AccessModes = corev1.ClaimBound, pv.Spec.Capacity, pv.Spec.AccessModes
	if _, err = p.API().Claims.ReplaceStatus(p, &shown); err != nil {
		return err
	}
	f.bound++
	return nil
}
