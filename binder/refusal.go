package binder

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// Refusal says why a volume was not picked.
type Refusal struct {
	// Volume is the name of the volume.
	Volume string
	// Rule is the first rule that refused it: MATCH-002 for a group that lacks an access mode, MATCH-003 for a group that was
	// not reached, MATCH-010 to MATCH-019 for a predicate, MATCH-022 for what only the scheduler checks, MATCH-015 and
	// MATCH-020 for losing to another volume of the group.
	Rule string
	// Want is what the rule asks for and Got what it found, for people to read.
	Want, Got string
}

// String is one line for people to read: `pv-a: got capacity 5Gi, want capacity of at least 10Gi (MATCH-011)`.
func (r Refusal) String() string {
	return fmt.Sprintf("%s: got %s, want %s (%s)", r.Volume, r.Got, r.Want, r.Rule)
}

// refusals explains every volume but the winner.
func (q *query) refusals(volumes []*corev1.PersistentVolume, best candidate) []Refusal {
	type placed struct {
		pv   *corev1.PersistentVolume
		rank int
	}
	order := make([]placed, 0, len(volumes))
	for _, pv := range volumes {
		rank, ok := q.rank(pv)
		if !ok {
			rank += math.MaxUint8 // after all groups that are searched
		}
		order = append(order, placed{pv: pv, rank: rank})
	}
	slices.SortFunc(order, func(a, b placed) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.pv.Name, b.pv.Name)
	})
	refusals := make([]Refusal, 0, len(order))
	q.me = describeClaim(q.claim.Namespace, q.claim.Name, q.claim.UID)
	q.free = "no claimRef, or " + q.me
	for _, p := range order {
		if p.pv == best.pv && best.refusal == "" {
			continue
		}
		rule := q.refusalOf(p.pv, best)
		want, got := q.wantGot(rule, p.pv, best)
		refusals = append(refusals, Refusal{Volume: p.pv.Name, Rule: rule, Want: want, Got: got})
	}
	return refusals
}

// refusalOf is the first rule that kept the search which best ended from picking the volume.
func (q *query) refusalOf(pv *corev1.PersistentVolume, best candidate) string {
	rank, ok := q.rank(pv)
	switch {
	case !ok:
		return "MATCH-002"
	case best.pv != nil && rank > best.rank:
		return "MATCH-003"
	case best.mine && rank == best.rank && pv.Name > best.pv.Name:
		return q.rule(best) // the search ended before it came to this volume
	}
	if refusal, _ := q.judge(pv); refusal != "" {
		return refusal
	}
	return q.rule(best)
}

// wantGot spells the two values that the rule compared.
func (q *query) wantGot(rule string, pv *corev1.PersistentVolume, best candidate) (want, got string) {
	switch rule {
	case "MATCH-002":
		return "access modes " + describeModes(q.claim.Spec.AccessModes), describeModes(pv.Spec.AccessModes)
	case "MATCH-003":
		return "no match in an earlier group", fmt.Sprintf("volume %q in group %v", best.pv.Name, groupOf(best.pv))
	case "MATCH-010":
		return q.free, describeClaimRef(pv)
	case "MATCH-011":
		capacity := capacityOf(pv)
		return "capacity of at least " + q.request.String(), "capacity " + capacity.String()
	case "MATCH-012":
		return "volumeMode " + string(q.mode), "volumeMode " + string(objects.VolumeModeOf(pv.Spec.VolumeMode))
	case "MATCH-013":
		return fmt.Sprintf("volumeAttributesClassName %q", q.vac),
			fmt.Sprintf("volumeAttributesClassName %q", objects.ValueOf(pv.Spec.VolumeAttributesClassName))
	case "MATCH-014":
		return "no deletionTimestamp", "deletionTimestamp " + pv.DeletionTimestamp.UTC().Format(time.RFC3339)
	case "MATCH-015":
		return "no other volume with claimRef " + q.me,
			fmt.Sprintf("volume %q", best.pv.Name)
	case "MATCH-016":
		return "claimRef " + q.me, describeClaimRef(pv)
	case "MATCH-017":
		return "phase Available", fmt.Sprintf("phase %q", pv.Status.Phase)
	case "MATCH-018":
		return fmt.Sprintf("labels that match %q", q.selector), fmt.Sprintf("labels %q", labels.Set(pv.Labels))
	case "MATCH-019":
		return fmt.Sprintf("storageClassName %q", q.class), fmt.Sprintf("storageClassName %q", ClassOfVolume(pv))
	case "MATCH-020":
		capacity, smallest := capacityOf(pv), capacityOf(best.pv)
		return fmt.Sprintf("capacity below %v, that of %q", &smallest, best.pv.Name), "capacity " + capacity.String()
	}
	return q.wantGotNode(pv, best)
}

// wantGotNode does so for MATCH-022.
func (q *query) wantGotNode(pv *corev1.PersistentVolume, best candidate) (want, got string) {
	switch {
	case best.refusal != "" && pv.Name > best.pv.Name:
		return "a search that goes on", fmt.Sprintf("volume %q, which points at the claim, out of the node's reach", best.pv.Name)
	case q.opts.Exclude[pv.Name]:
		return "a volume not chosen yet", "chosen for another claim"
	case !nodeAffinityMatches(pv, q.opts.Node):
		return fmt.Sprintf("node affinity for node %q with labels %q", q.opts.Node.Name, labels.Set(q.opts.Node.Labels)),
			"node affinity " + describeAffinity(pv)
	case !accessModesMatch(q.claim, pv):
		return "access modes " + describeModes(q.claim.Spec.AccessModes), describeModes(pv.Spec.AccessModes)
	}
	return "a search that goes on", fmt.Sprintf("volume %q, which points at the claim, out of the node's reach", best.pv.Name)
}

func describeModes(modes []corev1.PersistentVolumeAccessMode) string {
	if len(modes) == 0 {
		return "none"
	}
	names := make([]string, len(modes))
	for i, mode := range modes {
		names[i] = string(mode)
	}
	return strings.Join(names, ", ")
}

func describeClaim(namespace, name string, uid types.UID) string {
	if uid == "" {
		return namespace + "/" + name
	}
	return namespace + "/" + name + " (uid " + string(uid) + ")"
}

func describeClaimRef(pv *corev1.PersistentVolume) string {
	ref := pv.Spec.ClaimRef
	if ref == nil {
		return "no claimRef"
	}
	if ref.UID == "" {
		return "claimRef " + ref.Namespace + "/" + ref.Name
	}
	return "claimRef " + ref.Namespace + "/" + ref.Name + " (uid " + string(ref.UID) + ")"
}
