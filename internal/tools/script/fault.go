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
			usage: []string{"api [VERB] [KIND[/NAME]] [WHO] EFFECT [LIMIT]", "backend NAME|any [OP] [VOLUME] [WHO] EFFECT [LIMIT]", "node NODE WHAT", "clear [VERB...]"},
			help: "Makes something go wrong from now on. `fault api` is about calls of controllers to the API server: VERB is one of `get`, `list`, `create`, `update`, `update-status`, `patch`, `patch-status`, `delete`, `bind`. " +
				"`fault backend` is about calls to storage: OP is an operation (see `backend`), VOLUME its handle, or the name of the volume to be created. WHO is `actor=CONTROLLER`, and for backends `node=NODE` and `pod=NAME`.\n\n" +
				"EFFECT is one or more of:\n\n" +
				"- `error=CODE[:MESSAGE]`: the call fails and has no effect. CODE is for the API server one of " + apiCodeNames() + "; for backends a gRPC code such as `Internal`, `Unavailable`, `ResourceExhausted`.\n" +
				"- `lose=CODE[:MESSAGE]`: the call takes effect, but its reply is lost and the caller gets this error.\n" +
				"- `delay=DURATION`: the call takes longer.\n" +
				"- `crash`: the caller dies at the call, before it takes effect, or with `effect` after that; it starts again at once, or with `restart=DURATION` later.\n\n" +
				"LIMIT is `once`, `times=N` and `skip=N` (the first N calls pass). The first rule that matches a call and is not used up decides.\n\n" +
				"`fault node NODE` does at once what WHAT says: `poweroff`, `start`, `reboot`, `stop-kubelet`, `partition` (no API server; storage can be reached), `heal` (the end of that), `unregister DRIVER`, `register DRIVER`, " +
				"`break-disk PATH` and `mend-disk PATH` (changes at the path fail), `shutdown` (in order: pods end first).\n\n`fault clear` ends all rules, or those of the given verbs.",
			examples: []string{
				"fault api update-status pv/pv1 error=Conflict once", "fault api create pv actor=external-provisioner/disk.example.com lose=Timeout times=2",
				"fault backend disk.example.com Create error=Internal:'on fire' times=3", "fault backend disk.example.com Attach node=n1 delay=2m", "fault api update pv crash restart=5s",
				"fault node n1 poweroff", "fault clear",
			},
			read: readFault,
		},
		{
			name: "crash", group: breaking, usage: []string{"CONTROLLER"},
			help:     "Stops a controller at once, wherever it is. What it kept in memory is lost. It stays down until `restart`. See `controllers` for the names.",
			examples: []string{"crash persistentvolume-controller", "crash external-attacher/disk.example.com"},
			read:     readControllerCommand("crash", func(p *player, name string) error { return p.cluster.Faults.CrashController(name) }),
		},
		{
			name: "restart", group: breaking, usage: []string{"CONTROLLER"},
			help:     "Starts a controller that crashed; one that runs crashes first. It knows only what the API says.",
			examples: []string{"restart persistentvolume-controller"},
			read: readControllerCommand("restart", func(p *player, name string) error {
				if err := p.cluster.Faults.CrashController(name); err != nil {
					return err
				}
				return p.cluster.Faults.RestartController(name)
			}),
		},
	}
}

func readControllerCommand(name string, do func(*player, string) error) func(*Script, []string) (step, error) {
	return func(_ *Script, args []string) (step, error) {
		if len(args) != 1 {
			return nil, usageOf(name, "one controller is needed")
		}
		return func(p *player) error { return do(p, args[0]) }, nil
	}
}

func readFault(s *Script, args []string) (step, error) {
	if len(args) == 0 {
		return nil, usageOf("fault", "it is not said what goes wrong")
	}
	switch args[0] {
	case "api":
		return readFaultRule(args[1:], faultRule{api: true, match: fake.Match{Target: api.APIServer}})
	case "backend":
		if len(args) < 2 {
			return nil, usageOf("fault", "it is not said which backend")
		}
		r := faultRule{match: fake.Match{Target: args[1]}}
		if args[1] == "any" {
			r.match.Target = ""
		} else if u, err := s.newSetup(-1); err == nil && u.backends[args[1]] == nil {
			return nil, fmt.Errorf("there is no backend %s: begin the script with a line backend %s", args[1], args[1])
		}
		return readFaultRule(args[2:], r)
	case "node":
		return readFaultNode(args[1:])
	case "clear":
		verbs := args[1:]
		return func(p *player) error {
			p.cluster.Faults.Clear(verbs...)
			return nil
		}, nil
	}
	return nil, usageOf("fault", fmt.Sprintf("%q cannot go wrong", args[0]))
}
