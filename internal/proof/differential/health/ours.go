package health

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// driver is a driver of ours, which answers as the world says.
type driver struct {
	*fake.Memory
	world *world
}

func (d *driver) NodeCondition(req storage.NodeRequest) (string, error) {
	says := d.world.says[req.ID]
	if says.Code != "" {
		return "", storage.Errorf(says.Code, "no")
	}
	return says.Problem, nil
}

// RunOurs runs the scenario on a simulated cluster. pauses are those between the checks of each pod; nil is the default. It returns the
// log, and when volumes were mounted for pods.
func RunOurs(s Scenario, pauses map[string][]time.Duration) (log Log, mounts map[string]map[string][]Span, err error) {
	w := newWorld()
	cfg := volsim.Config{Start: Epoch, FeatureGates: map[string]bool{"CSIVolumeHealth": true},
		Without: []string{"persistentvolume-controller"}}
	var objects []api.Object
	for _, d := range s.Drivers {
		options := []fake.MemoryOption{fake.Without(storage.Attach, storage.Stage), fake.Latency(storage.NodeCondition, d.Latency)}
		if !d.Stats || !d.Condition {
			options = append(options, fake.Without(storage.NodeCondition))
		}
		cfg.Backends = append(cfg.Backends, &driver{Memory: fake.CSI(d.Name, options...), world: w})
		objects = append(objects, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: d.Name},
			Spec: storagev1.CSIDriverSpec{AttachRequired: new(bool)}})
	}
	if pauses != nil {
		internals.Options(&cfg).Kubelet.StatsPeriod = func(pod *corev1.Pod, checks int) time.Duration {
			if known := pauses[pod.Name]; checks <= len(known) {
				return known[checks-1]
			}
			return time.Hour // the real side has ended before
		}
	}
	c, err := volsim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	for _, v := range s.Volumes {
		objects = append(objects, v.objects()...)
	}
	if err := c.Load(append(objects, fake.Node("n1"))...); err != nil {
		return nil, nil, err
	}
	until := func(at time.Duration) error { return c.Advance(Epoch.Add(at).Sub(c.Now())) }
	for _, step := range s.Steps {
		if err := until(step.At); err != nil {
			return nil, nil, err
		}
		w.step(step)
		switch {
		case step.Pod == "":
		case step.Volumes == nil:
			err = c.DeleteWith(fake.Pod(step.Pod), api.DeleteOptions{GracePeriodSeconds: new(int64)})
		default:
			err = c.Load(newPod(s, step))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%v: %w", step, err)
		}
	}
	if err := until(s.End); err != nil {
		return nil, nil, err
	}
	log, mounts = read(c.Trace())
	return log, mounts, nil
}

// objects returns a volume and its claim, bound to each other.
func (v Volume) objects() []api.Object {
	options := []fake.Option{fake.CSISource(v.Driver, v.Name), fake.ForClaim(v.Name, types.UID("uid-"+v.Name)), fake.Modes("RWX")}
	if v.Block {
		options = append(options, fake.Block())
	}
	pv := fake.Volume(v.Name, "1Gi", options...)
	pv.Status.Phase = corev1.VolumeBound
	claim := fake.Claim(v.Name, "1Gi", fake.UID(types.UID("uid-"+v.Name)), fake.VolumeName(v.Name), fake.Phase("Bound"))
	claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Status.Capacity = pv.Spec.AccessModes, pv.Spec.VolumeMode, pv.Spec.Capacity
	return []api.Object{pv, claim}
}

// read takes the log and the mounts from a trace.
func read(t *trace.Trace) (log Log, mounts map[string]map[string][]Span) {
	mounts = map[string]map[string][]Span{}
	for e := range t.Since(0) {
		at := e.Time.Sub(Epoch)
		switch {
		case e.Type == trace.Emitted && e.Reason == "VolumeConditionAbnormal":
			log.add(at, e.Object.Key[len("default/"):], "Event "+e.Verb+" "+e.Reason+": "+e.Text)
		case e.Type != trace.Storage:
		case e.Call.Verb == string(storage.NodeCondition) && e.Verb == "end":
			log.add(at, e.Call.Pod, "call "+e.Call.Key)
		case e.Call.Verb == string(storage.Publish) && e.Verb == "end" && e.Err == nil:
			if mounts[e.Call.Pod] == nil {
				mounts[e.Call.Pod] = map[string][]Span{}
			}
			mounts[e.Call.Pod][e.Call.Key] = append(mounts[e.Call.Pod][e.Call.Key], Span{at, 1 << 62})
		case e.Call.Verb == string(storage.Unpublish) && e.Verb == "end":
			// It takes no time, and begins when the volume is not desired any more.
			spans := mounts[e.Call.Pod][e.Call.Key]
			spans[len(spans)-1].To = at
		}
	}
	return log, mounts
}
