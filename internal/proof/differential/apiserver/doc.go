// Package apiserver serves a store to client-go, without a network.
//
// A Server is an http.RoundTripper: a clientset with this transport lists, watches, reads and writes the objects of a store.Store, in
// JSON, like
// with a real server. So the controllers of Kubernetes run unmodified. Lists are not paged. Watches never end by themselves, and can
// begin with all
// objects (sendInitialEvents), as client-go asks for. Patches may be JSON merge patches and strategic merge patches.
//
// A Server can be slow: requests wait before and after they take effect, watch events before they arrive, as Config says. It never waits
// with its
// lock held, so it works inside a bubble of testing/synctest.
package apiserver
