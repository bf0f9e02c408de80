package standard

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/internal/apiserver/flows"
)

// flowControl keeps the default FlowSchemas and PriorityLevelConfigurations, and says of each FlowSchema whether its level exists (API-522).
type flowControl struct {
	schemas *controller.Cache[*flowcontrolv1.FlowSchema]
	levels  *controller.Cache[*flowcontrolv1.PriorityLevelConfiguration]
}

func startFlows(s *controller.Setup) {
	c := &flowControl{}
	queue := s.NewQueue("flow control", c.sync)
	c.levels = controller.Watch(s, func(api.Change[*flowcontrolv1.PriorityLevelConfiguration]) { queue.Add("all") })
	c.schemas = controller.Watch(s, func(api.Change[*flowcontrolv1.FlowSchema]) { queue.Add("all") })
	queue.Add("all")
}

func (c *flowControl) sync(p *controller.Process, _ string) error {
	defaults := flows.Defaults()
	for _, level := range defaults.PriorityLevels {
		known, ok := c.levels.Get(level.Name)
		same := ok && apiequality.Semantic.DeepEqual(known.Spec, level.Spec)
		if err := keep(p, level, known, ok, same, func() { known.Spec = *level.Spec.DeepCopy() }); err != nil {
			return err
		}
	}
	for _, schema := range defaults.FlowSchemas {
		known, ok := c.schemas.Get(schema.Name)
		same := ok && apiequality.Semantic.DeepEqual(known.Spec, schema.Spec)
		if err := keep(p, schema, known, ok, same, func() { known.Spec = *schema.Spec.DeepCopy() }); err != nil {
			return err
		}
	}
	for _, schema := range c.schemas.List() {
		condition := c.condition(p, schema)
		if condition == nil {
			continue
		}
		others := []flowcontrolv1.FlowSchemaCondition{*condition}
		for _, other := range schema.Status.Conditions {
			if other.Type != condition.Type {
				others = append(others, other)
			}
		}
		schema.Status.Conditions = others
		if _, err := controller.UpdateStatus(p, schema); ignored(err) != nil {
			return err
		}
	}
	return nil
}

// keep creates a default object, or restores one that is not the user's own.
func keep[T api.Object](p *controller.Process, obj, known T, exists, same bool, restore func()) error {
	if !exists {
		obj = obj.DeepCopyObject().(T)
		obj.SetAnnotations(map[string]string{flows.AutoUpdate: "true"})
		_, err := controller.Create(p, obj)
		return ignored(err)
	}
	if same || known.GetAnnotations()[flows.AutoUpdate] != "true" {
		return nil
	}
	restore()
	_, err := controller.Update(p, known)
	return ignored(err)
}

// condition returns the condition of a schema, or nil if it has it.
func (c *flowControl) condition(p *controller.Process, schema *flowcontrolv1.FlowSchema) *flowcontrolv1.FlowSchemaCondition {
	name := schema.Spec.PriorityLevelConfiguration.Name
	want := &flowcontrolv1.FlowSchemaCondition{
		Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, LastTransitionTime: metav1.NewTime(p.Now()), Reason: "Found",
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", name),
	}
	if _, ok := c.levels.Get(name); !ok {
		want.Status, want.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		want.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", name)
	}
	for _, known := range schema.Status.Conditions {
		if known.Type == want.Type && known.Status == want.Status && known.Reason == want.Reason && known.Message == want.Message {
			return nil
		}
	}
	return want
}
