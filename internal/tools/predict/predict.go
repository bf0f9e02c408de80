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
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Options configure a prediction. The zero value simulates half an hour from the newest timestamp of the dump.
type Options struct {
	dump.Options
	// For is the virtual time to simulate after the last step; zero is DefaultFor.
	For time.Duration
	// Work limits the number of events, such as a request or a sync of a controller, that are simulated after the last step. At the limit the
	// prediction ends early, at Prediction.Until. Zero is no limit.
	Work int
	// NoReplacements disables the replacement of deleted pods of ReplicaSets and StatefulSets.
	NoReplacements bool
}

// DefaultFor is the default of Options.For.
const DefaultFor = 30 * time.Minute

// Prediction describes the effects of a change.
type Prediction struct {
	Steps []string `json:"steps"`
	// Refused lists the steps that the API server or kubectl refuses.
	Refused []Refusal `json:"refused,omitempty"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	// Lost lists the volumes whose data is deleted, in order.
	Lost []Data `json:"lost,omitempty"`
	// Threatened lists the volumes whose data will be deleted once nothing delays it.
	Threatened []Data `json:"threatened,omitempty"`
	// Retained lists the volumes that lose their claim through the change, and whose data stays because their reclaim policy is Retain, and
	// those whose object is gone although nothing deleted the storage.
	Retained []Data `json:"retained,omitempty"`
	// Outcomes lists all effects, in order.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Prevented lists data losses and stops of pods that would happen without the change only.
	Prevented []Outcome `json:"prevented,omitempty"`
	// Problems lists misuse that storage systems detected, such as detaching a volume that a pod uses.
	Problems []string `json:"problems,omitempty"`
	// ProblemsAnyway lists those that happen without the change too.
	ProblemsAnyway []string `json:"problemsAnyway,omitempty"`
	// Stuck explains objects that are not in their desired state at the end because of the change.
	Stuck []explain.Explanation `json:"stuck,omitempty"`
	// Assumptions are about drivers, nodes and controllers, from the evidence in the dump or as requested.
	Assumptions []evidence.Assumption `json:"assumptions,omitempty"`
	// Objects returns the objects at the end, by kind and name.
	Objects func() []api.Object `json:"-"`
	// Notes lists what of the dump or the change could not be simulated.
	Notes []string `json:"notes,omitempty"`
	// Writes lists the last writes of components that policies refuse because of the change.
	Writes []RefusedWrite `json:"refusedWrites,omitempty"`
	// Refusals has them too, and with no change all such writes.
	Refusals []snapshot.Refusal `json:"-"`
}

// RefusedWrite is a write of a component that a policy refuses.
type RefusedWrite struct {
	Actor   string `json:"actor"`
	Request string `json:"request"`
	Reason  string `json:"reason"`
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

// Data is the data of a volume.
type Data struct {
	// Volume is the PersistentVolume, Handle its name in the storage system, Backend the storage system.
	Volume  string `json:"volume"`
	Handle  string `json:"handle"`
	Backend string `json:"backend"`
	// Claim is the key of the claim that is or was bound to it; "" for none.
	Claim string `json:"claim,omitempty"`
	Size  string `json:"size,omitempty"`
	// After is the time since the start; zero for a threatened volume.
	After Span `json:"after,omitzero"`
	// When describes what delays the deletion of a threatened volume, and how to find the data of a retained one.
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
	refusals         []Refusal
	applied          apply.Applied
	reportedLosses   map[string]bool
	deleted          map[string]bool // volumes whose storage was deleted
	reportedWarnings map[string]bool
	terminating      []api.Object // what the previous step deletes and waits for
	podRemoved       bool         // a pod is being deleted or was deleted
	// relied are the assumptions that the prediction rests on, besides the evidence.
	relied []evidence.Assumption
	// autoscaled has the time of the next sync of each HorizontalPodAutoscaler.
	autoscaled map[string]time.Time
}

// Predict simulates the steps on the cluster of a dump. It returns an error if a step fails.
func Predict(d *dump.Dump, steps []Step, opts Options) (*Prediction, error) {
	if opts.For == 0 {
		opts.For = DefaultFor
	}
	if opts.For < 0 || opts.For > maxWait {
		return nil, fmt.Errorf("invalid duration %v: want 0 to %v", opts.For, maxWait)
	}
	if err := d.CheckApplied(); err != nil {
		return nil, err
	}
	if opts.Now.IsZero() {
		// Both runs share it, and computing it visits every object.
		opts.Now = d.Newest()
	}
	opts.Acts = len(steps) > 0
	with, err := simulate(d, steps, opts)
	if err != nil {
		return nil, err
	}
	without := with
	if opts.Acts {
		opts.For, opts.Work = with.Now().Sub(with.start), 0
		if without, err = simulate(d, nil, opts); err != nil {
			return nil, err
		}
	}
	return with.compare(without, steps), nil
}

func simulate(d *dump.Dump, steps []Step, opts Options) (*run, error) {
	c, err := d.Start(opts.Options)
	if err != nil {
		return nil, err
	}
	r := &run{Cluster: c, opts: opts, volumes: map[string]*corev1.PersistentVolume{}, reportedLosses: map[string]bool{}, deleted: map[string]bool{},
		reportedWarnings: map[string]bool{}, autoscaled: map[string]time.Time{}, applied: apply.Applied{}, start: c.Now(), observed: c.Trace().Seq()}
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
	for i, step := range steps {
		if err := r.beforeNext(i > 0 && steps[i-1].typed); err != nil {
			return nil, err
		}
		before := r.Trace().Seq()
		if err := step.do(r); err != nil {
			if err := r.refused(step, err); err != nil {
				return nil, err
			}
			continue
		}
		r.noteEffects(step, before)
	}
	if err := r.advance(opts.For); err != nil {
		return nil, err
	}
	return r, nil
}

// beforeNext waits for what the previous step waits for and, after a command of kubectl, for the time that it takes.
func (r *run) beforeNext(typed bool) error {
	if err := r.awaitDeleted(); err != nil {
		return err
	}
	if typed {
		if err := r.advance(typing); err != nil {
			return err
		}
	}
	r.observe()
	return nil
}

// advance advances virtual time, and replaces pods regularly and when a pod is deleted.
func (r *run) advance(d time.Duration) error {
	end := r.Now().Add(d)
	events := 0
	for {
		r.observe()
		r.podRemoved = false
		if err := r.replace(); err != nil {
			return err
		}
		if err := r.autoscale(); err != nil {
			return err
		}
		r.observe()
		left := min(end.Sub(r.Now()), replacePeriod)
		if left <= 0 || r.opts.Work > 0 && events >= r.opts.Work {
			return nil
		}
		next := r.Now().Add(left)
		err := r.Until(func() bool {
			events++
			return r.podRemoved || r.opts.Work > 0 && events >= r.opts.Work
		}, left)
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
	p := &Prediction{From: r.start, Until: r.Now(), Refused: r.refusals, Notes: r.notes, Assumptions: r.assumptions()}
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
	if r != without {
		p.Stuck = r.stuck(without)
		anyway := without.retained()
		for _, data := range r.retained() {
			if !slices.Contains(anyway, data) {
				p.Retained = append(p.Retained, data)
			}
		}
	}
	known := without.problems()
	for _, problem := range r.problems() {
		list := &p.Problems
		if slices.Contains(known, problem) {
			list = &p.ProblemsAnyway
		}
		if !slices.Contains(*list, problem) {
			*list = append(*list, problem)
		}
	}
	p.Prevented = prevented(r.outcomes, without.outcomes)
	p.Objects, p.Refusals = r.objects, r.Snapshot().Refusals
	if r != without {
		anyway := without.Snapshot().Refusals
		p.Refusals = slices.DeleteFunc(p.Refusals, func(refused snapshot.Refusal) bool { return slices.Contains(anyway, refused) })
		for i := range p.Refusals {
			refused := &p.Refusals[i]
			p.Writes = append(p.Writes, RefusedWrite{Actor: refused.Actor, Request: refused.Request(), Reason: refused.Err})
		}
	}
	return p
}

// objects returns all objects, in the order in which kubectl get all kinds would.
func (r *run) objects() []api.Object {
	var all []api.Object
	for _, kind := range objkinds.All() {
		for _, obj := range r.Cluster.Objects(api.Kind(kind.Name())).List() {
			all = append(all, obj)
		}
	}
	return all
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

// stuck explains the objects of the steps, and all pods, that are not in their desired state at the end, unless their state is the same
// without the change.
func (r *run) stuck(without *run) []explain.Explanation {
	refs := slices.Clone(r.touched)
	for _, pod := range r.Pods.List() {
		refs = append(refs, api.RefTo(pod))
	}
	slices.SortFunc(refs, func(a, b api.Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	now := explain.New(r.Cluster.Snapshot())
	brief, then := now.Brief(), explain.New(without.Cluster.Snapshot()).Brief()
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
