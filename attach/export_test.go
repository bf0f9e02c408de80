package attach

// For the tests.
var (
	IsAttached = isAttached
	ActionFor  = actionFor
)

// PodAction is the type of the actions.
type PodAction = podAction

// The actions.
const (
	IgnoresPod     = ignoresPod
	AddsVolumes    = addsVolumes
	RemovesVolumes = removesVolumes
)
