package conformance

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
)

// TableCase is one line of a table of the PersistentVolume controller: objects before, a call, objects after.
type TableCase struct {
	Name    string     `json:"name"`
	Group   string     `json:"group"`
	Initial tableState `json:"initial"`
	// Mode is sync, multisync or controller; Call is syncClaim, syncClaimError, syncVolume or run.
	Mode string `json:"mode"`
	Call string `json:"call"`
	// Actions are steps for a running controller.
	Actions []tableAction `json:"actions"`
	// Plugin is the only storage; nil is none.
	Plugin *pluginScript `json:"plugin"`
	// ReactorErrors are API requests that fail.
	ReactorErrors []requestError `json:"reactorErrors"`
	// StateBeforeOperation is stored when a background operation begins; nil changes nothing.
	StateBeforeOperation *hiddenState `json:"stateBeforeOperation"`
	// CSIMigration is the driver to which the plugin is migrated; "" is none.
	CSIMigration string `json:"csiMigration"`
	// Expected are the volumes and claims in the API server afterwards.
	Expected expectedState `json:"expected"`
	// ExpectedEvents are "Type Reason", in order.
	ExpectedEvents []string `json:"expectedEvents"`
}

// tableState is the contents of API server and caches.
type tableState struct {
	Volumes []*corev1.PersistentVolume      `json:"persistentVolumes"`
	Claims  []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	Classes []*storagev1.StorageClass       `json:"storageClasses"`
	Pods    []*corev1.Pod                   `json:"pods"`
}

func (s tableState) objects() []api.Object {
	var objs []api.Object
	objs = appendObjects(objs, s.Classes)
	objs = appendObjects(objs, s.Pods)
	objs = appendObjects(objs, s.Volumes)
	return appendObjects(objs, s.Claims)
}

func appendObjects[T api.Object](objs []api.Object, list []T) []api.Object {
	for _, obj := range list {
		objs = append(objs, obj)
	}
	return objs
}

type tableAction struct {
	Action string          `json:"action"`
	Name   string          `json:"name"`
	Object json.RawMessage `json:"object"`
}

// pluginScript contains the results of calls to an in-tree plugin, in order.
type pluginScript struct {
	Name      string            `json:"name"`
	Provision []provisionResult `json:"provision"`
	Delete    []*string         `json:"delete"`
	Recycle   []*string         `json:"recycle"`
}

type provisionResult struct {
	Error              *string           `json:"error"`
	ExpectedParameters map[string]string `json:"expectedParameters"`
}

type requestError struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Error    string `json:"error"`
}

// hiddenState holds the objects that changed without the controller's knowledge.
type hiddenState struct {
	APIVolumes    []*corev1.PersistentVolume      `json:"apiVolumes"`
	APIClaims     []*corev1.PersistentVolumeClaim `json:"apiClaims"`
	CachedVolumes []*corev1.PersistentVolume      `json:"cachedVolumes"`
	CachedClaims  []*corev1.PersistentVolumeClaim `json:"cachedClaims"`
	Nodes         []*corev1.Node                  `json:"nodes"`
}

type expectedState struct {
	Volumes []*corev1.PersistentVolume      `json:"persistentVolumes"`
	Claims  []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
}
