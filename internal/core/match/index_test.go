package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/internal/core/objects"
)

// walk answers as Match does, in the words of the rules: group after group, volume after volume.
func walk(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, opts Options) *corev1.PersistentVolume {
	selector := labels.Everything()
	if claim.Spec.Selector != nil {
		selector, _ = metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	}
	// MATCH-001, MATCH-002, MATCH-022
	groups := map[string][]*corev1.PersistentVolume{}
	for _, v := range volumes {
		var key []string
		complete := true
		for _, m := range modeOrder {
			if slices.Contains(v.Spec.AccessModes, m.mode) {
				key = append(key, m.key)
			}
		}
		for _, mode := range claim.Spec.AccessModes {
			known := slices.ContainsFunc(modeOrder[:], func(m struct {
				mode corev1.PersistentVolumeAccessMode
				key  string
			}) bool {
				return m.mode == mode
			})
			complete = complete && known && slices.Contains(v.Spec.AccessModes, mode)
		}
		switch {
		case opts.Node != nil:
			groups[""] = append(groups[""], v)
		case complete:
			sortKey := fmt.Sprint(len(key), strings.Join(key, ","))
			groups[sortKey] = append(groups[sortKey], v)
		}
	}
	// MATCH-003
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		group := groups[key]
		slices.SortFunc(group, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) }) // MATCH-004
		var best *corev1.PersistentVolume
		for _, v := range group {
			capacity, request := v.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
			reachable := opts.Node == nil || Reaches(v, opts.Node)
			if opts.Exclude[v.Name] || v.Spec.ClaimRef != nil && !objects.IsMine(v, claim) || capacity.Cmp(request) < 0 ||
				objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(v.Spec.VolumeMode) ||
				objects.ValueOf(claim.Spec.VolumeAttributesClassName) != objects.ValueOf(v.Spec.VolumeAttributesClassName) ||
				v.DeletionTimestamp != nil {
				continue
			}
			if objects.IsMine(v, claim) {
				if !reachable {
					return nil
				}
				return v
			}
			if opts.Delayed && opts.Node == nil || v.Status.Phase != corev1.VolumeAvailable || !selector.Matches(labels.Set(v.Labels)) ||
				objects.ClassOf(claim) != objects.ClassOfVolume(v) || !reachable || opts.Node != nil && !hasModes(v, claim) {
				continue
			}
			if best == nil {
				best = v
				continue
			}
			if smallest := best.Spec.Capacity[corev1.ResourceStorage]; capacity.Cmp(smallest) < 0 {
				best = v
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// quantities are sizes that differ little, or exceed an integer.
var quantities = slices.Concat(
	parseAll("0", "1", "999m", "1000m", "1001m", "1500u", "1.5", "2", "1k", "1Ki", "1024", "1023999m", "1Gi", "1073741824",
		"1073741824001u", "1G",
		"9223372036854775807", "9223372036854775806", "9223372036854775806500m", "9223372036854775807001m", "7E", "8Ei", "9E", "10E", "20E",
		"20000P", "-1", "-1500m", "-1.5", "-2"),
	[]resource.Quantity{
		*resource.NewMilliQuantity(1000, resource.DecimalSI), *resource.NewScaledQuantity(2, resource.Peta),
		inDecimal("1"), inDecimal("1.5"), inDecimal("-1.5"), inDecimal("20E"), inDecimal("9223372036854775807"),
	},
)

func parseAll(texts ...string) (parsed []resource.Quantity) {
	for _, text := range texts {
		parsed = append(parsed, resource.MustParse(text))
	}
	return parsed
}

// inDecimal is the quantity in the representation for numbers of any length.
func inDecimal(text string) resource.Quantity {
	q := resource.MustParse(text)
	q.ToDec()
	return q
}

var (
	someModes  = []string{"", "RWO", "ROX", "RWX", "RWOP", "RWO,ROX", "RWX,RWO", "RWO,RWO", "RWO,ROX,RWX", "RWO,Odd", "RWO,ROX,RWX,RWOP"}
	someClaims = []string{"data", "log"}
	someUIDs   = []types.UID{"u1", "u2", ""}
)

// drawVolume makes a volume that often is free, Available and plain, so that matches happen.
var someSelectors = []*metav1.LabelSelector{nil, nil, {}, &tierOne,
	{MatchLabels: map[string]string{"tier": "two", "rack": "r1"}},
	{MatchLabels: map[string]string{"rack": "r9"}},
	{MatchLabels: map[string]string{"tier": "one"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"r1"}}}},
	{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{"r2"}}}},
	{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{"r1", "r3"}}}},
	{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpDoesNotExist}}},
}

func drawVolume(t *rapid.T, name string) *corev1.PersistentVolume {
	often := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) > 0 }
	v := pv(name, "1Gi", pvModes(rapid.SampledFrom(someModes).Draw(t, "modes")))
	v.Spec.Capacity[corev1.ResourceStorage] = rapid.SampledFrom(quantities).Draw(t, "capacity")
	if !often("plain") {
		v.Spec.VolumeMode = rapid.SampledFrom([]*corev1.PersistentVolumeMode{nil, &fs, &block}).Draw(t, "volumeMode")
		v.Spec.VolumeAttributesClassName = rapid.SampledFrom([]*string{nil, &empty, &gold}).Draw(t, "vac")
		v.Spec.StorageClassName = rapid.SampledFrom([]string{"", "fast"}).Draw(t, "class")
		v.Status.Phase = rapid.SampledFrom([]corev1.PersistentVolumePhase{"Available", "Pending", "Bound", "Released"}).Draw(t, "phase")
		if !often("capacity given") {
			noCapacity(v)
		}
		if !often("alive") {
			terminating(v)
		}
		if !often("reachable") {
			pvZone(rapid.SampledFrom([]string{"z1", "z2"}).Draw(t, "zone"))(v)
		}
	}
	if !often("free") {
		pvRef(rapid.SampledFrom(someClaims).Draw(t, "claimRef"), rapid.SampledFrom(someUIDs).Draw(t, "claimRef uid"))(v)
	}
	pvLabel("tier", rapid.SampledFrom([]string{"one", "two"}).Draw(t, "tier"))(v)
	if often("rack?") {
		pvLabel("rack", rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "rack"))(v)
	}
	return v
}

func drawClaim(t *rapid.T) *corev1.PersistentVolumeClaim {
	c := pvc("1Gi", pvcModes(rapid.SampledFrom(someModes).Draw(t, "claim modes")))
	c.Name = rapid.SampledFrom(someClaims).Draw(t, "claim")
	c.UID = rapid.SampledFrom(someUIDs).Draw(t, "claim uid")
	c.Spec.Resources.Requests[corev1.ResourceStorage] = rapid.SampledFrom(quantities).Draw(t, "request")
	c.Spec.VolumeMode = rapid.SampledFrom([]*corev1.PersistentVolumeMode{nil, &fs, &block}).Draw(t, "claim volumeMode")
	c.Spec.VolumeAttributesClassName = rapid.SampledFrom([]*string{nil, nil, &empty, &gold}).Draw(t, "claim vac")
	c.Spec.StorageClassName = rapid.SampledFrom([]*string{nil, &empty, new("fast")}).Draw(t, "claim class")
	c.Spec.Selector = rapid.SampledFrom(someSelectors).Draw(t, "selector")
	return c
}

// Over any history of changes, Index answers as Match over the same volumes, Match as the rules say word for word, and each
// volume that was not picked has one rejection.
func TestIndexAnswersAsMatch(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "z1"}}}
	rapid.Check(t, func(t *rapid.T) {
		index, model := NewIndex(), map[string]*corev1.PersistentVolume{}
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			name := fmt.Sprint("pv", rapid.IntRange(0, 15).Draw(t, "name"))
			if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
				index.DeleteVolume(name)
				delete(model, name)
			} else {
				v := drawVolume(t, name)
				index.PutVolume(v)
				model[name] = v
			}
			vs := slices.Collect(maps.Values(model))
			claim, delayed := drawClaim(t), rapid.Bool().Draw(t, "delayed")

			d := Best(claim, vs, Options{Delayed: delayed, Explain: true})
			if want := walk(claim, vs, Options{Delayed: delayed}); d.Volume != want {
				t.Fatalf("Match = %q by %s, want %q", nameOf(d.Volume), d.Rule, nameOf(want))
			}
			checkRejections(t, d, vs)
			got, rule, err := index.Match(claim, delayed)
			if got != d.Volume || rule != d.Rule || err != nil {
				t.Fatalf("Index.Match = %q by %s, %v, want %q by %s", nameOf(got), rule, err, nameOf(d.Volume), d.Rule)
			}

			opts := Options{Delayed: delayed, Node: node, Exclude: map[string]bool{"pv0": true, "pv7": true}, Explain: true}
			d = Best(claim, vs, opts)
			if want := walk(claim, vs, opts); d.Volume != want {
				t.Fatalf("Match on a node = %q by %s, want %q", nameOf(d.Volume), d.Rule, nameOf(want))
			}
			checkRejections(t, d, vs)
		}
		checkContents(t, index, model)
	})
}

func checkRejections(t *rapid.T, d Decision, vs []*corev1.PersistentVolume) {
	rejected := map[string]int{}
	for _, r := range d.Rejections {
		rejected[r.Volume]++
		if r.Rule == "" || r.Got == "" {
			t.Fatalf("incomplete rejection %+v", r)
		}
	}
	for _, v := range vs {
		want := 1
		if v == d.Volume {
			want = 0
		}
		if rejected[v.Name] != want {
			t.Fatalf("%d rejections of %s, want %d", rejected[v.Name], v.Name, want)
		}
	}
	if want := len(vs) - min(1, len(nameOf(d.Volume))); len(d.Rejections) != want {
		t.Fatalf("%d rejections, want %d", len(d.Rejections), want)
	}
}

// checkContents checks every lookup, and that nothing remains of deleted volumes.
func checkContents(t *rapid.T, index *Index, model map[string]*corev1.PersistentVolume) {
	names := slices.Sorted(maps.Keys(model))
	at, free := 0, 0
	for v := range index.All() {
		if at == len(names) || v != model[names[at]] {
			t.Fatalf("All()[%d] = %s, want %v", at, v.Name, names)
		}
		at++
	}
	if at != len(names) || index.Len() != len(names) {
		t.Fatalf("All yields %d volumes, Len = %d, want %d", at, index.Len(), len(names))
	}
	claimed := map[string][]*corev1.PersistentVolume{}
	for _, name := range names {
		v, ok := index.Get(name)
		if v != model[name] || !ok {
			t.Fatalf("Get(%q) = %v, %v", name, v, ok)
		}
		if ref := v.Spec.ClaimRef; ref != nil {
			key := ref.Namespace + "/" + ref.Name
			claimed[key] = append(claimed[key], v)
		} else if v.Status.Phase == corev1.VolumeAvailable && v.DeletionTimestamp == nil {
			free++
		}
	}
	for _, name := range someClaims {
		if got := pointing(index, name); !slices.Equal(got, claimed["default/"+name]) {
			t.Fatalf("volumes that point to %q = %v, want %v", name, got, claimed["default/"+name])
		}
	}
	if index.claims.Len() != len(claimed) {
		t.Fatalf("volumes filed under %d claims, want %d", index.claims.Len(), len(claimed))
	}
	for key, s := range index.buckets {
		count := 0
		for _, group := range s.groups {
			count += group.volumes.Len()
			checkLabels(t, group)
		}
		if count == 0 || count != s.count {
			t.Fatalf("bucket %v counts %d volumes and has %d", key, s.count, count)
		}
		free -= count
	}
	if free != 0 {
		t.Fatalf("%d free volumes are on no bucket", free)
	}
}

// pointing lists, by name, the volumes whose claimRef names a claim.
func pointing(index *Index, claim string) []*corev1.PersistentVolume {
	var volumes []*corev1.PersistentVolume
	if c := index.claims.Get("default/" + claim); c != nil {
		for e := range c.Pointing() {
			volumes = append(volumes, e.PV)
		}
	}
	slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	return volumes
}

// checkLabels compares what a group keeps by label with the labels.
func checkLabels(t *rapid.T, s *group) {
	for key, by := range s.byLabel {
		want := map[string]int{}
		s.volumes.Scan(func(i item) bool {
			if value, ok := i.entry.PV.Labels[key]; ok {
				want[value]++
			}
			return true
		})
		got := map[string]int{}
		for value, volumes := range by {
			got[value] = volumes.Len()
		}
		if !maps.Equal(got, want) {
			t.Fatalf("by label %s there are %v, want %v", key, got, want)
		}
	}
}

// sizeOf orders as the quantities do.
func TestSizeOf(t *testing.T) {
	for _, a := range quantities {
		for _, b := range quantities {
			sizeA, exactA := sizeOf(a)
			sizeB, exactB := sizeOf(b)
			order := a.DeepCopy()
			want := order.Cmp(b)
			switch {
			case sizeA < sizeB:
				assert.Equal(t, -1, want, "%v and %v", a.String(), b.String())
			case sizeA > sizeB:
				assert.Equal(t, 1, want, "%v and %v", a.String(), b.String())
			case exactA && exactB:
				assert.Zero(t, want, "%v and %v", a.String(), b.String())
			}
		}
	}
}

// MATCH-024: a bound volume is not free; an unbound one is free again.
func TestIndexFollowsChanges(t *testing.T) {
	index := NewIndex()
	index.PutVolume(pv("a", "1Gi"))
	index.PutVolume(pv("b", "2Gi"))
	other := pvc("1Gi")
	other.Name, other.UID = "log", "u2"

	got, _, err := index.Match(other, false)
	require.NoError(t, err)
	assert.Equal(t, "a", nameOf(got))

	index.PutVolume(pv("a", "1Gi", pvRef("data", "u1")))
	got, _, err = index.Match(other, false)
	require.NoError(t, err)
	assert.Equal(t, "b", nameOf(got), "a has just been bound")
	assert.Equal(t, []string{"a"}, names(pointing(index, "data")))

	index.PutVolume(pv("a", "1Gi"))
	got, _, err = index.Match(other, false)
	require.NoError(t, err)
	assert.Equal(t, "a", nameOf(got))
	assert.Empty(t, pointing(index, "data"))

	index.DeleteVolume("a")
	index.DeleteVolume("no-such-volume")
	got, _, err = index.Match(other, false)
	require.NoError(t, err)
	assert.Equal(t, "b", nameOf(got))
	_, ok := index.Get("a")
	assert.False(t, ok)
}

// All may be left early.
func TestIndexAllStops(t *testing.T) {
	index := NewIndex()
	index.PutVolume(pv("b", "1Gi"))
	index.PutVolume(pv("a", "1Gi"))
	for v := range index.All() {
		assert.Equal(t, "a", v.Name)
		break
	}
}

// A match does not allocate, however many volumes there are.
func TestIndexMatchAllocatesNothing(t *testing.T) {
	index := NewIndex()
	for i := range 1000 {
		index.PutVolume(pv(fmt.Sprintf("pv-%04d", i), fmt.Sprintf("%dGi", 1+i%50), pvModes([]string{"RWO", "RWO,ROX"}[i%2])))
	}
	index.PutVolume(pv("reserved", "5Gi", pvRef("log", "")))
	log := pvc("5Gi")
	log.Name = "log"
	for _, claim := range []*corev1.PersistentVolumeClaim{pvc("7Gi"), pvc("7Gi", pvcModes("ROX")), pvc("51Gi"), log} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if _, _, err := index.Match(claim, false); err != nil {
				t.Error(err)
			}
		}))
	}
}

func names(vs []*corev1.PersistentVolume) (names []string) {
	for _, v := range vs {
		names = append(names, v.Name)
	}
	return names
}
