package match

import (
	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// byValue holds the volumes of a group by the value of one label, in the order of the group.
type byValue map[string]*btree.BTreeG[item]

// put adds a volume with these labels.
func (g *group) put(i item, with map[string]string) {
	g.volumes.Set(i)
	for key, by := range g.byLabel {
		if value, ok := with[key]; ok {
			by.put(value, i)
		}
	}
}

// take removes a volume that was put with these labels.
func (g *group) take(i item, with map[string]string) {
	g.volumes.Delete(i)
	for key, by := range g.byLabel {
		if value, ok := with[key]; ok {
			by.take(value, i)
		}
	}
}

// relabel replaces the labels of a volume.
func (g *group) relabel(i item, from, to map[string]string) {
	for key, by := range g.byLabel {
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

func (by byValue) put(value string, i item) {
	if by[value] == nil {
		by[value] = newVolumes()
	}
	by[value].Set(i)
}

func (by byValue) take(value string, i item) {
	by[value].Delete(i)
	if by[value].Len() == 0 {
		delete(by, value)
	}
}

// search returns the smallest known part of the group that has all volumes which the selector matches; nil if there are none. A label
// whose value a selector asks for is indexed from then on.
func (g *group) search(selector labels.Selector) *btree.BTreeG[item] {
	best := g.volumes
	if selector == nil {
		return best
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		values := r.ValuesUnsorted()
		if len(values) != 1 || r.Operator() != selection.In && r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals {
			continue
		}
		part := g.indexLabel(r.Key())[values[0]]
		if part == nil {
			return nil
		}
		if part.Len() < best.Len() {
			best = part
		}
	}
	return best
}

// indexLabel indexes the volumes by the value of a label, unless they are already.
func (g *group) indexLabel(key string) byValue {
	if by, ok := g.byLabel[key]; ok {
		return by
	}
	by := byValue{}
	g.volumes.Scan(func(i item) bool {
		if value, ok := i.entry.PV.Labels[key]; ok {
			by.put(value, i)
		}
		return true
	})
	if g.byLabel == nil {
		g.byLabel = map[string]byValue{}
	}
	g.byLabel[key] = by
	return by
}

func newVolumes() *btree.BTreeG[item] {
	return btree.NewBTreeGOptions(item.before, btree.Options{NoLocks: true, Degree: groupDegree})
}
