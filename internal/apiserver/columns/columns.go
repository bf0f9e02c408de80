// Package columns has the columns of the Tables that kubectl shows.
package columns

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/openapi"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// Of returns the columns of a kind (API-523).
func Of(kind api.Kind) []kubectl.Column {
	columns := kubectl.Columns(kind)
	switch kind {
	case kinds.FlowSchema:
		return flowSchemaColumns(columns[0], columns[1])
	case kinds.PriorityLevel:
		return priorityLevelColumns(columns[0], columns[1])
	}
	return columns
}

// Definitions describes the columns of a table.
func Definitions(columns []kubectl.Column) []metav1.TableColumnDefinition {
	defs := make([]metav1.TableColumnDefinition, len(columns))
	for i, c := range columns {
		defs[i] = metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description}
		if c.Field != nil {
			defs[i].Description = openapi.FieldDocs(reflect.TypeOf(c.Field))[c.FieldName]
		}
		if c.Wide {
			defs[i].Priority = 1
		}
	}
	return defs
}

// Conditions returns the conditions of the row of an object: they mark pods that have ended.
func Conditions(obj api.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	message := ""
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		message = "The pod has completed successfully."
	case corev1.PodFailed:
		message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase), Message: message,
	}}
}

// InOrder returns the objects of a kind in the order of a table: FlowSchemas as they are tried (API-523).
func InOrder(kind api.Kind, items []api.Object) []api.Object {
	if kind != kinds.FlowSchema {
		return items
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b api.Object) int {
		x, y := plain.Shared[*flowcontrolv1.FlowSchema](a.(*plain.Object)), plain.Shared[*flowcontrolv1.FlowSchema](b.(*plain.Object))
		return cmp.Or(cmp.Compare(x.Spec.MatchingPrecedence, y.Spec.MatchingPrecedence), strings.Compare(x.Name, y.Name))
	})
	return items
}
