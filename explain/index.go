package explain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// index finds the objects of a snapshot by key and by reference.
type index struct {
	claims      map[string]*corev1.PersistentVolumeClaim
	volumes     map[string]*corev1.PersistentVolume
	pods        map[string]*corev1.Pod
	nodes       map[string]*corev1.Node
	classes     map[string]*storagev1.StorageClass
	attributes  map[string]*storagev1.VolumeAttributesClass
	drivers     map[string]*storagev1.CSIDriver
	csiNodes    map[string]*storagev1.CSINode
	attachments map[string]*storagev1.VolumeAttachment
	// byVolume has the attachments that name a volume, byVolumeName the keys of the claims that do, byClaim the pods that name a claim.
	byVolume     map[string][]*storagev1.VolumeAttachment
	byVolumeName map[string][]string
	byClaim      map[string][]*corev1.Pod
	// byClass has the volumes of a class, and holders the nodes whose status lists a volume as attached, in the order of the snapshot.
	byClass map[string][]*corev1.PersistentVolume
	holders map[corev1.UniqueVolumeName][]*corev1.Node
	// leaving has the pods that are being deleted and have a node.
	leaving []*corev1.Pod
	// freeing has the volumes that no claim can get now and that may become free.
	freeing []*corev1.PersistentVolume
	// scheduler evaluates pods without a node; nil before the first.
	scheduler *schedule.Evaluator
	// reserved has the keys of the claims that the claimRef of a volume names.
	reserved map[string]bool
	// searches remembers the next syncs of claims. matches has the searches for a volume, and shared the candidates, by demand.
	searches map[*corev1.PersistentVolumeClaim]search
	matches  map[demand]match.Decision
	shared   map[demand][]Candidate
	brief    bool // candidates are omitted
	// events has the Events about each object.
	events map[api.Ref][]*corev1.Event
	owned  *owned // by workloads; nil before the first is explained
	// evicted has the pods for which the scheduler evicts others, by the uids of those; nil before the first is looked for.
	evicted map[types.UID]*corev1.Pod
}

// search is the next sync of a claim, with its rejections as candidates.
type search struct {
	claimSync
	candidates []Candidate
}

func newIndex(s *snapshot.Snapshot) *index {
	ix := &index{
		claims:       byKey(s.Claims),
		volumes:      byKey(s.Volumes),
		pods:         byKey(s.Pods),
		nodes:        byKey(s.Nodes),
		classes:      byKey(s.Classes),
		attributes:   byKey(s.AttributesClasses),
		drivers:      byKey(s.Drivers),
		csiNodes:     byKey(s.CSINodes),
		attachments:  byKey(s.Attachments),
		byVolume:     map[string][]*storagev1.VolumeAttachment{},
		byVolumeName: map[string][]string{},
		byClaim:      map[string][]*corev1.Pod{},
		byClass:      map[string][]*corev1.PersistentVolume{},
		holders:      map[corev1.UniqueVolumeName][]*corev1.Node{},
		reserved:     map[string]bool{},
		searches:     map[*corev1.PersistentVolumeClaim]search{},
		matches:      map[demand]match.Decision{},
		shared:       map[demand][]Candidate{},
		events:       map[api.Ref][]*corev1.Event{},
	}
	for _, pv := range s.Volumes {
		class := objects.ClassOfVolume(pv)
		ix.byClass[class] = append(ix.byClass[class], pv)
		if ref := pv.Spec.ClaimRef; ref != nil {
			ix.reserved[api.Key(ref.Namespace, ref.Name)] = true
		}
	}
	for _, node := range s.Nodes {
		for _, attached := range node.Status.VolumesAttached {
			ix.holders[attached.Name] = append(ix.holders[attached.Name], node)
		}
	}
	for _, pv := range sorted(s.Volumes) {
		if ix.mayBeFree(pv) {
			ix.freeing = append(ix.freeing, pv)
		}
	}
	for _, va := range sorted(s.Attachments) {
		if name := va.Spec.Source.PersistentVolumeName; name != nil {
			ix.byVolume[*name] = append(ix.byVolume[*name], va)
		}
	}
	for _, claim := range sorted(s.Claims) {
		if name := claim.Spec.VolumeName; name != "" {
			ix.byVolumeName[name] = append(ix.byVolumeName[name], api.KeyOf(claim))
		}
	}
	for _, pod := range sorted(s.Pods) {
		if pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" {
			ix.leaving = append(ix.leaving, pod)
		}
		claims := objects.ClaimsOf(pod)
		for i, claim := range claims {
			if !slices.Contains(claims[:i], claim) {
				ix.byClaim[claim] = append(ix.byClaim[claim], pod)
			}
		}
	}
	for _, event := range s.Events {
		about := &event.InvolvedObject
		ref := api.Ref{Kind: api.Kind(about.Kind), Key: api.Key(about.Namespace, about.Name)}
		ix.events[ref] = append(ix.events[ref], event)
	}
	return ix
}

func byKey[T api.Object](objs []T) map[string]T {
	m := make(map[string]T, len(objs))
	for _, obj := range objs {
		m[api.KeyOf(obj)] = obj
	}
	return m
}

// sorted returns the objects in the order of their keys.
func sorted[T api.Object](objs []T) []T {
	return slices.SortedFunc(slices.Values(objs), func(a, b T) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) })
}

// lastEvent returns the newest Event about an object that match accepts; nil if there is none.
func (ix *index) lastEvent(obj api.Object, match func(*corev1.Event) bool) *corev1.Event {
	var last *corev1.Event
	for _, event := range ix.events[api.RefTo(obj)] {
		if uid := event.InvolvedObject.UID; uid != "" && uid != obj.GetUID() || !match(event) {
			continue
		}
		if last == nil || !timeOf(event).Before(timeOf(last)) {
			last = event
		}
	}
	return last
}
