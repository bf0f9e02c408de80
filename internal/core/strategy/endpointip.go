package strategy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// EndpointIP refuses addresses at which nothing can be reached from elsewhere (API-350, API-560).
func EndpointIP(text string, at *field.Path) field.ErrorList {
	detail := ""
	switch ip := netutils.ParseIPSloppy(text); {
	case ip == nil:
		detail = "must be a valid IP address"
	case ip.IsUnspecified():
		detail = fmt.Sprintf("may not be unspecified (%s)", text)
	case ip.IsLoopback():
		detail = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
	case ip.IsLinkLocalUnicast():
		detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
	case ip.IsLinkLocalMulticast():
		detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(at, text, detail)}
}
