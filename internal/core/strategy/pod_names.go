package strategy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateHostAliases validates the entries for the hosts file of a pod (API-370).
func validateHostAliases(aliases []corev1.HostAlias) field.ErrorList {
	var errs field.ErrorList
	for i, alias := range aliases {
		at := field.NewPath("spec", "hostAliases").Index(i)
		errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), alias.IP, true, nil)...)
		for j, name := range alias.Hostnames {
			errs = AppendInvalid(errs, at.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))
		}
	}
	return errs
}

// The limits of libc on what a resolver is told.
const (
	maxNameservers   = 3
	maxSearches      = 32
	maxSearchesBytes = 2048
)

// validateDNSConfig validates the configuration of DNS of a pod (API-370).
func validateDNSConfig(config *corev1.PodDNSConfig, policy corev1.DNSPolicy) field.ErrorList {
	path := field.NewPath("spec", "dnsConfig")
	// API-370: the policy None needs a name server.
	if policy == corev1.DNSNone && config == nil {
		return field.ErrorList{field.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None")}
	}
	servers, searches := path.Child("nameservers"), path.Child("searches")
	if policy == corev1.DNSNone && len(config.Nameservers) == 0 {
		return field.ErrorList{field.Required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None")}
	}
	var errs field.ErrorList
	// API-370: at most three name servers, 32 search domains and 2048 bytes of them.
	if len(config.Nameservers) > maxNameservers {
		errs = append(errs, field.Invalid(servers, config.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers)))
	}
	for i, ip := range config.Nameservers {
		errs = append(errs, validation.IsValidIPForLegacyField(servers.Index(i), ip, true, nil)...)
	}
	if len(config.Searches) > maxSearches {
		errs = append(errs, field.Invalid(searches, config.Searches, fmt.Sprintf("must not have more than %d search paths", maxSearches)))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchesBytes {
		errs = append(errs, field.Invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchesBytes)))
	}
	for i, search := range config.Searches {
		// API-370: a dot alone, or at the end, is allowed.
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			errs = AppendInvalid(errs, searches.Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(search))
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			errs = append(errs, field.Required(path.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}

const maxHostnameBytes = 64

// validateHostnameOverride validates the hostname that replaces all others (API-370).
func validateHostnameOverride(spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	path, name := field.NewPath("spec", "hostnameOverride"), *spec.HostnameOverride
	if spec.SetHostnameAsFQDN != nil && *spec.SetHostnameAsFQDN {
		errs = append(errs, field.Forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
	}
	if spec.HostNetwork {
		errs = append(errs, field.Forbidden(path, "may not be specified when hostNetwork is true"))
	}
	if len(name) > maxHostnameBytes {
		errs = append(errs, field.TooLong(path, "", maxHostnameBytes))
	}
	return AppendInvalid(errs, path, name, validation.IsDNS1123Subdomain(name))
}
