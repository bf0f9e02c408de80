package columns

import (
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// columnOf is a column that the documentation of a field describes.
func columnOf[T api.Object](name string, source any, field string, cell func(T) any) kubectl.Column {
	return kubectl.Column{Name: name, Type: "string", Field: source, FieldName: field, Cell: func(obj api.Object, _ time.Time) any {
		return cell(plain.Shared[T](obj.(*plain.Object)))
	}}
}

func flowSchemaColumns(name, age kubectl.Column) []kubectl.Column {
	missing := columnOf("MissingPL", nil, "", func(s *flowcontrolv1.FlowSchema) any {
		for _, c := range s.Status.Conditions {
			if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
				return string(c.Status)
			}
		}
		return "?"
	})
	missing.Description = "references a broken or non-existent PriorityLevelConfiguration"
	return []kubectl.Column{
		name,
		columnOf("PriorityLevel", flowcontrolv1.PriorityLevelConfigurationReference{}, "name", func(s *flowcontrolv1.FlowSchema) any {
			return s.Spec.PriorityLevelConfiguration.Name
		}),
		columnOf("MatchingPrecedence", flowcontrolv1.FlowSchemaSpec{}, "matchingPrecedence", func(s *flowcontrolv1.FlowSchema) any {
			return int64(s.Spec.MatchingPrecedence)
		}),
		columnOf("DistinguisherMethod", flowcontrolv1.FlowSchemaSpec{}, "distinguisherMethod", func(s *flowcontrolv1.FlowSchema) any {
			if m := s.Spec.DistinguisherMethod; m != nil {
				return string(m.Type)
			}
			return "<none>"
		}),
		age, missing,
	}
}

func priorityLevelColumns(name, age kubectl.Column) []kubectl.Column {
	queue := func(name, field string, number func(*flowcontrolv1.QueuingConfiguration) int32) kubectl.Column {
		return columnOf(name, flowcontrolv1.QueuingConfiguration{}, field, func(l *flowcontrolv1.PriorityLevelConfiguration) any {
			if l.Spec.Limited == nil || l.Spec.Limited.LimitResponse.Queuing == nil {
				return "<none>"
			}
			return int64(number(l.Spec.Limited.LimitResponse.Queuing))
		})
	}
	return []kubectl.Column{
		name,
		columnOf("Type", flowcontrolv1.PriorityLevelConfigurationSpec{}, "type", func(l *flowcontrolv1.PriorityLevelConfiguration) any { return string(l.Spec.Type) }),
		columnOf("NominalConcurrencyShares", flowcontrolv1.LimitedPriorityLevelConfiguration{}, "nominalConcurrencyShares",
			func(l *flowcontrolv1.PriorityLevelConfiguration) any {
				if l.Spec.Limited == nil || l.Spec.Limited.NominalConcurrencyShares == nil {
					return "<none>"
				}
				return int64(*l.Spec.Limited.NominalConcurrencyShares)
			}),
		queue("Queues", "queues", func(q *flowcontrolv1.QueuingConfiguration) int32 { return q.Queues }),
		queue("HandSize", "handSize", func(q *flowcontrolv1.QueuingConfiguration) int32 { return q.HandSize }),
		queue("QueueLengthLimit", "queueLengthLimit", func(q *flowcontrolv1.QueuingConfiguration) int32 { return q.QueueLengthLimit }),
		age,
	}
}
