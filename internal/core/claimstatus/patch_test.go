package claimstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/claimstatus"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// conditions returns a condition with status True and that message for each type.
func conditions(message string, types ...corev1.PersistentVolumeClaimConditionType) []corev1.PersistentVolumeClaimCondition {
	var made []corev1.PersistentVolumeClaimCondition
	for _, each := range types {
		made = append(made, corev1.PersistentVolumeClaimCondition{Type: each, Status: corev1.ConditionTrue, Message: message})
	}
	return made
}

// TestPatch checks EXP-005: a patch with a version is as strict as an update; without one it applies to any stored version.
func TestPatch(t *testing.T) {
	e, err := engine.New(engine.Config{})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s := e.Store()
	old, err := s.Claims.Create(fake.Claim("data", "1Gi"))
	require.NoError(t, err)
	status := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		edited := objects.CopyOfClaim(old)
		change(edited)
		return edited
	}
	old, err = claimstatus.Patch(e.User(), old, status(func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = conditions("old", "Resizing", "Other")
		objects.SetResizeStatus(c, corev1.PersistentVolumeClaimControllerResizeInProgress)
		objects.SetClaimAnnotation(c, "by", "me")
	}))
	require.NoError(t, err)
	require.Equal(t, "me", old.Annotations["by"], "EXP-005")

	// Another client writes in between.
	_, err = s.Claims.Patch("default/data",
		[]byte(`{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[{"type":"Resizing","status":"True","message":"old"},{"type":"Third","status":"True"}]}}`), api.Status)
	require.NoError(t, err)
	edited := status(func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = objects.ReplaceResizeConditions(old.Status.Conditions, false, conditions("new", "ControllerResizeError")...)
		objects.SetResizeStatus(c, "")
		objects.RemoveClaimAnnotation(c, "by")
	})
	_, err = claimstatus.Patch(e.User(), old, edited)
	require.True(t, apierrors.IsConflict(err), "EXP-005: %v", err)
	newer, err := claimstatus.Force(e.User(), old, edited)
	require.NoError(t, err)
	require.Equal(t, append(conditions("", "Third"), conditions("new", "ControllerResizeError")...), newer.Status.Conditions,
		"EXP-005: by type; what was removed stays removed")
	require.Equal(t, "b", newer.Labels["a"])
	require.Empty(t, newer.Annotations)
	require.Nil(t, newer.Status.AllocatedResourceStatuses)

	gone := fake.Claim("gone", "1Gi")
	_, err = claimstatus.Force(e.User(), gone, gone)
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
