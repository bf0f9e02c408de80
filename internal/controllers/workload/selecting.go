package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// Selecting calls queue with the keys of the owners that may adopt an object without a controller: those in its namespace whose selectors match it.
// selectorOf returns the selector of an owner.
func Selecting(owners []*plain.Object, orphan metav1.Object, selectorOf func(*plain.Object) *metav1.LabelSelector, queue func(key string)) {
	for _, owner := range owners {
		if owner.Namespace != orphan.GetNamespace() {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(orphan.GetLabels())) {
			queue(api.KeyOf(owner))
		}
	}
}
