package match

import (
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// modeSet is a set of access modes: bit i stands for modeOrder[i]. It names the group of a volume (MATCH-001).
type modeSet uint8

// modeOrder is the order of access modes in the key of a group (MATCH-001).
var modeOrder = [...]struct {
	mode corev1.PersistentVolumeAccessMode
	key  string
}{
	{corev1.ReadWriteOnce, "RWO"},
	{corev1.ReadOnlyMany, "ROX"},
	{corev1.ReadWriteMany, "RWX"},
	{corev1.ReadWriteOncePod, "RWOP"},
}

const modeSets = 1 << len(modeOrder)

var (
	modeKeys  = allModeKeys()
	modeRanks = allModeRanks()
)

// hasModes reports whether the volume has every access mode of the claim. Modes are compared as they are spelled, unknown ones too.
func hasModes(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	for _, mode := range claim.Spec.AccessModes {
		if !slices.Contains(pv.Spec.AccessModes, mode) {
			return false
		}
	}
	return true
}

// modesOf returns the set of the known access modes in the list. unknown reports whether the list has others as well.
func modesOf(modes []corev1.PersistentVolumeAccessMode) (set modeSet, unknown bool) {
	for _, mode := range modes {
		switch mode {
		case corev1.ReadWriteOnce:
			set |= 1
		case corev1.ReadOnlyMany:
			set |= 2
		case corev1.ReadWriteMany:
			set |= 4
		case corev1.ReadWriteOncePod:
			set |= 8
		default:
			unknown = true
		}
	}
	return set, unknown
}

// groupOf returns the group of the volume. MATCH-001: duplicates and unknown modes vanish from its key.
func groupOf(pv *corev1.PersistentVolume) modeSet {
	set, _ := modesOf(pv.Spec.AccessModes)
	return set
}

// containsAll reports whether every mode of other is in the set.
func (s modeSet) containsAll(other modeSet) bool { return s&other == other }

// rank returns the position of the group in the order in which groups are searched (MATCH-002), from 0.
func (s modeSet) rank() int { return int(modeRanks[s]) }

// String returns the key of the group, such as "RWO,ROX"; "none" for the empty set.
func (s modeSet) String() string {
	if s == 0 {
		return "none"
	}
	return modeKeys[s]
}

func allModeKeys() (keys [modeSets]string) {
	for set := range keys {
		var names []string
		for i, m := range modeOrder {
			if set&(1<<i) != 0 {
				names = append(names, m.key)
			}
		}
		keys[set] = strings.Join(names, ",")
	}
	return keys
}

func allModeRanks() (ranks [modeSets]uint8) {
	sets := make([]int, modeSets)
	for set := range sets {
		sets[set] = set
	}
	keys := allModeKeys()
	// MATCH-002: fewest modes first, groups of equal size by key.
	slices.SortFunc(sets, func(a, b int) int {
		if order := bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)); order != 0 {
			return order
		}
		return strings.Compare(keys[a], keys[b])
	})
	for rank, set := range sets {
		ranks[set] = uint8(rank)
	}
	return ranks
}
