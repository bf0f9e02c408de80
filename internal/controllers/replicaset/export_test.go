package replicaset

// Before is before for tests.
var Before = before
