package snapshot

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// parameterPrefix precedes the parameters of a class that are not the driver's.
const parameterPrefix = "csi.storage.k8s.io/"

// reserved are the parameters with the prefix that a class may have.
var reserved = []string{"snapshotter-secret", "snapshotter-list-secret", "group-snapshotter-get-secret", "group-snapshotter-secret"}

// driverParameters returns the parameters of a class for the driver (SNAP-021).
func driverParameters(class *snapshots.Class) (map[string]string, error) {
	rest := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(class.Parameters)) {
		name, prefixed := strings.CutPrefix(key, parameterPrefix)
		name = strings.TrimSuffix(strings.TrimSuffix(name, "-namespace"), "-name")
		switch {
		case !prefixed:
			rest[key] = class.Parameters[key]
		case !slices.Contains(reserved, name):
			// SNAP-021: a parameter with the prefix must be known.
			return nil, fmt.Errorf("found unknown parameter key %q with reserved namespace %s", key, parameterPrefix)
		}
	}
	return rest, nil
}

// secretOf returns the secret that a class names for one kind of call; nil for none (SNAP-008). s is nil if the snapshot is not known.
func secretOf(kind, parameter string, parameters map[string]string, content string, s *snapshots.Snapshot) (*corev1.SecretReference, error) {
	if s == nil {
		return secretFor(kind, parameter, parameters, "volumesnapshot", content, nil)
	}
	return secretFor(kind, parameter, parameters, "volumesnapshot", content, s)
}

// groupSecretOf is secretOf for a group snapshot (SNAP-044).
func groupSecretOf(kind, parameter string, parameters map[string]string, content string, group *snapshots.Group) (*corev1.SecretReference, error) {
	if group == nil {
		return secretFor(kind, parameter, parameters, "volumegroupsnapshot", content, nil)
	}
	return secretFor(kind, parameter, parameters, "volumegroupsnapshot", content, group)
}

// secretFor resolves the templates of a secret. what begins the names of the tokens: ${what.name}.
func secretFor(kind, parameter string, parameters map[string]string, what, content string, of api.Object) (*corev1.SecretReference, error) {
	name, named := parameters[parameterPrefix+parameter+"-name"]
	namespace, spaced := parameters[parameterPrefix+parameter+"-namespace"]
	switch {
	// SNAP-008: name and namespace go together and are not empty.
	case named != spaced:
		return nil, fmt.Errorf("failed to get name and namespace template from params: either name and namespace for %s secrets specified, Both must be specified", kind)
	case !named:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf("failed to get name and namespace template from params: %s secrets specified in parameters but value of either namespace or name is empty", kind)
	}
	// SNAP-008: both are templates; only the name may contain the name of the snapshot.
	tokens := map[string]string{what + "content.name": content}
	if of != nil {
		tokens[what+".namespace"] = of.GetNamespace()
	}
	ref := &corev1.SecretReference{}
	var err error
	if ref.Namespace, err = resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	if of != nil {
		tokens[what+".name"] = of.GetName()
	}
	if ref.Name, err = resolve(name, tokens, "secret", validation.IsDNS1123Subdomain); err != nil {
		return nil, err
	}
	return ref, nil
}

// resolve replaces the tokens of a template, such as ${volumesnapshot.name}, and checks the result.
func resolve(template string, tokens map[string]string, what string, invalid func(string) []string) (string, error) {
	missing := map[string]bool{}
	resolved := os.Expand(template, func(token string) string {
		value, ok := tokens[token]
		if !ok {
			missing[token] = true
		}
		return value
	})
	switch {
	case len(missing) > 0:
		return "", fmt.Errorf("error resolving value %q: invalid tokens: %q", template, slices.Sorted(maps.Keys(missing)))
	case len(invalid(resolved)) > 0 && template != resolved:
		return "", fmt.Errorf("%q resolved to %q which is not a valid %s name", template, resolved, what)
	case len(invalid(resolved)) > 0:
		return "", fmt.Errorf("%q is not a valid %s name", template, what)
	}
	return resolved, nil
}
