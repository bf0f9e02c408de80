// Package kube connects client-go to a simulated cluster: [Config] returns a *rest.Config whose requests are answered in the process, without
// a port, and [Clientset] and [Dynamic] return clients.
//
//	c := volsimtest.New(t)
//	client := kube.Clientset(c.Cluster)
//
// Requests take effect at once, and appear in the trace as those of user/NAME, where NAME is the user agent, or "client". Virtual time passes only when the
// test lets it pass: create a claim with the client, call c.Settle, and get it with the client. Watches and informers work; their
// events arrive when the cluster writes.
//
// A cluster is not safe for concurrent use, but clients are. If informers or other goroutines make requests while the test runs the
// cluster, run it within [Do].
//
// Package kube/controllerruntime has clients and managers of controller-runtime, kube/envtest a replacement of its test environment. Each is a
// module of its own.
package kube
