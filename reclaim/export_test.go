package reclaim

// For the tests.
var (
	EphemeralClaim = ephemeralClaim
	ErrIgnored     = errIgnored
	IsReleased     = isReleased
	NewRecyclerPod = newRecyclerPod
	Responsible    = responsible
)
