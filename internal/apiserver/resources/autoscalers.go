package resources

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// newAutoscalers returns the resource of HorizontalPodAutoscalers in v1, of which r is the kind.
func newAutoscalers(r *Resource) *Resource {
	old := *r
	old.Version = "v1"
	old.Sample = NewObject(old.GVK())
	old.Stored = func(obj api.Object) (api.Object, error) {
		data, err := plain.Take(kinds.NewerAutoscaler(obj.(*autoscalingv1.HorizontalPodAutoscaler)))
		if err != nil {
			return nil, err
		}
		data.TypeMeta = r.storedType
		return data, nil
	}
	old.Presented = func(obj api.Object) (api.Object, error) {
		scaler, err := plain.As[*autoscalingv2.HorizontalPodAutoscaler](obj)
		if err != nil {
			return nil, err
		}
		return kinds.OlderAutoscaler(scaler), nil
	}
	return &old
}
