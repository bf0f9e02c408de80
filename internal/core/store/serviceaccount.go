package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// ServiceAccountKind is the kind of service accounts. They are stored as data.
const ServiceAccountKind api.Kind = "ServiceAccount"

const (
	defaultAccount = "default"
	tokenVolume    = "kube-api-access-"
	tokenPath      = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the lifetime of the token. kube-apiserver adds seven seconds to an hour, by which it recognizes such tokens.
	tokenSeconds = 3607
	// ownSecretsOnly is the annotation of a service account whose pods may use only the Secrets in its lists.
	ownSecretsOnly = "kubernetes.io/enforce-mountable-secrets"
)

// AdmitServiceAccounts has each new pod admitted by its service account from now on (API-512 to API-515). By default a pod may name any.
func (s *Store) AdmitServiceAccounts() { s.accounts = true }

// completeAccount gives a new pod its service account, and the token of that.
func (s *Store) completeAccount(r resource, obj api.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !s.accounts || s.asGiven {
		return nil
	}
	spec := &pod.Spec
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		if err := checkMirror(spec); err != nil {
			return forbidden(r, nameToBe(pod), err)
		}
		return nil
	}
	// API-512: every pod has a service account.
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName, spec.DeprecatedServiceAccount = defaultAccount, defaultAccount
	}
	account, ok := s.serviceAccount(pod.Namespace, spec.ServiceAccountName)
	if !ok {
		absent := apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccount"}, spec.ServiceAccountName)
		return forbidden(r, nameToBe(pod), fmt.Errorf("error looking up service account %s/%s: %w", pod.Namespace, spec.ServiceAccountName, absent))
	}
	if wantsToken(account, pod) {
		s.mountToken(pod)
	}
	// API-512: the pod pulls images with the secrets of its account.
	if len(spec.ImagePullSecrets) == 0 && len(account.ImagePullSecrets) > 0 {
		spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	// API-514: some accounts have a list of secrets.
	if enforced, _ := strconv.ParseBool(account.Annotations[ownSecretsOnly]); enforced {
		if err := checkSecrets(account, spec); err != nil {
			return forbidden(r, nameToBe(pod), err)
		}
	}
	return nil
}

// serviceAccount returns a service account. SIM: a default one that does not exist is about to be created.
func (s *Store) serviceAccount(namespace, name string) (*corev1.ServiceAccount, bool) {
	if t := s.others.tables[ServiceAccountKind]; t != nil {
		if obj, ok := t.Lookup(api.Key(namespace, name)); ok {
			return plain.Shared[*corev1.ServiceAccount](obj), true
		}
	}
	return &corev1.ServiceAccount{}, name == defaultAccount
}

// nameToBe returns the name of a pod, or the beginning of the one that it will get.
func nameToBe(pod *corev1.Pod) string {
	if pod.Name == "" {
		return pod.GenerateName
	}
	return pod.Name
}

// wantsToken reports whether the containers of a pod get a token: what the pod says comes first (API-513).
func wantsToken(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	for _, says := range []*bool{pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken} {
		if says != nil {
			return *says
		}
	}
	return true
}

// mountToken mounts a volume with a token in each container that mounts nothing at its path (API-513).
func (s *Store) mountToken(pod *corev1.Pod) {
	spec := &pod.Spec
	isToken := func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, tokenVolume) }
	// API-513: one that the pod has already is used.
	known := slices.IndexFunc(spec.Volumes, isToken)
	var name string
	if known >= 0 {
		name = spec.Volumes[known].Name
	} else {
		// The last attempt has other letters than the name of the pod.
		name = generateName(tokenVolume, s.nthName(tokenVolume), generateNameAttempts-1)
	}
	mounted := false
	for _, containers := range []*[]corev1.Container{&spec.InitContainers, &spec.Containers} {
		*containers = slices.Clone(*containers)
		for i := range *containers {
			c := &(*containers)[i]
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
				continue
			}
			c.VolumeMounts = append(slices.Clip(c.VolumeMounts), corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath})
			mounted = true
		}
	}
	if known < 0 && mounted {
		spec.Volumes = append(slices.Clip(spec.Volumes), corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenSource()}})
	}
}

// tokenSource is the source of a volume with a token, the authority of the cluster, and the name of the namespace.
func tokenSource() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}
}

// checkSecrets refuses Secrets that are not in the lists of the service account (API-514).
func checkSecrets(account *corev1.ServiceAccount, spec *corev1.PodSpec) error {
	listed := func(name string) bool {
		return slices.ContainsFunc(account.Secrets, func(s corev1.ObjectReference) bool { return s.Name == name })
	}
	for i := range spec.Volumes {
		if source := spec.Volumes[i].Secret; source != nil && !listed(source.SecretName) {
			return fmt.Errorf("volume with secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret",
				source.SecretName, account.Name)
		}
	}
	for _, group := range []struct {
		what       string
		containers []corev1.Container
	}{{"init container", spec.InitContainers}, {"container", spec.Containers}} {
		for i := range group.containers {
			if err := checkEnvironment(account, listed, group.what, &group.containers[i]); err != nil {
				return err
			}
		}
	}
	for i, secret := range spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, secret) {
			return fmt.Errorf(`imagePullSecrets[%d].name="%s" is not allowed because service account %s does not reference that imagePullSecret`,
				i, secret.Name, account.Name)
		}
	}
	return nil
}

// checkEnvironment refuses Secrets in the environment of a container that are not listed.
func checkEnvironment(account *corev1.ServiceAccount, listed func(string) bool, what string, c *corev1.Container) error {
	const reason = " secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret"
	for _, env := range c.Env {
		if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil && !listed(env.ValueFrom.SecretKeyRef.Name) {
			return fmt.Errorf("%s %s with envVar %s referencing"+reason, what, c.Name, env.Name, env.ValueFrom.SecretKeyRef.Name, account.Name)
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && !listed(from.SecretRef.Name) {
			return fmt.Errorf("%s %s with envFrom referencing"+reason, what, c.Name, from.SecretRef.Name, account.Name)
		}
	}
	return nil
}
