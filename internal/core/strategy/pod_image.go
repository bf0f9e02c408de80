package strategy

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const maxImageNameBytes = 255

var (
	// One component of the path of an image, and the host before it, which may have a port.
	imagePart = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$`)
	imageHost = regexp.MustCompile(`^(?:\[[a-fA-F0-9:]+\]|[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*(?:\.[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*)*)(?::[0-9]+)?$`)
	imageTag  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	// The name of an image must not look like a hash.
	imageID = regexp.MustCompile(`^[a-f0-9]{64}$`)
	// The digest after "@".
	imageDigest = regexp.MustCompile(`^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
)

// pullPolicy returns the default policy for an image (API-096): Always for the tag "latest", explicit or implied, and IfNotPresent for
// everything else, including malformed names.
func pullPolicy(image string) corev1.PullPolicy {
	if meansLatest(image) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func meansLatest(image string) bool {
	if image != "" && len(image) < maxLabelBytes && consistsOf(image, lower|digit) {
		return true // a short name without anything else, which is no ID
	}
	name, digest, digested := strings.Cut(image, "@")
	if digested && !imageDigest.MatchString(digest) || imageID.MatchString(image) {
		return false
	}
	tag, tagged := "", false
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name, tag, tagged = name[:colon], name[colon+1:], true
	}
	if tagged && !imageTag.MatchString(tag) || !isImageName(name) {
		return false
	}
	return tag == "latest" || !tagged && !digested
}

// isImageName reports whether the name is host/path or path. The first component is a host if it looks like one.
func isImageName(name string) bool {
	host, rest, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host {
		host, rest = "docker.io", name
		if !ok {
			rest = "library/" + name
		}
	}
	length := len(rest)
	if !imageHost.MatchString(host) {
		// A component that looks like a host and is not valid as one may still be the first component of the path.
		if !imagePart.MatchString(host) {
			return false
		}
		length += len(host) + len("/")
	}
	if length > maxImageNameBytes {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if !imagePart.MatchString(part) {
			return false
		}
	}
	return true
}
