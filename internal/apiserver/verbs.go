package apiserver

import "github.com/volsim/volsim/internal/core/store"

// Verbs of requests.
const (
	verbGet              = "get"
	verbList             = "list"
	verbWatch            = "watch"
	verbCreate           = "create"
	verbUpdate           = "update"
	verbPatch            = "patch"
	verbDelete           = "delete"
	verbDeleteCollection = "deletecollection"
)

// Subresources other than status.
const (
	subresourceBinding  = "binding"
	subresourceEviction = "eviction"
	subresourceApproval = "approval" // the conditions of a CertificateSigningRequest
	subresourceFinalize = string(store.Finalize)
	subresourceLog      = "log"   // of a container, which its kubelet has
	subresourceScale    = "scale" // the replicas of any workload in the same form
	subresourceToken    = "token"
)
