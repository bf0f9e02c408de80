//go:build !js

package kubectl

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

func (d *description) role(r *rbacv1.Role) {
	d.meta(r)
	d.rules(r.Rules)
}

func (d *description) clusterRole(r *rbacv1.ClusterRole) {
	d.meta(r)
	d.rules(r.Rules)
}

// rules writes a line for each group, resource and name, with all its verbs, and one for each verb of a URL.
func (d *description) rules(all []rbacv1.PolicyRule) {
	var lines []*rbacv1.PolicyRule
	index := map[string]*rbacv1.PolicyRule{}
	add := func(line rbacv1.PolicyRule, verb string) {
		key := line.String()
		if index[key] == nil {
			index[key] = &line
			lines = append(lines, &line)
		}
		if known := index[key]; !slices.Contains(known.Verbs, verb) {
			known.Verbs = append(known.Verbs, verb)
		}
	}
	for _, rule := range all {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					line := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}}
					if len(rule.ResourceNames) == 0 {
						add(line, verb)
					}
					for _, name := range rule.ResourceNames {
						line.ResourceNames = []string{name}
						add(line, verb)
					}
				}
			}
		}
		for _, url := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				lines = append(lines, &rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: []string{verb}})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b *rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) })
	d.printf("PolicyRule:\n  Resources\tNon-Resource URLs\tResource Names\tVerbs\n  ---------\t-----------------\t--------------\t-----\n")
	for _, line := range lines {
		what := ""
		if len(line.Resources) > 0 {
			resource, part, hasPart := strings.Cut(line.Resources[0], "/")
			if what = resource; line.APIGroups[0] != "" {
				what += "." + line.APIGroups[0]
			}
			if hasPart {
				what += "/" + part
			}
		}
		d.printf("  %s\t%v\t%v\t%v\n", what, line.NonResourceURLs, line.ResourceNames, line.Verbs)
	}
}

func (d *description) roleBinding(b *rbacv1.RoleBinding) {
	d.meta(b)
	d.binding(b.RoleRef, b.Subjects)
}

func (d *description) clusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	d.meta(b)
	d.binding(b.RoleRef, b.Subjects)
}

func (d *description) binding(role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	d.printf("Role:\n  Kind:\t%s\n  Name:\t%s\nSubjects:\n  Kind\tName\tNamespace\n  ----\t----\t---------\n", role.Kind, role.Name)
	for _, s := range subjects {
		d.printf("  %s\t%s\t%s\n", s.Kind, s.Name, s.Namespace)
	}
}

func (d *description) signingRequest(obj api.Object) error {
	r, err := plain.As[*certificatesv1.CertificateSigningRequest](obj)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return errors.New("Error parsing CSR: PEM block type must be CERTIFICATE REQUEST") //nolint:staticcheck // the text is that of kubectl
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return fmt.Errorf("Error parsing CSR: %w", err) //nolint:staticcheck // the text is that of kubectl
	}
	d.field("Labels", "%s", inOneLine(r.Labels))
	d.field("Annotations", "%s", inOneLine(r.Annotations))
	d.field("CreationTimestamp", "%s", timeOf(r.CreationTimestamp))
	d.field("Requesting User", "%s", r.Spec.Username)
	d.unlessEmpty("Signer", r.Spec.SignerName)
	if s := r.Spec.ExpirationSeconds; s != nil {
		d.field("Requested Duration", "%s", duration.HumanDuration(time.Duration(*s)*time.Second))
	}
	d.field("Status", "%s", signingStatus(r))
	d.printf("Subject:\n\tCommon Name:\t%s\n\tSerial Number:\t%s\n", asked.Subject.CommonName, asked.Subject.SerialNumber)
	list := func(name string, values []string) {
		if len(values) > 0 {
			d.printf("\t%s:\t%s\n", name, strings.Join(values, "\n\t\t"))
		}
	}
	list("Organization", asked.Subject.Organization)
	list("Organizational Unit", asked.Subject.OrganizationalUnit)
	list("Country", asked.Subject.Country)
	list("Locality", asked.Subject.Locality)
	list("Province", asked.Subject.Province)
	list("StreetAddress", asked.Subject.StreetAddress)
	list("PostalCode", asked.Subject.PostalCode)
	if len(asked.DNSNames)+len(asked.EmailAddresses)+len(asked.IPAddresses)+len(asked.URIs) > 0 {
		d.printf("Subject Alternative Names:\n")
	}
	list("DNS Names", asked.DNSNames)
	list("Email Addresses", asked.EmailAddresses)
	list("URIs", texts(asked.URIs))
	list("IP Addresses", texts(asked.IPAddresses))
	return nil
}

func texts[T fmt.Stringer](values []T) []string {
	var all []string
	for _, v := range values {
		all = append(all, v.String())
	}
	return all
}

func signingStatus(r *certificatesv1.CertificateSigningRequest) string {
	has := func(kind certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
	}
	status := "Pending"
	switch {
	case has(certificatesv1.CertificateDenied):
		status = "Denied"
	case has(certificatesv1.CertificateApproved):
		status = "Approved"
	}
	if has(certificatesv1.CertificateFailed) {
		status += ",Failed"
	}
	if len(r.Status.Certificate) > 0 {
		status += ",Issued"
	}
	return status
}
