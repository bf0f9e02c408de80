package apiserver

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// sign sets who asks for a certificate: the user of the request, whatever it says (API-505).
func (r *request) sign(obj api.Object) error {
	csr, err := plain.As[*certificatesv1.CertificateSigningRequest](obj)
	if err != nil {
		return nil // validation reports it
	}
	csr = csr.DeepCopy()
	user := r.userInfo()
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = user.Username, user.UID, user.Groups, nil
	for key, values := range user.Extra {
		if csr.Spec.Extra == nil {
			csr.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		csr.Spec.Extra[key] = certificatesv1.ExtraValue(values)
	}
	kinds.SetSigningRequest(obj.(*plain.Object), csr)
	return nil
}

// replaceSigning stores a new version of the status of a request, or of its approval (API-453). SIM: the error about approval in an update of the status
// comes alone.
func (s *Server) replaceSigning(r *request, changed *plain.Object, opts store.UpdateOptions) (api.Object, error) {
	found, err := s.store.Get(r.resource.Kind, r.key())
	if err != nil {
		return nil, err
	}
	live := plain.Shared[*certificatesv1.CertificateSigningRequest](found.(*plain.Object))
	csr, err := plain.As[*certificatesv1.CertificateSigningRequest](changed)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.subresource == resources.SubresourceApproval {
		// API-453: an approval changes the conditions and the metadata.
		csr.Status.Certificate = live.Status.Certificate
	} else if err := kinds.KeepApproval(csr, live); err != nil {
		return nil, err
	}
	out := changed.Copy()
	kinds.SetSigningRequest(out, csr)
	return s.store.UpdateWith(out, api.Status, opts)
}
