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
	"github.com/volsim/volsim/internal/tools/dump"
)

// Options say how a prediction is made. The zero value plays half an hour from the newest timestamp of the dump.
type Options struct {
	dump.Options
	// For is how much virtual time is played after the last step; zero is DefaultFor.
	For time.Duration
	// NoReplacements leaves it at pods that are gone: nobody makes others in their place.
	NoReplacements bool
}

// DefaultFor is how far a prediction looks.
const DefaultFor = 30 * time.Minute

// Prediction is what a change does.
type Prediction struct {
	Steps []string  `json:"steps"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Lost are the volumes whose data is deleted, each with when and for which claim.
	Lost []Loss `json:"lost,omitempty"`
	// Threatened are volumes whose data is deleted as soon as what still keeps it is gone.
	Threatened []Loss `json:"threatened,omitempty"`
	// Outcomes are what happens, in order.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Prevented are losses of data and ends of pods that would happen without the change.
	Prevented []Outcome `json:"prevented,omitempty"`
	// Problems are what storage systems found wrong, such as a volume that was detached while a pod had it.
	Problems []string `json:"problems,omitempty"`
	// Stuck explains what is not as it should be in the end, and was before or was changed by the steps.
	Stuck []explain.Explanation `json:"stuck,omitempty"`
	// Notes tell what could not be taken over from the dump, or be played.
	Notes []string `json:"notes,omitempty"`
}

// Span is a duration that is written like 1m30s.
type Span time.Duration

// String is the span in whole tenths of a second, without what is zero: 10m, 6m0.2s.
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

// MarshalText writes String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Loss is data that is deleted.
type Loss struct {
	// Volume is the PersistentVolume, Handle what its storage system calls it, Backend the storage system.
	Volume  string `json:"volume"`
	Handle  string `json:"handle"`
	Backend string `json:"backend"`
	// Claim is the key of the claim that had it, "" if none did.
	Claim string `json:"claim,omitempty"`
	Size  string `json:"size,omitempty"`
	// After is how long after the beginning; zero for one that is only threatened.
	After Span `json:"after,omitzero"`
	// When says what it waits for, for one that is only threatened.
	When string `json:"when,omitempty"`
	// Anyway is set if it would have happened without the change.
	Anyway bool `json:"anyway,omitempty"`
}

// run is one play.
type run struct {
	*dump.Cluster
	opts     Options
	outside  *outside
	outcomes []Outcome
	touched  []api.Ref
	volumes  map[string]*corev1.PersistentVolume
	shown    uint64
	start    time.Time
	notes    []string
	sawLost  map[string]bool
	sawWarn  map[string]bool
	gone     bool // a pod goes, or is gone
}

// Predict plays the steps on the cluster of a dump. A step that cannot be done is an error.
func Predict(d *dump.Dump, steps []Step, opts Options) (*Prediction, error) {
	if opts.For == 0 {
		opts.For = DefaultFor
	}
	if opts.For < 0 || opts.For > maxWait {
		return nil, fmt.Errorf("predict for %v: give a duration from 0 to %v", opts.For, maxWait)
	}
	if opts.Now.IsZero() {
		// It is the same for both, and takes a look at everything.
		opts.Now = d.Newest()
	}
	with, err := play(d, steps, opts)
	if err != nil {
		return nil, err
	}
	opts.For = with.Now().Sub(with.start)
	without, err := play(d, nil, opts)
	if err != nil {
		return nil, err
	}
	return with.compare(without, steps), nil
}

func play(d *dump.Dump, steps []Step, opts Options) (*run, error) {
	c, err := d.Start(opts.Options)
	if err != nil {
		return nil, err
	}
	r := &run{Cluster: c, opts: opts, volumes: map[string]*corev1.PersistentVolume{}, sawLost: map[string]bool{}, sawWarn: map[string]bool{}, start: c.Now(), shown: c.Trace().Seq()}
	r.notes = c.Notes
	for _, pv := range c.Volumes.List() {
		r.volumes[pv.Name] = pv
	}
	r.outside = newOutside(r)
	for _, node := range c.Nodes.List() {
		if !isReady(node) {
			r.outside.lost[node.Name] = r.start
		}
	}
	stop, err := c.Pods.Watch(func(change api.Change[*corev1.Pod]) {
		r.gone = r.gone || change.Object.DeletionTimestamp != nil || change.Type == api.Deleted
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
	if err := r.play(opts.For); err != nil {
		return nil, err
	}
	return r, nil
}

// play lets time pass, with those who look on from outside: now and then, and when a pod goes.
func (r *run) play(d time.Duration) error {
	end := r.Now().Add(d)
	for {
		r.observe()
		r.gone = false
		if err := r.pass(); err != nil {
			return err
		}
		r.observe()
		left := min(end.Sub(r.Now()), monitorPeriod)
		if left <= 0 {
			return nil
		}
		next := r.Now().Add(left)
		err := r.Until(func() bool { return r.gone }, left)
		if err != nil && r.Now().Before(next) {
			return err
		}
	}
}

func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// compare makes the prediction: what happens, and whether it does so anyway.
func (r *run) compare(without *run, steps []Step) *Prediction {
	p := &Prediction{From: r.start, Until: r.Now(), Notes: r.notes}
	for _, step := range steps {
		p.Steps = append(p.Steps, step.Text)
	}
	anyway := map[string]bool{}
	for _, o := range without.outcomes {
		anyway[o.id()] = true
	}
	// What the steps themselves do is told as it is done.
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

// problems are what the storage systems found wrong as it happened.
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

// prevented are the losses of data and the ends of pods that the change keeps from happening.
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

// threatened are the volumes that are deleted when what keeps them is gone: Released ones, and those whose claim is being deleted.
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
			loss.When = "it is Released, and is deleted as soon as that can be done"
		case claim != nil && claim.DeletionTimestamp != nil && claim.Spec.VolumeName == pv.Name:
			loss.When = "its claim is being deleted: when no pod uses it any more, the data is deleted"
		default:
			continue
		}
		losses = append(losses, loss)
	}
	return losses
}

// stuck explains what is not in order in the end: what the steps touched, and pods that are not in order and were, or would be without
// the change.
func (r *run) stuck(without *run) []explain.Explanation {
	refs := slices.Clone(r.touched)
	for _, pod := range r.Pods.List() {
		refs = append(refs, api.RefTo(pod))
	}
	slices.SortFunc(refs, func(a, b api.Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	now := r.Explainer()
	brief, then := now.Brief(), without.Explainer().Brief()
	var stuck []explain.Explanation
	for _, ref := range slices.Compact(refs) {
		switch ref.Kind {
		case api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment:
		default:
			continue
		}
		x, err := brief.Object(ref)
		if err != nil || x.Changes.When == explain.Settled {
			continue // it is gone, or in order
		}
		before, err := then.Object(ref)
		if err == nil && before.Because == x.Because && before.Phase == x.Phase {
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

// emptyOf is an object of a kind that has nothing but its name; a pod for a kind that cannot be named.
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
