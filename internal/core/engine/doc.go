// Package engine runs a control plane in virtual time: one event after the other, in one thread, with the same result every time.
//
// # What Kubernetes does
//
// The control plane of Kubernetes consists of many processes that communicate only through the API server. Each process watches the
// server through informers, keeps keys in work queues, reads its cache and writes to the server, runs slow work in the background, and
// repeats its work periodically. Its actions depend on what its cache contains at that moment. A process may crash at any time; it
// restarts without memory.
//
// # What is simulated
//
// An [Engine] holds the API server's objects (package store) and a clock that jumps from event to event. Events run in the order of
// (time, sequence). A seed shuffles the events of one instant and lets other actors run at every API call; all choices come from that
// seed and are recorded, so that a run can be replayed ([Replay]).
//
// An [Actor] is one component. It has what client-go gives a controller: [Informer], [Queue] with rate limits, [Recorder] for Events;
// what the volume controllers add: [NestedOperations] with exponential backoff, and [Ticker] for periodic passes; and
// [Signal] for processes that wait. A [Process] is one sequential activity of an actor, written as straight-line code; it is suspended where the
// real one waits. A crash ends an actor with all its processes, timers and caches; the objects stay.
//
// Latency, the lag of watches, and faults come from the configuration. What happens is recorded in a trace.Trace.
//
// # What is not simulated
//
//   - Parallelism: a process is interrupted only at calls and waits. Code between two of them is atomic, as under a lock.
//   - The network: watches neither break nor bundle changes, lists are not paged; a call fails only if the server rejects it or a fault
//     is injected. Events are written at once, not through a buffer that may overflow.
//   - Resync of informers, leader election, client-side throttling, priorities and timeouts of requests.
//   - The orderly shutdown of a queue; a queue ends with its actor.
//
// # Rules
//
// BIND-004 (limits of queues and correlation of Events), BIND-034 to BIND-036 (queues), BIND-091 to BIND-095, ATT-081 to ATT-090 and
// MNT-150 to MNT-158 (operations). Watches of selected objects follow API-073. The names of operations (BIND-090) and which of them
// never fail (BIND-096) are up to the controllers.
package engine
