// Package auth knows who the clients of the API server are, and what they may do.
//
//   - identity.go: the user of a request; tokens.go, tokenrequest.go: tokens of ServiceAccounts;
//   - authorize.go: permissions, which package rbac reads from roles; grants.go: what a user may pass on to others;
//   - reviews.go, reviewselectors.go: reviews, in which clients ask for all of that.
package auth

import (
	"time"

	"github.com/volsim/volsim/internal/core/store"
)

// Authority knows the users and the permissions of a cluster. The server's lock guards it.
type Authority struct {
	Store *store.Store
	// Now is the clock of the cluster.
	Now func() time.Time
	// TokenKey signs tokens, so that they cannot be forged. Without a key they have no signature.
	TokenKey []byte
	// StoredRoles says that the default roles, and the rules of ClusterRoles that aggregate others, are in the store if they apply.
	StoredRoles bool

	roles     roleCache
	lastModes map[string]string // of impersonation, by who impersonates
}
