package controllerruntime

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/kube"
)

// NewClient returns a client of the cluster. It reads from the API server, without a cache. Options are those of client.New; HTTPClient is
// ignored. Virtual time passes only when the test lets it pass.
func NewClient(c *volsim.Cluster, opts client.Options) (client.WithWatch, error) {
	opts.HTTPClient = nil
	return client.NewWithWatch(kube.Config(c), opts)
}
