// Package standard has what makes the objects that each real cluster has: kube-apiserver with its default roles and priority classes, and
// controllers of kube-controller-manager: for the ServiceAccount default and the ConfigMap kube-root-ca.crt of each namespace, for aggregated
// ClusterRoles, and for the status of admission policies. Served clusters have them, because their clients expect these objects. No other cluster has them: its traces would have writes that
// say nothing about storage.
package standard

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/controller"
)

// Names: of the controllers, those of their accounts in a real cluster.
const (
	APIServer       = "kube-apiserver"
	ServiceAccounts = "service-account-controller"
	RootCA          = "root-ca-cert-publisher"
	Aggregation     = "clusterrole-aggregation-controller"
	PolicyStatus    = "validatingadmissionpolicy-status-controller"
)

// starts has what starts each of them.
var starts = map[string]func(*controller.Setup){
	APIServer: startAPIServer, ServiceAccounts: startAccounts, RootCA: startAuthorities, Aggregation: startAggregation,
}

// Names lists all of them.
func Names() []string { return append([]string{APIServer}, Controllers()...) }

// Controllers lists those of kube-controller-manager.
func Controllers() []string { return []string{ServiceAccounts, RootCA, Aggregation, PolicyStatus} }

// New returns one by name. Only PolicyStatus needs check.
func New(name string, check TypeCheck) (ctl controller.Controller, ok bool) {
	start, ok := starts[name]
	if name == PolicyStatus && check != nil {
		start, ok = func(s *controller.Setup) { startPolicyStatus(s, check) }, true
	}
	if !ok {
		return controller.Controller{}, false
	}
	return controller.Controller{Name: name, Start: start}, true
}

// ignored returns an error unless the object exists or its namespace is gone.
func ignored(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
