package reclaim

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// setTopology sets the topology requirements of a request (XPROV-031). The state is that after an error.
func (c *provisioner) setTopology(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	req *storage.CreateRequest) (provisionState, error) {
	requisite, selected, err := c.requisite(class, req.Node)
	switch {
	case apierrors.IsNotFound(err):
		// XPROV-031: if the selected node is gone, the scheduler has to choose again.
		return reschedule, err
	case err != nil:
		return noChange, fmt.Errorf("error generating accessibility requirements: %w", err)
	}
	slices.SortFunc(requisite, func(a, b storage.Segment) int { return strings.Compare(segmentText(a), segmentText(b)) })
	requisite = slices.CompactFunc(requisite, func(a, b storage.Segment) bool { return maps.Equal(a, b) })
	first := 0
	if req.Node == "" {
		first = spread(claim.Name, len(requisite))
	} else if first = slices.IndexFunc(requisite, func(s storage.Segment) bool { return within(s, selected) }); first < 0 {
		return noChange, fmt.Errorf("error generating accessibility requirements: topology %s from selected node %q is not in requisite",
			segmentText(selected), req.Node)
	}
	req.Requisite = requisite
	// The preferred segment comes first, the others follow in order.
	req.Preferred = slices.Concat(requisite[first:], requisite[:first])
	return finished, nil
}

// requisite returns the allowed segments, and that of the selected node if there is one.
func (c *provisioner) requisite(class *storagev1.StorageClass, node string) (segments []storage.Segment, selected storage.Segment,
	err error) {
	keys, err := c.topologyKeys(node)
	if err != nil {
		return nil, nil, err
	}
	if node != "" {
		if len(keys) == 0 {
			return nil, nil, fmt.Errorf("no topology key found for node %s", node)
		}
		obj, ok := c.nodes.Get(node)
		if !ok {
			return nil, nil, apierrors.NewNotFound(corev1.Resource("node"), node)
		}
		if selected = segmentOf(obj, keys); selected == nil {
			return nil, nil, fmt.Errorf("topology labels from selected node %s do not match topology keys from CSINode %v", node, keys)
		}
	}
	if len(class.AllowedTopologies) > 0 {
		segments = flatten(class.AllowedTopologies)
	} else if len(keys) > 0 {
		for _, obj := range c.nodes.List() {
			if segment := segmentOf(obj, keys); segment != nil {
				segments = append(segments, segment)
			}
		}
	}
	if len(segments) == 0 {
		return nil, nil, fmt.Errorf("no available topology found")
	}
	return segments, selected, nil
}

// topologyKeys returns the labels that the driver has registered on the node; without a node, those of the first node with any (SIM:
// upstream chooses one at random).
func (c *provisioner) topologyKeys(node string) ([]string, error) {
	if node != "" {
		obj, ok := c.csiNodes.Get(node)
		if !ok {
			return nil, apierrors.NewNotFound(storagev1.Resource("csinode"), node)
		}
		return keysOf(obj, c.name), nil
	}
	for _, obj := range c.csiNodes.List() {
		if keys := keysOf(obj, c.name); len(keys) > 0 {
			return keys, nil
		}
	}
	return nil, nil
}

func keysOf(node *storagev1.CSINode, driver string) []string {
	for _, d := range node.Spec.Drivers {
		if d.Name == driver {
			return slices.Sorted(slices.Values(d.TopologyKeys))
		}
	}
	return nil
}

// segmentOf returns the values of the keys on a node; nil if it lacks one.
func segmentOf(node *corev1.Node, keys []string) storage.Segment {
	segment := storage.Segment{}
	for _, key := range keys {
		value, ok := node.Labels[key]
		if !ok {
			return nil
		}
		segment[key] = value
	}
	return segment
}

// flatten returns the segments of allowed topologies: all combinations of the values of each term.
func flatten(terms []corev1.TopologySelectorTerm) []storage.Segment {
	var all []storage.Segment
	for _, term := range terms {
		segments := []storage.Segment{{}}
		for _, expression := range term.MatchLabelExpressions {
			var next []storage.Segment
			for _, segment := range segments {
				for _, value := range expression.Values {
					s := maps.Clone(segment)
					s[expression.Key] = value
					next = append(next, s)
				}
			}
			segments = next
		}
		for _, segment := range segments {
			if len(segment) > 0 {
				all = append(all, segment)
			}
		}
	}
	return all
}

// within reports whether b has all keys and values of a.
func within(a, b storage.Segment) bool {
	for key, value := range a {
		if b[key] != value {
			return false
		}
	}
	return true
}

func segmentText(segment storage.Segment) string {
	var parts []string
	for _, key := range objects.SortedKeys(segment) {
		parts = append(parts, key+"="+segment[key])
	}
	return strings.Join(parts, ",")
}

// spread returns the index of the preferred of n segments for a claim without a node. Claims of a StatefulSet, which end in a number, use
// the segments in turn.
func spread(claim string, n int) int {
	base, index := claim, uint64(0)
	if dash := strings.LastIndexByte(claim, '-'); dash >= 0 {
		if i, err := strconv.ParseUint(claim[dash+1:], 10, 32); err == nil {
			base, index = claim[:dash], i
		}
	}
	h := fnv.New32()
	h.Write([]byte(base))
	return int((uint64(h.Sum32()) + index) % uint64(n))
}

// affinityOf returns the node affinity for the nodes of the segments; nil for none.
func affinityOf(segments []storage.Segment) *corev1.VolumeNodeAffinity {
	var terms []corev1.NodeSelectorTerm
	for _, segment := range segments {
		var term corev1.NodeSelectorTerm
		for _, key := range objects.SortedKeys(segment) {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{segment[key]},
			})
		}
		if len(term.MatchExpressions) > 0 {
			terms = append(terms, term)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}
