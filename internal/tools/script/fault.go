package script

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

func faultCommands() []*command {
	return []*command{
		{
			name: "fault", group: breaking,
			usage: []string{"api [VERB] [KIND[/NAME]] [WHO] EFFECT [LIMIT]", "backend NAME|any [OP] [VOLUME] [WHO] EFFECT [LIMIT]",
				"node NODE WHAT", "clear [VERB...]"},
			help: "Injects faults from now on. `fault api` matches calls of controllers to the API server, and those of `request` that write: VERB is one of `get`, `list`, `create`, `update`, `update-status`, `update-finalize`, `patch`, `patch-status`, `delete`, `deletecollection`, `bind`. " +
				"`fault backend` matches calls to storage: OP is an operation (see `backend`), VOLUME the handle of a volume or, for `Create`, its name. A word that almost is an operation is an error; a volume with such a handle needs an operation before it. WHO is `actor=CONTROLLER` (or `actor=user/CLIENT` for writes of `request`), and for backends `node=NODE` and `pod=NAME`.\n\n" +
				"EFFECT is one or more of:\n\n" +
				"- `error=CODE[:MESSAGE]`: the call fails and has no effect. For the API server, CODE is one of " + apiCodeNames() +
				"; for backends a gRPC code such as `Internal`, `Unavailable`, `ResourceExhausted`. Without MESSAGE, the errors about an object (the first four) have the text of kube-apiserver, with resource and name.\n" +
				"- `lose=CODE[:MESSAGE]`: the call takes effect, but its reply is lost and the caller gets this error.\n" +
				"- `delay=DURATION`: the call takes longer.\n" +
				"- `crash`: the caller crashes at the call, before it takes effect, or with `effect` afterwards; it restarts at once, or after `restart=DURATION`.\n\n" +
				"LIMIT is `once`, `times=N` and `skip=N` (the first N calls are not affected). The first matching rule whose limit is not reached applies.\n\n" +
				"`fault node NODE` acts at once. WHAT is one of `poweroff`, `start`, `reboot`, `stop-kubelet`, `partition` (the API server is unreachable, storage is not), `heal` (ends the partition), `unregister DRIVER`, `register DRIVER`, " +
				"`break-disk PATH` and `mend-disk PATH` (changes below the path fail until mended), `shutdown` (graceful: pods end first).\n\n`fault clear` removes all rules, or those of the given verbs.",
			examples: []string{
				"fault api update-status pv/pv1 error=Conflict once",
				"fault api create pv actor=external-provisioner/disk.example.com lose=Timeout times=2",
				"fault backend disk.example.com Create error=Internal:'on fire' times=3",
				"fault backend disk.example.com Attach node=n1 delay=2m", "fault api update pv crash restart=5s",
				"fault node n1 poweroff", "fault clear",
			},
			read: readFault,
		},
		{
			name: "crash", group: breaking, usage: []string{"CONTROLLER"},
			help:     "Stops a controller at once, even between two API calls. Its memory is lost. It stays down until `restart`. `controllers` prints the names.",
			examples: []string{"crash persistentvolume-controller", "crash external-attacher/disk.example.com"},
			read:     readControllerCommand("crash", func(r *runner, name string) error { return r.cluster.Crash(name) }),
		},
		{
			name: "restart", group: breaking, usage: []string{"CONTROLLER"},
			help:     "Starts a controller that crashed; a running one crashes first. It rebuilds its state from the API.",
			examples: []string{"restart persistentvolume-controller"},
			read: readControllerCommand("restart", func(r *runner, name string) error {
				if err := r.cluster.Crash(name); err != nil {
					return err
				}
				return r.cluster.Restart(name)
			}),
		},
	}
}

func readControllerCommand(name string, do func(*runner, string) error) func(*Script, []string) (step, error) {
	return func(_ *Script, args []string) (step, error) {
		if len(args) != 1 {
			return nil, usageOf(name, "want one controller")
		}
		return func(r *runner) error { return do(r, args[0]) }, nil
	}
}

func readFault(s *Script, args []string) (step, error) {
	if len(args) == 0 {
		return nil, usageOf("fault", "missing api, backend, node or clear")
	}
	switch args[0] {
	case "api":
		return readFaultRule(args[1:], faultRule{script: s, api: true, match: fake.Match{Target: api.APIServer}})
	case "backend":
		if len(args) < 2 {
			return nil, usageOf("fault", "missing backend")
		}
		f := faultRule{script: s, match: fake.Match{Target: args[1]}}
		if args[1] == "any" {
			f.match.Target = ""
		} else if u, err := s.newSetup(-1); err == nil && u.backends[args[1]] == nil {
			return nil, fmt.Errorf("unknown backend %s; begin the script with a line backend %s", args[1], args[1])
		}
		return readFaultRule(args[2:], f)
	case "node":
		return readFaultNode(args[1:])
	case "clear":
		verbs := args[1:]
		return func(r *runner) error {
			r.cluster.Faults.Clear(verbs...)
			return nil
		}, nil
	}
	return nil, usageOf("fault", fmt.Sprintf("unknown fault %q", args[0]))
}
