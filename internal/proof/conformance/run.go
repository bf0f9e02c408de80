package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
)

// SettleTime is the virtual time that passes after each step, before the observation.
const SettleTime = 150 * time.Second

// Options configure a run. The zero value runs events in order.
type Options struct {
	// Seed is that of the cluster. It also chooses when in the resync period the first step falls, or when the components around nodes
	// start.
	Seed int64
	// NoSkipping syncs all objects at each resync. It has no effect on nodes, where nothing is skipped anyway.
	NoSkipping bool
	// Latency is how long each API call of a controller takes.
	Latency time.Duration
}

// lead is how long the controllers run before the first step: 18 to 27 s, which is 3 to 12 s after a resync.
func (o Options) lead() time.Duration {
	const least, spread = 18 * time.Second, 9 * time.Second
	return least + time.Duration((uint64(o.Seed)*2_718_281_828+uint64(spread)/2)%uint64(spread))
}

// Run runs the steps of a scenario on a new cluster, and returns the observations. An error means that the scenario cannot run.
func (s Scenario) Run(opts Options) ([]Observation, error) {
	return (&runner{}).run(s, opts)
}

// run runs the steps of a scenario; the runner keeps the cluster.
func (p *runner) run(s Scenario, opts Options) ([]Observation, error) {
	p.symbols = newSymbols()
	p.backends = newBackends(func() time.Time { return p.cluster.Now() })
	if err := p.start(opts); err != nil {
		return nil, err
	}
	var seen []Observation
	var refused []string
	since := p.cluster.Trace().Seq()
	for i, step := range s.Steps {
		reason, err := p.do(step)
		if err != nil {
			return seen, fmt.Errorf("step %d: %w", i, err)
		}
		if step.NoSettle {
			// This never happens, but must not go unnoticed.
			if reason != "" {
				refused = append(refused, fmt.Sprintf("step %d: %s", i, reason))
			}
			continue
		}
		if err := p.cluster.Advance(SettleTime); err != nil {
			return seen, err
		}
		o := observe(p.cluster, p.symbols, since)
		o.Step = i
		o.Error = strings.Join(append(refused, reason), " ")
		refused = nil
		since = p.cluster.Trace().Seq()
		seen = append(seen, o)
	}
	return seen, nil
}

// runner is one run of a scenario.
type runner struct {
	cluster  *volsim.Cluster
	backends *storageSystems
	symbols  *symbols
}

// start creates the cluster with the controllers of the recordings and no others.
func (p *runner) start(opts Options) error {
	cfg := volsim.Config{
		Seed:     opts.Seed,
		Latency:  opts.Latency,
		Backends: p.backends.all(),
	}
	// The provisioner of the recordings is the library, set up as in the CSI sidecar but without what the sidecar adds.
	internals.Options(&cfg).Provisioner.NoSecretAnnotations = true
	internals.Options(&cfg).NoSkipping = opts.NoSkipping
	all, err := volsim.New(cfg)
	if err != nil {
		return err
	}
	cfg.Without = append(slices.DeleteFunc(all.Controllers(), runs), volsim.Kubelets)
	if p.cluster, err = volsim.New(cfg); err != nil {
		return err
	}
	return p.cluster.Advance(opts.lead())
}

func runs(controller string) bool {
	switch controller {
	case actors.PersistentVolume, actors.PVProtection, actors.PVCProtection, actors.Provisioner(driverName):
		return true
	}
	return false
}

// do runs one step. The reason is why the API server refused it, empty if it did not.
func (p *runner) do(step Step) (reason string, err error) {
	switch step.Op {
	case "backend":
		b := p.backends.backend(step.Provisioner)
		if b == nil {
			return "", fmt.Errorf("there is no backend %q", step.Provisioner)
		}
		b.setting = step.setting
		return "", nil
	case "advance":
		return "", p.cluster.Advance(time.Duration(step.Seconds * float64(time.Second)))
	}
	err = p.write(step)
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason), nil
	}
	return "", err
}

func (p *runner) write(step Step) error {
	switch step.Op {
	case "create":
		obj, err := p.object(step)
		if err != nil {
			return err
		}
		return p.create(obj, step.SkipValidation)
	case "update":
		obj, err := p.object(step)
		if err != nil {
			return err
		}
		return p.update(obj, step.SkipValidation)
	case "patch":
		return p.patch(step)
	case "delete":
		obj, err := p.named(step)
		if err != nil {
			return err
		}
		// A deleted pod is removed immediately.
		var grace int64
		return p.cluster.DeleteWith(obj, api.DeleteOptions{GracePeriodSeconds: &grace})
	}
	return fmt.Errorf("there is no op %q", step.Op)
}

// object returns the object of a step with real uids.
func (p *runner) object(step Step) (api.Object, error) {
	data, err := p.symbols.real(step.Object)
	if err != nil {
		return nil, err
	}
	return readObject(data)
}

// named returns an object with only the fields that name it.
func (p *runner) named(step Step) (api.Object, error) {
	name, err := p.symbols.real([]byte(step.Name))
	if err != nil {
		return nil, err
	}
	return namedObject(step.Kind, step.Namespace, string(name))
}

func (p *runner) create(obj api.Object, skipValidation bool) error {
	if storedAsGiven(obj) {
		return p.cluster.Load(obj)
	}
	if err := internals.Create(p.cluster, obj, store.CreateOptions{SkipValidation: skipValidation}); err != nil {
		return err
	}
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	created, err := p.cluster.Claims.Get(api.KeyOf(claim))
	if err != nil {
		return err
	}
	p.symbols.add(api.KeyOf(created), created.UID)
	return nil
}

func (p *runner) update(obj api.Object, skipValidation bool) error {
	if storedAsGiven(obj) {
		return p.cluster.Load(obj)
	}
	return internals.Update(p.cluster, obj, store.UpdateOptions{SkipValidation: skipValidation})
}

func (p *runner) patch(step Step) error {
	patch, err := p.symbols.real(step.Patch)
	if err != nil {
		return err
	}
	obj, err := p.named(step)
	if err != nil {
		return err
	}
	if !step.SkipValidation && !storedAsGiven(obj) {
		return p.cluster.Patch(obj, string(patch))
	}
	current, err := stored(p.cluster, obj)
	if err != nil {
		return err
	}
	next, err := patched(current, patch)
	if err != nil {
		return err
	}
	return p.update(next, step.SkipValidation)
}

// storedAsGiven reports whether the API server of the recordings did not validate the kind, and completes such an object.
func storedAsGiven(obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if obj.Status.Phase == "" {
			obj.Status.Phase = corev1.PodPending
		}
		return true
	case *corev1.Node:
		return true
	}
	return false
}
