package kube

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
)

// Config returns the configuration of a client of the cluster. There is no rate limit. Set UserAgent to the name under which the
// requests shall appear in the trace; it is "client". A rule of Cluster.Faults with the actor user/NAME hits the writes of that client, except for
// its delay.
func Config(c *volsim.Cluster) *rest.Config {
	return &rest.Config{
		Host:          "http://volsim.invalid",
		Transport:     server(c),
		QPS:           -1,
		UserAgent:     "client", // not the name of the test's executable, which is that of its directory
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// Clientset returns a client of the kinds of k8s.io/api.
func Clientset(c *volsim.Cluster) kubernetes.Interface {
	client, err := kubernetes.NewForConfig(Config(c))
	if err != nil {
		panic(fmt.Sprintf("kube: %v", err)) // the configuration is valid
	}
	return client
}

// Dynamic returns a client of all kinds.
func Dynamic(c *volsim.Cluster) dynamic.Interface {
	client, err := dynamic.NewForConfig(Config(c))
	if err != nil {
		panic(fmt.Sprintf("kube: %v", err)) // the configuration is valid
	}
	return client
}

// Handler serves the cluster over HTTP, for clients of other processes. It answers what Config's clients would be answered.
func Handler(c *volsim.Cluster) http.Handler { return server(c) }

// Do calls fn while no request is answered. fn may use all methods of the cluster; it must not make requests, nor wait for one.
func Do(c *volsim.Cluster, fn func()) { server(c).Do(fn) }

// serverKey is where the server of a cluster is attached to its engine.
type serverKey struct{}

// server returns the server of the cluster. There is one, because its lock serializes the requests of all clients.
func server(c *volsim.Cluster) *apiserver.Server {
	e := internals.Engine(c)
	return e.Attached(serverKey{}, func() any {
		return apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(e), Inject: c.Faults.Inject, VirtualTime: true})
	}).(*apiserver.Server)
}
