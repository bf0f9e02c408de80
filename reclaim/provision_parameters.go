package reclaim

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// Parameters of a StorageClass that are for the sidecar begin with parameterPrefix.
const (
	parameterPrefix = "csi.storage.k8s.io/"
	parameterFSType = parameterPrefix + "fstype"
)

// secretKind is a kind of call with a secret of its own. The StorageClass names it with two parameters, such as
// csi.storage.k8s.io/node-stage-secret-name and …-namespace.
type secretKind struct {
	name       string // in errors
	parameter  string // what the two parameters begin with
	deprecated string // the same of their old names, "" if there are none
}

var (
	secretDefault           = secretKind{"Default", parameterPrefix + "secret", ""}
	secretProvisioner       = secretKind{"Provisioner", parameterPrefix + "provisioner-secret", "csiProvisionerSecret"}
	secretControllerPublish = secretKind{"ControllerPublish", parameterPrefix + "controller-publish-secret", "csiControllerPublishSecret"}
	secretNodeStage         = secretKind{"NodeStage", parameterPrefix + "node-stage-secret", "csiNodeStageSecret"}
	secretNodePublish       = secretKind{"NodePublish", parameterPrefix + "node-publish-secret", "csiNodePublishSecret"}
	secretControllerExpand  = secretKind{"ControllerExpand", parameterPrefix + "controller-expand-secret", ""}
	secretNodeExpand        = secretKind{"NodeExpand", parameterPrefix + "node-expand-secret", ""}
	secretControllerModify  = secretKind{"ControllerModify", parameterPrefix + "controller-modify-secret", ""}
)

var secretKinds = []secretKind{secretDefault, secretProvisioner, secretControllerPublish, secretNodeStage, secretNodePublish,
	secretControllerExpand, secretNodeExpand, secretControllerModify}

// driverParameters returns the parameters of a class without those of the sidecar.
func driverParameters(class *storagev1.StorageClass) (map[string]string, error) {
	parameters := map[string]string{}
	for _, key := range objects.SortedKeys(class.Parameters) {
		switch {
		case !strings.HasPrefix(key, parameterPrefix):
			parameters[key] = class.Parameters[key]
		case key != parameterFSType && !namesSecret(key):
			// XPROV-034: an unknown parameter with the reserved prefix is an error.
			return nil, fmt.Errorf("failed to strip CSI Parameters of prefixed keys: found unknown parameter key \"%s\" with reserved namespace %s",
				key, parameterPrefix)
		}
	}
	return parameters, nil
}

func namesSecret(key string) bool {
	return slices.ContainsFunc(secretKinds, func(k secretKind) bool { return key == k.parameter+"-name" || key == k.parameter+"-namespace" })
}

// fsTypeOf returns the file system of a class, "" for the driver's choice.
func fsTypeOf(class *storagev1.StorageClass) (string, error) {
	fsType, found := "", 0
	for key, value := range class.Parameters {
		if key == parameterFSType || strings.EqualFold(key, "fstype") {
			fsType = value
			found++
		}
	}
	if found > 1 {
		// XPROV-034: two parameters must not name the file system.
		return "", fmt.Errorf("fstype specified in parameters with both \"fstype\" and \"%s\" keys", parameterFSType)
	}
	return fsType, nil
}

// secretsOf are the secrets that a class names; nil for none.
type secretsOf struct {
	provisioner, controllerPublish, nodeStage, nodePublish, controllerExpand, nodeExpand, controllerModify *corev1.SecretReference
}

// secrets returns the secrets of all calls about a volume.
func secrets(class *storagev1.StorageClass, volume string, claim *corev1.PersistentVolumeClaim) (s secretsOf, err error) {
	for _, each := range []struct {
		kind secretKind
		ref  **corev1.SecretReference
	}{
		{secretProvisioner, &s.provisioner}, {secretControllerPublish, &s.controllerPublish}, {secretNodeStage, &s.nodeStage},
		{secretNodePublish, &s.nodePublish}, {secretControllerExpand, &s.controllerExpand}, {secretNodeExpand, &s.nodeExpand},
		{secretControllerModify, &s.controllerModify},
	} {
		if *each.ref, err = secretOf(each.kind, class, volume, claim); err != nil {
			return s, err
		}
	}
	return s, nil
}

// secretOf returns the secret of one kind of call, nil for none. Name and namespace are templates; only the name may contain what the
// author of the claim controls.
func secretOf(kind secretKind, class *storagev1.StorageClass, volume string, claim *corev1.PersistentVolumeClaim) (*corev1.SecretReference,
	error) {
	name, namespace, err := kind.templates(class.Parameters)
	if err != nil {
		return nil, fmt.Errorf("failed to get name and namespace template from params: %w", err)
	}
	if name == "" && namespace == "" {
		// XPROV-034: a default secret is used for all calls without one.
		if name, namespace, err = secretDefault.templates(class.Parameters); err != nil {
			return nil, fmt.Errorf("failed to get default name and namespace template from params: %w", err)
		}
	}
	if name == "" && namespace == "" {
		return nil, nil
	}
	tokens := map[string]string{"pv.name": volume, "pvc.namespace": claim.Namespace}
	ref := &corev1.SecretReference{}
	if ref.Namespace, err = resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	tokens["pvc.name"] = claim.Name
	for key, value := range claim.Annotations {
		tokens["pvc.annotations['"+key+"']"] = value
	}
	ref.Name, err = resolve(name, tokens, "secret", validation.IsDNS1123Subdomain)
	return ref, err
}

// templates returns the two parameters of a kind of secret, "" if the class has none.
func (k secretKind) templates(parameters map[string]string) (name, namespace string, err error) {
	if len(parameters) == 0 {
		return "", "", nil
	}
	names, namespaces := 0, 0
	read := func(key string, value *string, count *int) {
		if v, ok := parameters[key]; ok {
			*value = v
			*count++
		}
	}
	if k.deprecated != "" {
		read(k.deprecated+"Name", &name, &names)
		read(k.deprecated+"Namespace", &namespace, &namespaces)
	}
	read(k.parameter+"-name", &name, &names)
	read(k.parameter+"-namespace", &namespace, &namespaces)
	switch {
	// XPROV-034: name and namespace go together, are given once, and are not empty.
	case names > 1 || namespaces > 1:
		return "", "", fmt.Errorf("%s secrets specified in parameters with both \"csi\" and \"%s\" keys", k.name, parameterPrefix)
	case names != namespaces:
		return "", "", fmt.Errorf("either name and namespace for %s secrets specified, Both must be specified", k.name)
	case names == 1 && (name == "" || namespace == ""):
		return "", "", fmt.Errorf("%s secrets specified in parameters but value of either namespace or name is empty", k.name)
	}
	return name, namespace, nil
}

// resolve replaces the tokens of a template, such as ${pvc.name}, and checks the result.
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
		// XPROV-034: a token that has no value is an error.
		return "", fmt.Errorf("error resolving value %q: invalid tokens: %q", template, objects.SortedKeys(missing))
	case len(invalid(resolved)) > 0 && template != resolved:
		return "", fmt.Errorf("%q resolved to %q which is not a valid %s name", template, resolved, what)
	case len(invalid(resolved)) > 0:
		return "", fmt.Errorf("%q is not a valid %s name", template, what)
	}
	return resolved, nil
}

// readSecret reads the content of a Secret, nil for no reference.
func readSecret(p *engine.Process, ref *corev1.SecretReference) (map[string]string, error) {
	content, err := p.API().Secret(p, ref)
	if err != nil {
		return nil, fmt.Errorf("error getting secret %s in namespace %s: %w", ref.Name, ref.Namespace, err)
	}
	return content, nil
}

// deletionSecret returns the secret for the deletion of a volume, nil for none.
func (c *provisioner) deletionSecret(pv *corev1.PersistentVolume) (*corev1.SecretReference, error) {
	name, hasName := pv.Annotations[annDeletionSecretName]
	namespace, hasNamespace := pv.Annotations[annDeletionSecretSpace]
	if hasName && hasNamespace {
		// XPROV-057: the annotations of the PersistentVolume name the secret, or none.
		if name == "" || namespace == "" {
			return nil, nil
		}
		return &corev1.SecretReference{Name: name, Namespace: namespace}, nil
	}
	// XPROV-057: without them it is that of the StorageClass, if both still exist.
	class, ok := c.classes.Get(objects.ClassOfVolume(pv))
	if !ok || pv.Spec.ClaimRef == nil {
		return nil, nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name, claim.Namespace = pv.Spec.ClaimRef.Name, pv.Spec.ClaimRef.Namespace
	ref, err := secretOf(secretProvisioner, class, pv.Name, claim)
	if err != nil {
		return nil, fmt.Errorf("failed to get secretreference for volume %s: %w", pv.Name, err)
	}
	return ref, nil
}
