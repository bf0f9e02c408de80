package strategy

import "strings"

// These functions do not allocate. What they accept is valid. For what they reject, the caller calls the functions of
// k8s.io/apimachinery, which decide and have the messages.

const (
	maxLabelBytes     = 63
	maxSubdomainBytes = 253
)

// IsSubdomain accepts the DNS-1123 subdomains.
func IsSubdomain(s string) bool { return isDomain(s, false) }

// isDomain is IsSubdomain. With anyCase it accepts capital letters, too.
func isDomain(s string, anyCase bool) bool {
	if len(s) > maxSubdomainBytes {
		return false
	}
	for start := 0; ; {
		end := start
		for end < len(s) && s[end] != '.' {
			end++
		}
		if !isDNSWord(s[start:end], anyCase) {
			return false
		}
		if end == len(s) {
			return true
		}
		start = end + 1
	}
}

// IsDNSLabel accepts the DNS-1123 labels.
func IsDNSLabel(s string) bool { return len(s) <= maxLabelBytes && isDNSWord(s, false) }

// isDNSWord accepts lower case letters, digits and dashes, with no dash at either end.
func isDNSWord(s string, anyCase bool) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	allowed := lower | digit | dash
	if anyCase {
		allowed |= upper
	}
	return consistsOf(s, allowed)
}

// IsQualifiedName accepts label keys: a name, and before it, if it has one, a domain and a slash.
func IsQualifiedName(s string) bool { return isQualified(s, false) }

// isQualifiedNameOfAnyCase accepts qualified names in which the case of the domain does not matter.
func isQualifiedNameOfAnyCase(s string) bool { return isQualified(s, true) }

func isQualified(s string, anyCase bool) bool {
	i := strings.IndexByte(s, '/')
	if i < 0 {
		return isLabelName(s)
	}
	switch s[:i] {
	case "volume.kubernetes.io", "volume.beta.kubernetes.io", "pv.kubernetes.io", "kubernetes.io", "beta.kubernetes.io", "node.kubernetes.io",
		"csi.volume.kubernetes.io":
		// Most keys have one of these domains.
	default:
		if !isDomain(s[:i], anyCase) {
			return false
		}
	}
	return isLabelName(s[i+1:])
}

// IsLabelValue accepts the values of labels.
func IsLabelValue(s string) bool { return s == "" || isLabelName(s) }

// isLabelName accepts letters, digits, '-', '_' and '.', with a letter or digit at both ends.
func isLabelName(s string) bool {
	const ends = lower | upper | digit
	return s != "" && len(s) <= maxLabelBytes && classes[s[0]]&ends != 0 && classes[s[len(s)-1]]&ends != 0 &&
		consistsOf(s, lower|upper|digit|dash|mark)
}

// The classes of bytes that names consist of.
const (
	lower class = 1 << iota
	upper
	digit
	dash
	mark // '_' and '.'
)

type class uint8

var classes = func() (table [256]class) {
	for c := 'a'; c <= 'z'; c++ {
		table[c] = lower
	}
	for c := 'A'; c <= 'Z'; c++ {
		table[c] = upper
	}
	for c := '0'; c <= '9'; c++ {
		table[c] = digit
	}
	table['-'], table['_'], table['.'] = dash, mark, mark
	return table
}()

func consistsOf(s string, allowed class) bool {
	for i := 0; i < len(s); i++ {
		if classes[s[i]]&allowed == 0 {
			return false
		}
	}
	return true
}
