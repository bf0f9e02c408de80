package apiserver

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// admit completes a new object as those admission plugins of kube-apiserver do that only matter to clients.
func (s *Server) admit(obj api.Object) error {
	switch obj := obj.(type) {
	case *corev1.Node:
		if s.cfg.TaintNodes {
			taintNode(obj)
		}
	case *plain.Object:
		if api.KindOf(obj) == kinds.Ingress {
			kinds.CompleteIngress(obj, s.store.List(kinds.IngressClass))
		}
	}
	return nil
}

func taintNode(node *corev1.Node) {
	// API-257: a new node is not ready, whatever it reports.
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(slices.Clip(node.Spec.Taints), taint)
	}
}
