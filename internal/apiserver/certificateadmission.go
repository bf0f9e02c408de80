package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// checkSigning refuses a CertificateSigningRequest for the group of administrators, and an approval or a signature by a user who may not give it (API-576).
func (q *reviews) checkSigning(a *attributes, obj, old []byte) error {
	if a.resource.Kind != kinds.SigningRequest {
		return nil
	}
	var csr, before certificatesv1.CertificateSigningRequest
	if err := json.Unmarshal(obj, &csr); obj != nil && err != nil {
		return err
	}
	if err := json.Unmarshal(old, &before); old != nil && err != nil {
		return err
	}
	signer, verb := before.Spec.SignerName, ""
	switch {
	case a.operation == admissionv1.Create && a.subresource == "":
		if csr.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName && slices.Contains(kinds.OrganizationsOf(&csr), "system:masters") {
			return forbidden(a, obj, fmt.Errorf("use of %s signer with system:masters group is not allowed", csr.Spec.SignerName))
		}
	case a.operation != admissionv1.Update:
	case a.subresource == resources.SubresourceApproval:
		verb = "approve"
	case a.subresource == "status":
		if !bytes.Equal(csr.Status.Certificate, before.Status.Certificate) || !reflect.DeepEqual(csr.Status.Conditions, before.Status.Conditions) {
			verb = "sign"
		}
	}
	if verb == "" || q.request.user == nil || q.server.auth.MaySign(*q.request.user, verb, signer) {
		return nil
	}
	return forbidden(a, obj, fmt.Errorf("user not permitted to %s requests with signerName %q", verb, signer))
}
