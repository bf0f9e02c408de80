package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// chains has the first record of each pod, which leads to those of its other volumes, ordered by the names of the volumes.
type chains[R any, P chained[R]] map[types.UID]*R

// chained is a record in a chain.
type chained[R any] interface {
	*R
	// volumeName is the name of the record's volume, by which the chain is ordered.
	volumeName() corev1.UniqueVolumeName
	// following is where the record keeps the next one.
	following() **R
}

// link adds a record to those of its pod.
func (c chains[R, P]) link(pod types.UID, record *R) {
	at, name := c[pod], P(record).volumeName()
	if at == nil || name < P(at).volumeName() {
		*P(record).following(), c[pod] = at, record
		return
	}
	for next := *P(at).following(); next != nil && P(next).volumeName() < name; next = *P(at).following() {
		at = next
	}
	*P(record).following(), *P(at).following() = *P(at).following(), record
}

// unlink removes a record, which must be there, from those of its pod.
func (c chains[R, P]) unlink(pod types.UID, record *R) {
	next := *P(record).following()
	switch at := c[pod]; {
	case at != record:
		for *P(at).following() != record {
			at = *P(at).following()
		}
		*P(at).following() = next
	case next != nil:
		c[pod] = next
	default:
		delete(c, pod)
	}
}
