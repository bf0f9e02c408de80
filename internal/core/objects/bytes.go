package objects

import "k8s.io/apimachinery/pkg/api/resource"

// Bytes is a number of bytes as the API server has it: written in powers of two where that can be (XPROV-030), and read back. Only so is
// what is not a multiple of 1024, 1500000000, the same 1500M before and after any other request.
func Bytes(n int64) resource.Quantity {
	return resource.MustParse(resource.NewQuantity(n, resource.BinarySI).String())
}
