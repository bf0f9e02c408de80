package explain

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
)

// abnormalFor is how long a report of an abnormal volume counts: as long as kube-apiserver keeps Events (HEALTH-005).
const abnormalFor = time.Hour

// noteCondition adds a note if a driver has said that a volume of the pod or claim is abnormal, and not that it has recovered. A report
// blocks nothing.
func (x *explainer) noteCondition(e *Explanation, obj api.Object, rule string) {
	bad := x.lastEvent(obj, reasoned("VolumeConditionAbnormal"))
	if bad == nil || x.Now.Sub(timeOf(bad)) >= abnormalFor {
		return
	}
	// HEALTH-005: Events about claims report a recovery, those about pods do not.
	if good := x.lastEvent(obj, reasoned("VolumeConditionNormal")); good != nil && timeOf(good).After(timeOf(bad)) {
		return
	}
	text := fmt.Sprintf("the driver says that a volume is abnormal (%s): %s", stamp(timeOf(bad)), bad.Message)
	e.Notes = append(e.Notes, withRule(text, rule))
}
