package objects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

// conditions makes a list of "Type" or "Type=Status", each with the message given.
func conditions(message string, list string) []corev1.PersistentVolumeClaimCondition {
	var made []corev1.PersistentVolumeClaimCondition
	for _, each := range strings.Fields(list) {
		name, status, ok := strings.Cut(each, "=")
		if !ok {
			status = "True"
		}
		made = append(made, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimConditionType(name),
			Status: corev1.ConditionStatus(status), Message: message})
	}
	return made
}

func text(list []corev1.PersistentVolumeClaimCondition) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
	}
	return strings.Join(parts, ", ")
}

func TestMergeResizeConditions(t *testing.T) {
	for _, tt := range []struct {
		rule, name  string
		old         string
		keep        bool
		added       string
		merge, swap string // as controllers and kubelets, and as the external resizer
	}{
		{"EXP-050", "the first", "", true, "Resizing", "Resizing=True new", "Resizing=True new"},
		{"EXP-050", "those of others stay in place", "Other Resizing Another", false, "NodeResizeError",
			"Other=True old, Another=True old, NodeResizeError=True new", "Other=True old, Another=True old, NodeResizeError=True new"},
		{"EXP-050", "of the same status", "Other Resizing", false, "Resizing", "Other=True old, Resizing=True old",
			"Other=True old, Resizing=True new"},
		{"EXP-050", "of another status", "Resizing=False Other", false, "Resizing", "Resizing=True new, Other=True old",
			"Resizing=True new, Other=True old"},
		{"EXP-050", "old ones are kept", "Resizing ControllerResizeError", true, "FileSystemResizePending",
			"Resizing=True old, ControllerResizeError=True old, FileSystemResizePending=True new",
			"Resizing=True old, ControllerResizeError=True old, FileSystemResizePending=True new"},
		{"EXP-003", "all four go, no other does", "Resizing FileSystemResizePending ControllerResizeError NodeResizeError ModifyingVolume",
			false, "",
			"ModifyingVolume=True old", "ModifyingVolume=True old"},
	} {
		old := conditions("old", tt.old)
		if got := text(objects.MergeResizeConditions(old, tt.keep, conditions("new", tt.added)...)); got != tt.merge {
			t.Errorf("%s %s: MergeResizeConditions = %s, want %s", tt.rule, tt.name, got, tt.merge)
		}
		if got := text(objects.ReplaceResizeConditions(old, tt.keep, conditions("new", tt.added)...)); got != tt.swap {
			t.Errorf("%s %s: ReplaceResizeConditions = %s, want %s", tt.rule, tt.name, got, tt.swap)
		}
		if got, want := text(old), text(conditions("old", tt.old)); got != want {
			t.Errorf("%s %s: the argument was modified: %s", tt.rule, tt.name, got)
		}
	}
}

// EXP-003, EXP-004: a change of a copy leaves the original alone.
func TestEditedClaim(t *testing.T) {
	claim := fake.Claim("data", "1Gi", fake.Annotations("a", "b"))
	if _, ok := objects.Allocated(claim); ok || objects.ResizeStatus(claim) != "" {
		t.Error("EXP-003, EXP-004: a new claim is not idle")
	}
	edited := objects.CopyOfClaim(claim)
	objects.SetAllocated(edited, apiresource.MustParse("2Gi"))
	objects.SetClaimCapacity(edited, apiresource.MustParse("1Gi"))
	objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizePending)
	objects.SetClaimAnnotation(edited, objects.AnnStorageResizer, "me")
	size, ok := objects.Allocated(edited)
	require.True(t, ok)
	require.Equal(t, "2Gi", size.String(), "EXP-004")
	require.Equal(t, corev1.PersistentVolumeClaimNodeResizePending, objects.ResizeStatus(edited), "EXP-003")
	require.Empty(t, claim.Status.AllocatedResources)
	require.Empty(t, claim.Status.Capacity)
	require.Empty(t, claim.Status.AllocatedResourceStatuses)
	require.Len(t, claim.Annotations, 1)

	again := objects.CopyOfClaim(edited)
	objects.SetResizeStatus(again, "")
	objects.RemoveClaimAnnotation(again, objects.AnnStorageResizer)
	require.Nil(t, again.Status.AllocatedResourceStatuses, "the last entry takes the map with it")
	require.Len(t, again.Annotations, 1)
	require.Len(t, edited.Annotations, 2)
	require.Len(t, again.Status.AllocatedResources, 1, "EXP-004: it is never removed")
}
