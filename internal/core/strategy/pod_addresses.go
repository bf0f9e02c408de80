package strategy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// alignPodIPs makes podIP the first of podIPs (API-549).
func alignPodIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		// API-549: podIP counts, because older kubelets write it alone.
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}

// validatePodAddresses validates the addresses of a pod and of its node (API-549).
func validatePodAddresses(status, old *corev1.PodStatus) field.ErrorList {
	var errs field.ErrorList
	if !SameSlice(status.PodIPs, old.PodIPs) {
		ip := func(ip corev1.PodIP) string { return ip.IP }
		errs = validateIPs(texts(status.PodIPs, ip), texts(old.PodIPs, ip), internalForm{status.PodIPs}, statusPath.Child("podIPs"))
	}
	hosts := status.HostIPs
	if len(hosts) == 0 || SameSlice(hosts, old.HostIPs) && status.HostIP == old.HostIP {
		return errs
	}
	path := statusPath.Child("hostIPs")
	if status.HostIP != hosts[0].IP {
		errs = append(errs, field.Invalid(path.Index(0).Child("ip"), hosts[0].IP, "must be equal to `hostIP`"))
	}
	ip := func(ip corev1.HostIP) string { return ip.IP }
	return append(errs, validateIPs(texts(hosts, ip), texts(old.HostIPs, ip), internalForm{hosts}, path)...)
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(list[i])
	}
	return out
}

// validateIPs allows one address, or one of each family. Invalid ones that were stored before may stay.
func validateIPs(ips, known []string, shown any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, true, known)...)
	}
	if len(ips) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	if !dual || len(ips) > 2 {
		errs = append(errs, field.Invalid(path, shown, "may specify no more than one IP for each IP family"))
	}
	return errs
}
