// Package accounts has the two controllers of kube-controller-manager that put an object in each namespace: the ServiceAccount default and the
// ConfigMap kube-root-ca.crt. Served clusters have them, because their clients expect these objects. No other cluster has them: its traces would
// have writes that say nothing about storage.
package accounts

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
)

// Names of the controllers: those of their accounts in a real cluster.
const (
	ServiceAccounts = "service-account-controller"
	RootCA          = "root-ca-cert-publisher"
)

// Names lists the controllers.
func Names() []string { return []string{ServiceAccounts, RootCA} }

// Objects that each namespace has.
const (
	account   = "default"
	authority = "kube-root-ca.crt"
)

// New returns a controller by name.
func New(name string) (ctl controller.Controller, ok bool) {
	switch name {
	case ServiceAccounts:
		return controller.Controller{Name: name, Start: startAccounts}, true
	case RootCA:
		return controller.Controller{Name: name, Start: startAuthorities}, true
	}
	return controller.Controller{}, false
}

// startAccounts keeps the ServiceAccount (API-459).
func startAccounts(s *controller.Setup) {
	var accounts *controller.Cache[*corev1.ServiceAccount]
	queue, active := queueNamespaces(s, func(p *controller.Process, namespace string) error {
		if _, ok := accounts.Get(api.Key(namespace, account)); ok {
			return nil
		}
		_, err := controller.Create(p, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})
		return ignored(err)
	})
	accounts = controller.Watch(s, func(c api.Change[*corev1.ServiceAccount]) {
		if c.Type == api.Deleted && c.Object.Name == account {
			queue.Add(c.Object.Namespace)
		}
	})
	active()
}

// startAuthorities keeps the ConfigMap with the certificate of the cluster's authority (API-460).
func startAuthorities(s *controller.Setup) {
	var configs *controller.Cache[*corev1.ConfigMap]
	queue, active := queueNamespaces(s, func(p *controller.Process, namespace string) error {
		config, ok := configs.Get(api.Key(namespace, authority))
		if !ok {
			_, err := controller.Create(p, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: authority, Annotations: maps.Clone(description)}, Data: maps.Clone(certificate),
			})
			return ignored(err)
		}
		if maps.Equal(config.Data, certificate) && config.Annotations[descriptionKey] != "" {
			return nil
		}
		config.Data, config.Annotations = maps.Clone(certificate), maps.Clone(description)
		_, err := controller.Update(p, config)
		return err
	})
	configs = controller.Watch(s, func(c api.Change[*corev1.ConfigMap]) {
		if c.Type != api.Added && c.Object.Name == authority {
			queue.Add(c.Object.Namespace)
		}
	})
	active()
}

// queueNamespaces returns a queue of namespaces, and a function that begins to fill it. sync is not called for one that ends.
func queueNamespaces(s *controller.Setup, sync func(p *controller.Process, namespace string) error) (queue *controller.Queue, begin func()) {
	var namespaces *controller.Cache[*corev1.Namespace]
	queue = s.NewQueue("namespaces", func(p *controller.Process, name string) error {
		// API-459, API-460: a namespace that is being deleted gets nothing.
		if namespace, ok := namespaces.Get(name); !ok || namespace.Status.Phase == corev1.NamespaceTerminating {
			return nil
		}
		return sync(p, name)
	})
	return queue, func() {
		namespaces = controller.Watch(s, func(c api.Change[*corev1.Namespace]) { queue.Add(c.Object.Name) })
	}
}

// ignored returns an error unless the object exists or its namespace is gone.
func ignored(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

const descriptionKey = "kubernetes.io/description"

var description = map[string]string{descriptionKey: "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
	"internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."}

// certificate is that of an authority that has signed nothing: containers, which would trust it, do not run.
var certificate = map[string]string{"ca.crt": `-----BEGIN CERTIFICATE-----
MIIBgDCCASegAwIBAgIUSgqTkHq1pMdtG7LAKh7aYRSnFbkwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjgxNDEwNDlaGA8yMTI2MTEw
NDE0MTA0OVowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABE2pSDvTSgD2HbpReyySC4wwpvCPvC89x+/PALLw+ktyX7PRbOhh
SaVe5FsTZ8Z1v1jNFBjw6oDvWui4Th7S6i6jUzBRMB0GA1UdDgQWBBRq9fJbWX5H
ihq+3hkYZespetq4zjAfBgNVHSMEGDAWgBRq9fJbWX5Hihq+3hkYZespetq4zjAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIAfa9P9XAmCBpfcdJIYA
1+stY1GbyBuMeZHqY2zQnxYRAiBFyjR86p1gcm1CYGPwMwsTiSs1POp9LnPgX+pW
sn4b1A==
-----END CERTIFICATE-----
`}
