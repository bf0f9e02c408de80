package kinds

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Claims for devices have defaults (API-565). What else they may say is not checked.
var (
	deviceClaimRules = store.KindRules{Default: func(obj *plain.Object) {
		typedDefault(obj, func(claim *resourcev1.ResourceClaim) { completeDevices(&claim.Spec.Devices) })
	}}
	deviceTemplateRules = store.KindRules{Default: func(obj *plain.Object) {
		typedDefault(obj, func(template *resourcev1.ResourceClaimTemplate) { completeDevices(&template.Spec.Spec.Devices) })
	}}
)

func completeDevices(devices *resourcev1.DeviceClaim) {
	for i := range devices.Requests {
		request := &devices.Requests[i]
		if exact := request.Exactly; exact != nil {
			completeAllocation(&exact.AllocationMode, &exact.Count)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			completeAllocation(&sub.AllocationMode, &sub.Count)
		}
	}
}

func completeAllocation(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}
