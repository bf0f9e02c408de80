package quota

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Plus returns a and b added up.
func Plus(a, b corev1.ResourceList) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{a, b} {
		for name, q := range list {
			total := sum[name].DeepCopy()
			if _, ok := sum[name]; ok {
				total.Add(q)
			} else {
				total = q.DeepCopy()
			}
			sum[name] = total
		}
	}
	return sum
}

// minus returns what a has more than b, at least zero.
func minus(a, b corev1.ResourceList) corev1.ResourceList {
	rest := corev1.ResourceList{}
	for name, q := range a {
		q = q.DeepCopy()
		if q.Sub(b[name]); q.Sign() < 0 {
			q = *resource.NewQuantity(0, q.Format)
		}
		rest[name] = q
	}
	return rest
}

// most returns the greater quantity of each resource.
func most(a, b corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(a))
	maps.Copy(out, a)
	for name, q := range b {
		if have, ok := out[name]; !ok || q.Cmp(have) > 0 {
			out[name] = q
		}
	}
	return out
}

func mask(list corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range names {
		if q, ok := list[name]; ok {
			out[name] = q
		}
	}
	return out
}

// Equal reports whether two lists have the same names with equal quantities.
func Equal(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(p, q resource.Quantity) bool { return p.Cmp(q) == 0 })
}
