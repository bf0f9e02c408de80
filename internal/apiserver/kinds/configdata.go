package kinds

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Rules of the kinds that configure programs (API-461).
var (
	secretRules = store.KindRules{
		Check: func(obj, _ *plain.Object) field.ErrorList {
			secret, err := plain.As[*corev1.Secret](obj)
			if err != nil {
				return field.ErrorList{field.Invalid(field.NewPath("data"), obj.Content()["data"], err.Error())}
			}
			return checkSecret(secret)
		},
		Warn: typedWarn(func(secret, _ *corev1.Secret) []string {
			if secret.Type != corev1.SecretTypeTLS {
				return nil
			}
			// API-461: the key must be that of the certificate.
			if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
				return []string{err.Error()}
			}
			return nil
		}),
	}
	configMapRules = store.KindRules{Check: func(obj, _ *plain.Object) field.ErrorList {
		config, err := plain.As[*corev1.ConfigMap](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("data"), obj.Content()["data"], err.Error())}
		}
		return checkConfigMap(config)
	}}
)

// checkKeys requires keys that can be names of files, and returns the size of the values.
func checkKeys[V string | []byte](values map[string]V, path *field.Path) (errs field.ErrorList, size int) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, text := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(path.Key(key), key, text))
		}
		size += len(values[key])
	}
	return errs, size
}

func checkConfigMap(config *corev1.ConfigMap) field.ErrorList {
	path := field.NewPath("data")
	errs, size := checkKeys(config.Data, path)
	for _, key := range slices.Sorted(maps.Keys(config.Data)) {
		if _, both := config.BinaryData[key]; both {
			errs = append(errs, field.Invalid(path.Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	more, binary := checkKeys(config.BinaryData, field.NewPath("binaryData"))
	if errs = append(errs, more...); size+binary > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

func checkSecret(secret *corev1.Secret) field.ErrorList {
	path := field.NewPath("data")
	errs, size := checkKeys(secret.Data, path)
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(path, "", corev1.MaxSecretSize))
	}
	lacks := func(key string) bool {
		_, found := secret.Data[key]
		return !found
	}
	require := func(keys ...string) {
		for _, key := range keys {
			errs = append(errs, field.Required(path.Key(key), ""))
		}
	}
	isDocument := func(key string) {
		if lacks(key) {
			require(key)
		} else if err := json.Unmarshal(secret.Data[key], &map[string]any{}); err != nil {
			errs = append(errs, field.Invalid(path.Key(key), "<secret contents redacted>", err.Error()))
		}
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		if secret.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		isDocument(corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		isDocument(corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		if lacks(corev1.BasicAuthUsernameKey) && lacks(corev1.BasicAuthPasswordKey) {
			require(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(secret.Data[corev1.SSHAuthPrivateKey]) == 0 {
			require(corev1.SSHAuthPrivateKey)
		}
	case corev1.SecretTypeTLS:
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if lacks(key) {
				require(key)
			}
		}
	}
	return errs
}
