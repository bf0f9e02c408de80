package reclaim

// For the tests.
var EphemeralClaim = ephemeralClaim
