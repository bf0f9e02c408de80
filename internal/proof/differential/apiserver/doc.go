// Package apiserver makes a store the API server of client-go, without a network.
//
// A Server is an http.RoundTripper: a clientset that is given it as its transport lists, watches, reads and writes the objects of a
// store.Store, in JSON, and takes nothing for anything but a real server. So controllers of Kubernetes run unaltered, and what
// they do to the store is what they would do to a cluster. Lists are answered whole. A watch never ends by itself, and can be
// asked to begin with all objects (sendInitialEvents), as client-go does. Patches may be JSON merge patches and strategic merge
// patches.
//
// A Server can be slow: requests wait before and after they take effect, watch events before they arrive, for as long as Config
// says. It never waits with its lock held, so it works inside a bubble of testing/synctest.
package apiserver
