package objects

import "k8s.io/apimachinery/pkg/api/resource"

// Bytes returns a number of bytes as the API server stores it: written in powers of two if possible (XPROV-030), and parsed again. The
// parsing matters for numbers that are not multiples of 1024: 1500000000 becomes 1500M, in the notation that later writes keep.
func Bytes(n int64) resource.Quantity {
	return resource.MustParse(resource.NewQuantity(n, resource.BinarySI).String())
}
