package store

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNotFoundIsThatOfApimachinery(t *testing.T) {
	for _, name := range []string{"data", "", `a "quoted" näme`} {
		for _, group := range []string{"", "storage.k8s.io"} {
			resource := schema.GroupResource{Group: group, Resource: "volumeattachments"}
			require.Equal(t, apierrors.NewNotFound(resource, name), newNotFound(resource, name))
		}
	}
}
