package history

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// changeRequest has a user ask for another size: more, or less again after an expansion failed. Many of these are refused.
func (p *player) changeRequest() error {
	claims := p.Claims.List()
	if len(claims) == 0 {
		return nil
	}
	claim := claims[p.choose(len(claims))]
	size := pick(p.choose, "2Gi", "3Gi", "4Gi", "6Gi", "12Gi", "20Gi")
	return p.try(p.Patch(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}},
		`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`))
}

// failExpansion has the driver refuse to expand volumes, on the node or outside of it, or lose its replies.
func (p *player) failExpansion() error {
	match := fake.Match{Target: Driver, Verb: string(pick(p.choose, storage.Expand, storage.NodeExpand))}
	err := storage.Errorf(pick(p.choose, storage.Internal, storage.DeadlineExceeded, storage.OutOfRange, storage.FailedPrecondition, storage.ResourceExhausted), "cannot grow")
	times := 1 + p.choose(3)
	if p.chance(3) {
		p.Faults.Lose(match, err).Times(times)
	} else {
		p.Faults.Add(match, api.Fault{Err: err, Delay: pick(p.choose, 0, time.Second, time.Minute)}).Times(times)
	}
	return p.Faults.Err()
}
