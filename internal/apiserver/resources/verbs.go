package resources

import "github.com/volsim/volsim/internal/core/store"

// Verbs of requests.
const (
	VerbGet              = "get"
	VerbList             = "list"
	VerbWatch            = "watch"
	VerbCreate           = "create"
	VerbUpdate           = "update"
	VerbPatch            = "patch"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
)

// Subresources other than status.
const (
	SubresourceBinding  = "binding"
	SubresourceEviction = "eviction"
	SubresourceApproval = "approval" // the conditions of a CertificateSigningRequest
	SubresourceFinalize = string(store.Finalize)
	SubresourceLog      = "log"   // of a container, which its kubelet has
	SubresourceScale    = "scale" // the replicas of any workload in the same form
	SubresourceToken    = "token"
)
