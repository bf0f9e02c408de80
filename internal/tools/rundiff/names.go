package rundiff

import (
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// names translates names in the second run to names in the first.
type names struct {
	uids        map[string]string
	attachments map[string]string
}

var (
	uidForm        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	attachmentForm = regexp.MustCompile(`csi-[0-9a-f]{64}`)
)

// translate replaces names of the second run in a text by those of the first.
func (n *names) translate(text string) string {
	if len(n.uids) > 0 {
		text = uidForm.ReplaceAllStringFunc(text, func(uid string) string { return orSame(n.uids, uid) })
	}
	if len(n.attachments) > 0 {
		text = attachmentForm.ReplaceAllStringFunc(text, func(name string) string { return orSame(n.attachments, name) })
	}
	return text
}

func orSame(translations map[string]string, name string) string {
	if other, ok := translations[name]; ok {
		return other
	}
	return name
}

// align builds the translation. Objects with equal uids match; of the rest, the first object of a name matches the first of that name in
// the other run, the second the second, and so on.
func align(a, b Run) *names {
	n := &names{uids: map[string]string{}, attachments: map[string]string{}}
	seenA, seenB := sight(a), sight(b)
	for _, ref := range slices.SortedFunc(maps.Keys(seenA.uids), byKind) {
		mine := seenA.uids[ref]
		theirs := seenB.uids[ref]
		restA := slices.DeleteFunc(slices.Clone(mine), func(uid string) bool { return slices.Contains(theirs, uid) })
		restB := slices.DeleteFunc(slices.Clone(theirs), func(uid string) bool { return slices.Contains(mine, uid) })
		for i := range min(len(restA), len(restB)) {
			n.uids[restB[i]] = restA[i]
		}
	}
	byPurpose := map[attachment]string{}
	for _, name := range slices.Sorted(maps.Keys(seenA.attachments)) {
		byPurpose[seenA.attachments[name]] = name
	}
	for name, purpose := range seenB.attachments {
		purpose.volume = n.translate(purpose.volume)
		if other, ok := byPurpose[purpose]; ok && other != name {
			n.attachments[name] = other
		}
	}
	return n
}

// attachment is the volume and the node of a VolumeAttachment.
type attachment struct{ attacher, volume, node string }

// objectsSeen are the objects that appear in a run.
type objectsSeen struct {
	uids        map[api.Ref][]string  // in the order of their first appearance
	attachments map[string]attachment // those whose name is a hash
}

func sight(run Run) objectsSeen {
	s := objectsSeen{uids: map[api.Ref][]string{}, attachments: map[string]attachment{}}
	if run.Trace != nil {
		for e := range run.Trace.Entries() {
			if e.Type == trace.Write && e.New != nil && e.Old == nil {
				s.see(e.New)
			}
		}
	}
	for _, obj := range run.Objects {
		s.see(obj)
	}
	// Other objects may still name a deleted one.
	for _, obj := range run.Objects {
		if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.ClaimRef != nil {
			claim := pv.Spec.ClaimRef
			s.add(api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(claim.Namespace, claim.Name)}, string(claim.UID))
		}
		for _, owner := range obj.GetOwnerReferences() {
			key := owner.Name
			if obj.GetNamespace() != "" {
				key = api.Key(obj.GetNamespace(), owner.Name)
			}
			s.add(api.Ref{Kind: api.Kind(owner.Kind), Key: key}, string(owner.UID))
		}
	}
	return s
}

func (s objectsSeen) see(obj api.Object) {
	if _, ok := obj.(*corev1.Event); ok {
		return
	}
	s.add(api.RefTo(obj), string(obj.GetUID()))
	if va, ok := obj.(*storagev1.VolumeAttachment); ok && attachmentForm.MatchString(va.Name) && va.Spec.Source.PersistentVolumeName != nil {
		s.attachments[va.Name] = attachment{va.Spec.Attacher, *va.Spec.Source.PersistentVolumeName, va.Spec.NodeName}
	}
}

func (s objectsSeen) add(ref api.Ref, uid string) {
	if uid != "" && !slices.Contains(s.uids[ref], uid) {
		s.uids[ref] = append(s.uids[ref], uid)
	}
}
