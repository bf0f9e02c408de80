package kinds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// networkPolicyRules are the rules of NetworkPolicies (API-559).
var networkPolicyRules = store.KindRules{
	Default: func(obj *plain.Object) {
		typedDefault(obj, func(policy *networkingv1.NetworkPolicy) {
			spec := &policy.Spec
			for _, rule := range spec.Ingress {
				defaultProtocols(rule.Ports)
			}
			for _, rule := range spec.Egress {
				defaultProtocols(rule.Ports)
			}
			// API-559: a policy is about what pods receive, and about what they send if it has rules for that.
			if len(spec.PolicyTypes) == 0 {
				spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
				if len(spec.Egress) > 0 {
					spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
				}
			}
		})
	},
	Warn: typedWarn(warnOfPolicy),
	Check: func(obj, old *plain.Object) field.ErrorList {
		policy, err := plain.As[*networkingv1.NetworkPolicy](obj)
		if err != nil {
			return nil // the body was decoded before
		}
		c := &networkCheck{}
		if old != nil {
			c.remember(&plain.Shared[*networkingv1.NetworkPolicy](old).Spec)
		}
		return c.spec(&policy.Spec, field.NewPath("spec"))
	},
}

// warnOfPolicy warns of ranges that are not in their usual form.
func warnOfPolicy(policy, _ *networkingv1.NetworkPolicy) (warnings []string) {
	note := func(peers []networkingv1.NetworkPolicyPeer, path *field.Path) {
		for i, peer := range peers {
			if peer.IPBlock == nil {
				continue
			}
			at := path.Index(i).Child("ipBlock")
			warnings = append(warnings, utilvalidation.GetWarningsForCIDR(at.Child("cidr"), peer.IPBlock.CIDR)...)
			for j, text := range peer.IPBlock.Except {
				warnings = append(warnings, utilvalidation.GetWarningsForCIDR(at.Child("except").Index(j), text)...)
			}
		}
	}
	for i, rule := range policy.Spec.Ingress {
		note(rule.From, field.NewPath("spec", "ingress").Index(i).Child("from"))
	}
	for i, rule := range policy.Spec.Egress {
		note(rule.To, field.NewPath("spec", "egress").Index(i).Child("to"))
	}
	return warnings
}

func defaultProtocols(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// networkCheck validates a NetworkPolicy. What is wrong with ranges and selectors of the stored one may stay.
type networkCheck struct {
	ranges    []string
	selectors metav1validation.LabelSelectorValidationOptions
}

func (c *networkCheck) remember(old *networkingv1.NetworkPolicySpec) {
	note := func(peers []networkingv1.NetworkPolicyPeer) {
		for _, peer := range peers {
			if peer.IPBlock != nil {
				c.ranges = append(append(c.ranges, peer.IPBlock.CIDR), peer.IPBlock.Except...)
			}
		}
	}
	for _, rule := range old.Ingress {
		note(rule.From)
	}
	for _, rule := range old.Egress {
		note(rule.To)
	}
	c.selectors.AllowInvalidLabelValueInSelector = len(metav1validation.ValidateLabelSelector(&old.PodSelector, c.selectors, nil)) > 0
}

func (c *networkCheck) spec(spec *networkingv1.NetworkPolicySpec, path *field.Path) field.ErrorList {
	errs := c.selector(&spec.PodSelector, path.Child("podSelector"))
	for i, rule := range spec.Ingress {
		at := path.Child("ingress").Index(i)
		errs = append(errs, c.rule(rule.Ports, rule.From, at.Child("ports"), at.Child("from"))...)
	}
	for i, rule := range spec.Egress {
		at := path.Child("egress").Index(i)
		errs = append(errs, c.rule(rule.Ports, rule.To, at.Child("ports"), at.Child("to"))...)
	}
	types := path.Child("policyTypes")
	allowed := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	if len(spec.PolicyTypes) > len(allowed) {
		return append(errs, field.Invalid(types, &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, policyType := range spec.PolicyTypes {
		if !slices.Contains(allowed, policyType) {
			errs = append(errs, field.NotSupported(types.Index(i), policyType, allowed))
		}
	}
	return errs
}

func (c *networkCheck) selector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, c.selectors, path)
}

func (c *networkCheck) rule(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, portsAt, peersAt *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range ports {
		errs = append(errs, checkPolicyPort(&ports[i], portsAt.Index(i))...)
	}
	for i := range peers {
		errs = append(errs, c.peer(&peers[i], peersAt.Index(i))...)
	}
	return errs
}

var policyProtocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}

// checkPolicyPort validates a port, or a range of them.
func checkPolicyPort(p *networkingv1.NetworkPolicyPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Protocol != nil && !slices.Contains(policyProtocols, *p.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), *p.Protocol, policyProtocols))
	}
	end := path.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type == intstr.Int:
		errs = strategy.AppendInvalid(errs, path.Child("port"), p.Port.IntVal, utilvalidation.IsValidPortNum(int(p.Port.IntVal)))
		if p.EndPort == nil {
			break
		}
		if *p.EndPort < p.Port.IntVal {
			errs = append(errs, field.Invalid(end, p.Port.IntVal, "must be greater than or equal to `port`"))
		}
		errs = strategy.AppendInvalid(errs, end, *p.EndPort, utilvalidation.IsValidPortNum(int(*p.EndPort)))
	default:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		errs = strategy.AppendInvalid(errs, path.Child("port"), p.Port.StrVal, utilvalidation.IsValidPortName(p.Port.StrVal))
	}
	return errs
}

// peer validates whom a rule is about: pods, or a range of addresses.
func (c *networkCheck) peer(peer *networkingv1.NetworkPolicyPeer, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if peer.PodSelector != nil {
		errs = append(errs, c.selector(peer.PodSelector, path.Child("podSelector"))...)
	}
	if peer.NamespaceSelector != nil {
		errs = append(errs, c.selector(peer.NamespaceSelector, path.Child("namespaceSelector"))...)
	}
	pods := peer.PodSelector != nil || peer.NamespaceSelector != nil
	switch {
	case peer.IPBlock != nil:
		errs = append(errs, c.block(peer.IPBlock, path.Child("ipBlock"))...)
		if pods {
			errs = append(errs, field.Forbidden(path, "may not specify both ipBlock and another peer"))
		}
	case !pods:
		errs = append(errs, field.Required(path, "must specify a peer"))
	}
	return errs
}

func (c *networkCheck) block(block *networkingv1.IPBlock, path *field.Path) field.ErrorList {
	if block.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "")}
	}
	errs := utilvalidation.IsValidCIDRForLegacyField(path.Child("cidr"), block.CIDR, true, c.ranges)
	_, whole, err := netutils.ParseCIDRSloppy(block.CIDR)
	if err != nil {
		return errs
	}
	bits, _ := whole.Mask.Size()
	for i, text := range block.Except {
		at := path.Child("except").Index(i)
		errs = append(errs, utilvalidation.IsValidCIDRForLegacyField(at, text, true, c.ranges)...)
		_, part, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		if partBits, _ := part.Mask.Size(); !whole.Contains(part.IP) || bits >= partBits {
			errs = append(errs, field.Invalid(at, text, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}
