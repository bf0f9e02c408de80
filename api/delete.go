package api

import "k8s.io/apimachinery/pkg/types"

// DeleteOptions are those of the API that matter to the kinds held here. The zero value sets no precondition.
type DeleteOptions struct {
	// GracePeriodSeconds overrides the grace period of a pod (API-062); other kinds ignore it.
	GracePeriodSeconds *int64
	// UID and ResourceVersion, when not empty, must be those of the stored object, else the delete is a Conflict (API-058).
	UID             types.UID
	ResourceVersion string
}
