package kinds

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// signingRules are the rules of CertificateSigningRequests (API-453).
var signingRules = store.KindRules{
	PrepareStatus: func(obj, old *plain.Object, now metav1.Time) {
		csr, err := plain.As[*certificatesv1.CertificateSigningRequest](obj)
		if err != nil {
			return // validation reports it
		}
		completeConditions(csr, plain.Shared[*certificatesv1.CertificateSigningRequest](old), now)
		SetSigningRequest(obj, csr)
	},
	Check: func(obj, old *plain.Object) field.ErrorList {
		csr, err := plain.As[*certificatesv1.CertificateSigningRequest](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
		}
		if old != nil {
			return nil // API-453: an update changes nothing but the metadata
		}
		return checkSigning(csr, field.NewPath("spec"))
	},
	PrepareUpdate: func(obj, old *plain.Object) {
		obj.SetContent(old.Content())
	},
	CheckStatus: statusCheck(checkSigningStatus),
}

// SetSigningRequest replaces the content of a stored CertificateSigningRequest.
func SetSigningRequest(obj *plain.Object, csr *certificatesv1.CertificateSigningRequest) {
	if data, err := plain.From(csr); err == nil {
		obj.SetContent(data.Content())
	}
}

// completeConditions sets the times of conditions that have none.
func completeConditions(csr, old *certificatesv1.CertificateSigningRequest, now metav1.Time) {
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, before := range old.Status.Conditions {
			if before.Type == c.Type && before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
				break
			}
		}
	}
}

// checkSigning validates a new request.
func checkSigning(csr *certificatesv1.CertificateSigningRequest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if err := checkSignature(csr.Spec.Request); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), csr.Spec.Request, err.Error()))
	}
	if len(csr.Spec.Usages) == 0 {
		errs = append(errs, field.Required(path.Child("usages"), ""))
	}
	for i, usage := range csr.Spec.Usages {
		if !slices.Contains(usages, string(usage)) {
			errs = append(errs, field.NotSupported(path.Child("usages").Index(i), usage, usages))
		}
	}
	for i, usage := range csr.Spec.Usages {
		if slices.Contains(csr.Spec.Usages[:i], usage) {
			errs = append(errs, field.Duplicate(path.Child("usages").Index(i), usage))
		}
	}
	switch name, at := csr.Spec.SignerName, path.Child("signerName"); {
	case name == "":
		errs = append(errs, field.Required(at, ""))
	case name == "kubernetes.io/legacy-unknown":
		errs = append(errs, field.Invalid(at, name, "the legacy signerName is not allowed via this API version"))
	case !strings.Contains(name, "/"):
		errs = append(errs, field.Invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"))
	}
	if seconds := csr.Spec.ExpirationSeconds; seconds != nil && *seconds < minCertificateLife {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

// minCertificateLife is the shortest life of a certificate that may be asked for, in seconds.
const minCertificateLife = 600

// usages are those that a certificate can have.
var usages = []string{
	"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature",
	"email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc",
	"netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
}

// checkSignature requires a request for a certificate in PEM whose signature is right.
func checkSignature(data []byte) error {
	req, err := readSigningRequest(data)
	if err != nil {
		return err
	}
	return req.CheckSignature()
}

func readSigningRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// OrganizationsOf returns the groups for which a valid request asks for a certificate.
func OrganizationsOf(csr *certificatesv1.CertificateSigningRequest) []string {
	req, err := readSigningRequest(csr.Spec.Request)
	if err != nil {
		return nil
	}
	return req.Subject.Organization
}

// checkSigningStatus validates conditions and the certificate.
func checkSigningStatus(c *statusErrors, csr, old *certificatesv1.CertificateSigningRequest) {
	at := c.path.Child("conditions")
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, condition := range csr.Status.Conditions {
		if condition.Type == "" {
			c.add(field.Required(at.Index(i).Child("type"), ""))
		}
		allowed := []string{string(corev1.ConditionFalse), string(corev1.ConditionTrue), string(corev1.ConditionUnknown)}
		if slices.Contains(decided, condition.Type) {
			allowed = []string{string(corev1.ConditionTrue)}
		}
		switch {
		case condition.Status == "":
			c.add(field.Required(at.Index(i).Child("status"), ""))
		case !slices.Contains(allowed, string(condition.Status)):
			c.add(field.NotSupported(at.Index(i).Child("status"), condition.Status, allowed))
		}
		if condition.Type == certificatesv1.CertificateApproved && seen[certificatesv1.CertificateDenied] ||
			condition.Type == certificatesv1.CertificateDenied && seen[certificatesv1.CertificateApproved] {
			c.add(field.Invalid(at, condition.Type, "Approved and Denied conditions are mutually exclusive"))
		}
		if seen[condition.Type] {
			c.add(field.Duplicate(at.Index(i).Child("type"), condition.Type))
		}
		seen[condition.Type] = true
	}
	if err := checkCertificate(csr.Status.Certificate); err != nil {
		c.add(field.Invalid(c.path.Child("certificate"), "<certificate data>", err.Error()))
	}
	for _, kind := range decided {
		if len(conditionsOf(csr, kind)) < len(conditionsOf(old, kind)) {
			c.add(field.Forbidden(at, fmt.Sprintf("updates may not remove a condition of type %q", kind)))
		}
	}
	if before := old.Status.Certificate; len(before) > 0 && !bytes.Equal(before, csr.Status.Certificate) {
		c.add(field.Forbidden(c.path.Child("certificate"), "updates may not modify existing certificate content"))
	}
}

// decided are the conditions that stay.
var decided = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed}

func conditionsOf(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) []certificatesv1.CertificateSigningRequestCondition {
	return slices.DeleteFunc(slices.Clone(csr.Status.Conditions), func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type != kind })
}

// checkCertificate requires PEM blocks with certificates, if there is anything.
func checkCertificate(data []byte) error {
	for blocks := 0; len(data) > 0; blocks++ {
		block, rest := pem.Decode(data)
		switch {
		case block == nil && blocks == 0:
			return errors.New("must contain at least one CERTIFICATE PEM block")
		case block == nil:
			return nil
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		case len(block.Headers) > 0:
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		data = rest
	}
	return nil
}

// KeepApproval restores what an update of the status does not change: whether the request is approved. It may not add that.
func KeepApproval(csr, live *certificatesv1.CertificateSigningRequest) error {
	for _, kind := range decided[:2] {
		now, before := conditionsOf(csr, kind), conditionsOf(live, kind)
		if len(now) > len(before) {
			return apierrors.NewInvalid(certificatesv1.Kind("CertificateSigningRequest"), csr.Name, field.ErrorList{
				field.Forbidden(field.NewPath("status", "conditions"), fmt.Sprintf("updates may not add a condition of type %q", kind)),
			})
		}
		if len(now) < len(before) || reflect.DeepEqual(now, before) {
			continue // checkSigningStatus refuses what is missing
		}
		for i := range csr.Status.Conditions {
			if csr.Status.Conditions[i].Type == kind {
				csr.Status.Conditions[i], before = before[0], before[1:]
			}
		}
	}
	return nil
}
