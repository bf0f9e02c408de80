package history

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// changeRequest requests another size for a claim: a larger one, or a smaller one after a failed expansion. The API server rejects many.
func (r *runner) changeRequest() error {
	claims := r.Claims.List()
	if len(claims) == 0 {
		return nil
	}
	claim := claims[r.choose(len(claims))]
	size := pick(r.choose, "2Gi", "3Gi", "4Gi", "6Gi", "12Gi", "20Gi")
	return r.try(r.Patch(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}},
		`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`))
}

// failExpansion makes the driver fail to expand volumes, in the storage system or on the node, or lose its replies.
func (r *runner) failExpansion() error {
	match := fake.Match{Target: Driver, Verb: string(pick(r.choose, storage.Expand, storage.NodeExpand))}
	err := storage.Errorf(pick(r.choose, storage.Internal, storage.DeadlineExceeded, storage.OutOfRange, storage.FailedPrecondition,
		storage.ResourceExhausted), "cannot grow")
	times := 1 + r.choose(3)
	if r.oneIn(3) {
		r.Faults.Lose(match, err).Times(times)
	} else {
		r.Faults.Add(match, api.Fault{Err: err, Delay: pick(r.choose, 0, time.Second, time.Minute)}).Times(times)
	}
	return r.Faults.Err()
}
