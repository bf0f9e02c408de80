package predict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Options configure a prediction. The zero value simulates half an hour from the newest timestamp of the dump.
type Options struct {
	dump.Options
	// For is the virtual time to simulate after the last step; zero is DefaultFor.
	For time.Duration
	// NoReplacements disables the replacement of deleted pods of ReplicaSets and StatefulSets.
	NoReplacements bool
}

// DefaultFor is the default of Options.For.
const DefaultFor = 30 * time.Minute

// Prediction describes the effects of a change.
type Prediction struct {
	Steps []string  `json:"steps"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Lost lists the volumes whose data is deleted, in order.
	Lost []Loss `json:"lost,omitempty"`
	// Threatened lists the volumes whose data will be deleted once nothing delays it.
	Threatened []Loss `json:"threatened,omitempty"`
	// Outcomes lists all effects, in order.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Prevented lists data losses and stops of pods that would happen without the change only.
	Prevented []Outcome `json:"prevented,omitempty"`
	// Problems lists misuse that storage systems detected, such as detaching a volume that a pod uses.
	Problems []string `json:"problems,omitempty"`
	// Stuck explains objects that are not in their desired state at the end because of the change.
	Stuck []explain.Explanation `json:"stuck,omitempty"`
	// Notes lists assumptions, and what of the dump or the change could not be simulated.
	Notes []string `json:"notes,omitempty"`
}

// Span is a duration in the form 1m30s.
type Span time.Duration

// String returns the span rounded to tenths of a second without trailing zero units: 10m, 6m0.2s.
func (s Span) String() string {
	text := time.Duration(s).Round(time.Second / 10).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText returns String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Loss describes data that is deleted.
type Loss struct {
	// Volume is the PersistentVolume, Handle its name in the storage system, Backend the storage system.
	Volume  string `json:"volume"`
	Handle  string `json:"handle"`
	Backend string `json:"backend"`
	// Claim is the key of the claim that is or was bound to it; "" for none.
	Claim string `json:"claim,omitempty"`
	Size  string `json:"size,omitempty"`
	// After is the time since the start; zero for a threatened volume.
	After Span `json:"after,omitzero"`
	// When describes what delays the deletion of a threatened volume.
	When string `json:"when,omitempty"`
	// Anyway is set if it also happens without the change.
	Anyway bool `json:"anyway,omitempty"`
}

// run is one simulation of the cluster, with or without the change.
type run struct {
	*dump.Cluster
	opts             Options
	workloads        *workloads
	outcomes         []Outcome
	touched          []api.Ref
	volumes          map[string]*corev1.PersistentVolume
	observed         uint64
	start            time.Time
	notes            []string
	reportedLosses   map[string]bool
	reportedWarnings map[string]bool
	podRemoved       bool // a pod is being deleted or was deleted
}

// Predict simulates the steps on the cluster of a dump. It returns an error if a step fails.
func Predict(d *dump.Dump, steps []Step, opts Options) (*Prediction, error) {
	if opts.For == 0 {
		opts.For = DefaultFor
	}
	if opts.For < 0 || opts.For > maxWait {
		return nil, fmt.Errorf("invalid duration %v: want 0 to %v", opts.For, maxWait)
	}
	if opts.Now.IsZero() {
		// Both runs share it, and computing it visits every object.
		opts.Now = d.Newest()
	}
	with, err := simulate(d, steps, opts)
	if err != nil {
		return nil, err
	}
	opts.For = with.Now().Sub(with.start)
	without, err := simulate(d, nil, opts)
	if err != nil {
		return nil, err
	}
	return with.compare(without, steps), nil
}

func simulate(d *dump.Dump, steps []Step, opts Options) (*run, error) {
	c, err := d.Start(opts.Options)
	if err != nil {
		return nil, err
	}
	r := &run{Cluster: c, opts: opts, volumes: map[string]*corev1.PersistentVolume{}, reportedLosses: map[string]bool{},
		reportedWarnings: map[string]bool{}, start: c.Now(), observed: c.Trace().Seq()}
	r.notes = c.Notes
	for _, pv := range c.Volumes.List() {
		r.volumes[pv.Name] = pv
	}
	r.workloads = newWorkloads(r)
	stop, err := c.Pods.Watch(func(change api.Change[*corev1.Pod]) {
		r.podRemoved = r.podRemoved || change.Object.DeletionTimestamp != nil || change.Type == api.Deleted
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	for _, step := range steps {
		r.observe()
		if err := step.do(r); err != nil {
			return nil, fmt.Errorf("%s: %w", step.Text, err)
		}
	}
	if err := r.advance(opts.For); err != nil {
		return nil, err
	}
	return r, nil
}

// advance advances virtual time, and replaces pods regularly and when a pod is deleted.
func (r *run) advance(d time.Duration) error {
	end := r.Now().Add(d)
	for {
		r.observe()
		r.podRemoved = false
		if err := r.replace(); err != nil {
			return err
		}
		r.observe()
		left := min(end.Sub(r.Now()), replacePeriod)
		if left <= 0 {
			return nil
		}
		next := r.Now().Add(left)
		err := r.Until(func() bool { return r.podRemoved }, left)
		if err != nil && r.Now().Before(next) {
			return err
		}
	}
}

func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// compare builds the prediction from the runs with and without the change.
func (r *run) compare(without *run, steps []Step) *Prediction {
	p := &Prediction{From: r.start, Until: r.Now(), Notes: r.notes}
	for _, step := range steps {
		p.Steps = append(p.Steps, step.Text)
	}
	anyway := map[string]bool{}
	for _, o := range without.outcomes {
		anyway[o.id()] = true
	}
	// Steps record their outcomes before those of the trace are observed.
	slices.SortStableFunc(r.outcomes, func(a, b Outcome) int { return a.At.Compare(b.At) })
	for _, o := range r.outcomes {
		o.Anyway = anyway[o.id()]
		p.Outcomes = append(p.Outcomes, o)
		if o.Loss != nil {
			loss := *o.Loss
			loss.After, loss.Anyway = o.After, o.Anyway
			p.Lost = append(p.Lost, loss)
		}
	}
	before := without.threatened()
	for _, loss := range r.threatened() {
		loss.Anyway = slices.Contains(before, loss)
		p.Threatened = append(p.Threatened, loss)
	}
	p.Stuck = r.stuck(without)
	known := without.problems()
	for _, problem := range r.problems() {
		if !slices.Contains(known, problem) {
			p.Problems = append(p.Problems, problem)
		}
	}
	p.Prevented = prevented(r.outcomes, without.outcomes)
	return p
}

// problems returns the misuse that the storage systems detected.
func (r *run) problems() []string {
	var all []string
	for _, backend := range r.Backends {
		if b, ok := backend.(interface{ Problems() []fake.Problem }); ok {
			for _, problem := range b.Problems() {
				all = append(all, fmt.Sprintf("%s: %s", backend.Name(), problem))
			}
		}
	}
	return all
}

// prevented returns data losses and stops of pods that happen without the change only.
func prevented(with, without []Outcome) []Outcome {
	happens := map[string]bool{}
	for i := range with {
		happens[with[i].id()] = true
	}
	var all []Outcome
	for _, o := range without {
		if (o.Kind == Loses || o.Kind == Stops) && !happens[o.id()] {
			all = append(all, o)
		}
	}
	return all
}

// threatened returns the volumes whose deletion is only delayed: Released ones, and those whose claim is being deleted.
func (r *run) threatened() []Loss {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, claim := range r.Claims.List() {
		claims[api.KeyOf(claim)] = claim
	}
	var losses []Loss
	for _, pv := range r.Volumes.List() {
		if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain || pv.Spec.ClaimRef == nil {
			continue
		}
		loss := lossOf(pv)
		claim := claims[loss.Claim]
		switch {
		case pv.Status.Phase == corev1.VolumeReleased:
			loss.When = "it is Released; it will be deleted once its deletion succeeds"
		case claim != nil && claim.DeletionTimestamp != nil && claim.Spec.VolumeName == pv.Name:
			loss.When = "its claim is being deleted; the data will be deleted once no pod uses the claim"
		default:
			continue
		}
		losses = append(losses, loss)
	}
	return losses
}

// stuck explains the objects of the steps, and all pods, that are not in their desired state at the end, unless their state is the same
// without the change.
func (r *run) stuck(without *run) []explain.Explanation {
	refs := slices.Clone(r.touched)
	for _, pod := range r.Pods.List() {
		refs = append(refs, api.RefTo(pod))
	}
	slices.SortFunc(refs, func(a, b api.Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	now := explain.New(internals.Snapshot(r.Cluster))
	brief, then := now.Brief(), explain.New(internals.Snapshot(without)).Brief()
	var stuck []explain.Explanation
	for _, ref := range slices.Compact(refs) {
		switch ref.Kind {
		case api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment:
		default:
			continue
		}
		x, err := brief.Object(ref)
		if err != nil || x.Changes.When == explain.Settled {
			continue // deleted, or in its desired state
		}
		before, err := then.Object(ref)
		if err == nil && before.Rule == x.Rule && before.Why == x.Why && before.Phase == x.Phase {
			continue
		}
		if x, err = now.Object(ref); err == nil {
			stuck = append(stuck, x)
		}
	}
	return stuck
}

func lossOf(pv *corev1.PersistentVolume) Loss {
	loss := Loss{Volume: pv.Name, Handle: handleOf(pv), Backend: backendOf(pv)}
	if ref := pv.Spec.ClaimRef; ref != nil {
		loss.Claim = api.Key(ref.Namespace, ref.Name)
	}
	if size, ok := pv.Spec.Capacity[corev1.ResourceStorage]; ok {
		loss.Size = size.String()
	}
	return loss
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// emptyOf returns an object of a kind with only its name; a pod for kinds that steps cannot name.
func emptyOf(kind api.Kind, meta metav1.ObjectMeta) api.Object {
	switch kind {
	case api.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	case api.PersistentVolume:
		return &corev1.PersistentVolume{ObjectMeta: meta}
	case api.Node:
		return &corev1.Node{ObjectMeta: meta}
	case api.StorageClass:
		return &storagev1.StorageClass{ObjectMeta: meta}
	case api.VolumeAttachment:
		return &storagev1.VolumeAttachment{ObjectMeta: meta}
	case api.CSIDriver:
		return &storagev1.CSIDriver{ObjectMeta: meta}
	case api.CSINode:
		return &storagev1.CSINode{ObjectMeta: meta}
	}
	return &corev1.Pod{ObjectMeta: meta}
}
