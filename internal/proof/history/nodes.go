package history

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
)

// The nodes of a history with Options.Nodes.
var nodes = []string{"n1", "n2"}

// setOutOfService taints a node as out of service, so that its volumes are detached by force, or removes the taint.
func setOutOfService(c *volsim.Cluster, node string, outOfService bool) error {
	patch := `{"spec":{"taints":null}}`
	if outOfService {
		patch = `{"spec":{"taints":[{"key":"` + corev1.TaintNodeOutOfService + `","effect":"NoExecute"}]}}`
	}
	return c.Patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch)
}

func (r *runner) node() string { return nodes[r.choose(len(nodes))] }

func (r *runner) breakNode() error {
	name := r.node()
	what := r.choose(4)
	node, err := r.Node(name)
	if err != nil {
		return err
	}
	switch what {
	case 0:
		node.Stop()
	case 1:
		node.PowerOff()
	case 2:
		node.PowerOff()
		node.Start()
	default:
		node.Partition(true)
	}
	return nil
}

func (r *runner) repairNode() error {
	name := r.node()
	node, err := r.Node(name)
	if err != nil {
		return err
	}
	node.Partition(false)
	node.Start()
	return setOutOfService(r.Cluster, name, false)
}

// giveUpNode taints a node as out of service and deletes its pods by force, as an administrator does with a node that cannot be reached.
func (r *runner) giveUpNode() error {
	node, now := r.node(), int64(0)
	if !r.oneIn(3) {
		n, err := r.Node(node)
		if err != nil {
			return err
		}
		n.Partition(true)
	}
	for _, pod := range r.Pods.List() {
		if pod.Spec.NodeName == node {
			_ = r.try(r.DeleteWith(pod, api.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
	return setOutOfService(r.Cluster, node, true)
}
