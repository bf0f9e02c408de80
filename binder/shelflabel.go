package binder

import (
	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// labelled holds the volumes of a slot by the value of one label, in the order of the slot.
type labelled map[string]*btree.BTreeG[item]

// put adds a volume with these labels.
func (s *slot) put(i item, with map[string]string) {
	s.volumes.Set(i)
	for key, by := range s.byLabel {
		if value, ok := with[key]; ok {
			by.put(value, i)
		}
	}
}

// take removes a volume that was put with these labels.
func (s *slot) take(i item, with map[string]string) {
	s.volumes.Delete(i)
	for key, by := range s.byLabel {
		if value, ok := with[key]; ok {
			by.take(value, i)
		}
	}
}

// relabel gives a volume other labels.
func (s *slot) relabel(i item, from, to map[string]string) {
	for key, by := range s.byLabel {
		was, had := from[key]
		is, has := to[key]
		if had == has && was == is {
			continue
		}
		if had {
			by.take(was, i)
		}
		if has {
			by.put(is, i)
		}
	}
}

func (by labelled) put(value string, i item) {
	if by[value] == nil {
		by[value] = newVolumes()
	}
	by[value].Set(i)
}

func (by labelled) take(value string, i item) {
	by[value].Delete(i)
	if by[value].Len() == 0 {
		delete(by, value)
	}
}

// among is where to look for volumes that the selector matches: a part of the slot that has all of them, and the smallest that is at
// hand; nil is empty. A label whose value a selector asks for is followed from then on.
func (s *slot) among(selector labels.Selector) *btree.BTreeG[item] {
	best := s.volumes
	if selector == nil {
		return best
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		values := r.ValuesUnsorted()
		if len(values) != 1 || r.Operator() != selection.In && r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals {
			continue
		}
		part := s.follow(r.Key())[values[0]]
		if part == nil {
			return nil
		}
		if part.Len() < best.Len() {
			best = part
		}
	}
	return best
}

// follow begins to keep the volumes by the value of a label, unless that is done already.
func (s *slot) follow(key string) labelled {
	if by, ok := s.byLabel[key]; ok {
		return by
	}
	by := labelled{}
	s.volumes.Scan(func(i item) bool {
		if value, ok := i.entry.pv.Labels[key]; ok {
			by.put(value, i)
		}
		return true
	})
	if s.byLabel == nil {
		s.byLabel = map[string]labelled{}
	}
	s.byLabel[key] = by
	return by
}

func newVolumes() *btree.BTreeG[item] {
	return btree.NewBTreeGOptions(item.before, btree.Options{NoLocks: true, Degree: slotDegree})
}
