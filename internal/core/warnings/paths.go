package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pathOf is a file in a volume, and the object that it comes from.
type pathOf struct{ path, source string }

func (p pathOf) String() string {
	if p.source == "" {
		return fmt.Sprintf("%q", p.path)
	}
	return fmt.Sprintf("%q (%s)", p.path, p.source)
}

// overlaps warns of files of one volume of which one is the other, or its folder (API-323).
func (l *list) overlaps(volumes []corev1.Volume) {
	for _, v := range volumes {
		if v.ConfigMap != nil {
			l.overlapping(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), pathsOf(v.ConfigMap.Items, ""))
		}
		if v.Secret != nil {
			l.overlapping(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), pathsOf(v.Secret.Items, ""))
		}
		if v.DownwardAPI != nil {
			l.overlapping(v.Name, "DownwardAPI", downwardPathsOf(v.DownwardAPI.Items))
		}
		if v.Projected == nil {
			continue
		}
		var earlier []pathOf
		for _, source := range v.Projected.Sources {
			if source == (corev1.VolumeProjection{}) {
				*l = append(*l, fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name))
				continue
			}
			for _, p := range projectedPathsOf(source) {
				earlier = l.compare(v.Name, "Projected", earlier, p)
			}
		}
	}
}

func (l *list) overlapping(volume, description string, paths []pathOf) {
	var earlier []pathOf
	for _, p := range paths {
		earlier = l.compare(volume, description, earlier, p)
	}
}

// compare warns of each earlier path that overlaps with p, and returns all of them.
func (l *list) compare(volume, description string, earlier []pathOf, p pathOf) []pathOf {
	p.path = strings.TrimRight(p.path, "/")
	for _, other := range earlier {
		if p.path != "" && other.path != "" &&
			(strings.HasPrefix(other.path+"/", p.path+"/") || strings.HasPrefix(p.path+"/", other.path+"/")) {
			*l = append(*l, fmt.Sprintf("volume %q (%s): overlapping paths: %s with %s", volume, description, p, other))
		}
	}
	return append(earlier, p)
}

func pathsOf(items []corev1.KeyToPath, source string) []pathOf {
	var paths []pathOf
	for _, item := range items {
		paths = append(paths, pathOf{item.Path, source})
	}
	return paths
}

func downwardPathsOf(items []corev1.DownwardAPIVolumeFile) []pathOf {
	var paths []pathOf
	for _, item := range items {
		paths = append(paths, pathOf{item.Path, ""})
	}
	return paths
}

func projectedPathsOf(s corev1.VolumeProjection) []pathOf {
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Items != nil:
		return pathsOf(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil && s.Secret.Items != nil:
		return pathsOf(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil && s.DownwardAPI.Items != nil:
		paths := downwardPathsOf(s.DownwardAPI.Items)
		for i := range paths {
			paths[i].source = "DownwardAPI"
		}
		return paths
	case s.ServiceAccountToken != nil:
		return []pathOf{{s.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case s.ClusterTrustBundle != nil:
		name := s.ClusterTrustBundle.Name
		if name == nil {
			name = s.ClusterTrustBundle.SignerName
		}
		if name == nil {
			return nil // invalid
		}
		return []pathOf{{s.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case s.PodCertificate != nil:
		var paths []pathOf
		for _, p := range []pathOf{
			{s.PodCertificate.CertificateChainPath, "PodCertificate chain"}, {s.PodCertificate.KeyPath, "PodCertificate key"},
			{s.PodCertificate.CredentialBundlePath, "PodCertificate credential bundle"},
		} {
			if p.path != "" {
				paths = append(paths, p)
			}
		}
		return paths
	}
	return nil
}
