// Package engine runs a control plane in virtual time: one event after the other, in one thread, the same every time.
//
// # What the real thing is
//
// The control plane of Kubernetes is many processes that never speak to one another. Each watches the API server through
// informers, keeps keys in work queues, works on a key by reading its cache and writing to the server, runs slow work in the
// background, and looks at everything again once in a while. What it does depends on what it has seen by then, and on who got
// there first. A process may die at any moment and starts again with no memory.
//
// # What is simulated
//
// An [Engine] holds the API server's objects (package store) and a clock that moves from one event to the next. What is due comes in
// the order of (time, sequence). A seed shuffles what is due at the same instant and makes every API call a point at which others
// may get in between; all choices come from that one source and are recorded, so that a run can be replayed ([Replay]).
//
// An [Actor] is one component. It has what client-go gives a controller: [Informer], [Queue] with its rate limits, [Recorder] for
// Events; what the volume controllers add: [Operations] with exponential backoff, and [Loop] for periodic passes; and [Signal] for
// whoever waits. A [Proc] is one activity of it, written as straight code; it is suspended where the real one would wait. A crash
// ends an actor with all its processes, timers and caches; the objects stay.
//
// Latency, the lag of watches, and faults ([Injector]) come from the outside. What happens is recorded in a [Trace], which can be
// written as text, as JSON, and like the controllers' own logs; [Changes] tells two versions of an object apart.
//
// # What is left out
//
//   - Parallelism: an activity is interrupted at calls and waits only. Code between two of them is atomic, as if under a lock.
//   - The network: a watch neither breaks nor is it bundled, a list is not paged; a call fails only if the server refuses or a fault
//     is injected. Events are written at once, not through a buffer that may overflow.
//   - Resync of informers, leader election, client-side throttling, priorities and timeouts of requests.
//   - A queue does not shut down in order; it ends with its actor.
//
// # Rules
//
// BIND-004 (limits of queues and correlation of Events), BIND-034 to BIND-036 (queues), BIND-091 to BIND-095 (operations). Watches
// of selected objects follow API-073. The names of operations (BIND-090) and which of them never fail (BIND-096) are their
// owners' business.
package engine
