// Package harness runs real controllers in a cluster whose API server is volsim's, inside a testing/synctest bubble. It is the part of the real
// side that does not depend on which controllers run: API server, storage, faults, Events, the record of what happens, and the sequencer.
//
// Package upstream adds the controllers of Kubernetes. Those of other projects are in modules of their own, because they need other
// versions of client-go.
package harness
