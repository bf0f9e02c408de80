package apiserver

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Subresources that bind and delete pods, that change one part of an object, and the one that issues tokens.
const (
	subresourceBinding  = "binding"
	subresourceEviction = "eviction"
	subresourceApproval = "approval" // the conditions of a CertificateSigningRequest
	subresourceFinalize = string(store.Finalize)
	subresourceToken    = "token"
)

// replace stores a new version of an object, or of the part that the subresource of the request stands for.
func (s *Server) replace(r *request, obj api.Object, opts store.UpdateOptions) (api.Object, error) {
	if r.resource.kind == kinds.SigningRequest && r.subresource != "" {
		return s.replaceSigning(r, obj.(*plain.Object), opts)
	}
	return s.store.UpdateWith(obj, api.Subresource(r.subresource), opts)
}
