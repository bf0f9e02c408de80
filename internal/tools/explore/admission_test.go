package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// either is an admission that lets actors change volumes as long as no node is changed, and nodes as long as no volume is.
type either struct{ engine *engine.Engine }

func (a either) Review(w engine.Write) engine.Review {
	if w.Actor == api.User {
		return nil
	}
	return &eitherReview{engine: a.engine, kind: w.Ref.Kind}
}

type eitherReview struct {
	engine  *engine.Engine
	kind    api.Kind
	answers engine.Signal
}

func (r *eitherReview) Try(write func() error) (bool, error) {
	other := api.Node
	if r.kind == api.Node {
		other = api.PersistentVolume
	}
	for _, obj := range r.engine.Store().List(other) {
		if len(obj.GetLabels()) > 0 || len(obj.GetFinalizers()) > 1 {
			return true, fmt.Errorf("a %s is changed", other)
		}
	}
	return true, write()
}
func (r *eitherReview) Answers() *engine.Signal { return &r.answers }
func (r *eitherReview) Answered() bool          { return true }

// labels is a model in which one actor labels a volume, and one a node.
func labels(admission bool) Model {
	return func(choose func(n int) int) (*Run, error) {
		e, err := engine.New(engine.Config{Choose: choose, Trace: &trace.Trace{}})
		if err != nil {
			return nil, err
		}
		if admission {
			e.SetAdmission(either{e})
		}
		run := &Run{Engine: e}
		for _, obj := range []api.Object{fake.Volume("a", "1Gi"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}} {
			if _, err := e.API().Create(e.User(), obj, store.CreateOptions{}); err != nil {
				return nil, err
			}
			ref := api.RefTo(obj)
			run.Independent = append(run.Independent, string(ref.Kind))
			_, err := e.NewActor(string(ref.Kind), func(a *engine.Actor) {
				a.Go("label", func(p *engine.Process) {
					_, _ = e.API().Patch(p, ref, []byte(`{"metadata":{"labels":{"by":"actor"}}}`), api.Main)
				})
			})
			if err != nil {
				return nil, err
			}
		}
		run.Execute = func() error { e.Advance(0); return nil }
		run.Report = func(_ error, choices []engine.Choice) Report {
			var r Report
			out := fmt.Sprint(e.Store().Lookup(api.PersistentVolume, "a").GetLabels(), e.Store().Lookup(api.Node, "a").GetLabels())
			r.add(sample{Choices: choices, Outcome: Outcome(out)})
			return r
		}
		return run, nil
	}
}

// TestAdmission checks that writes to different objects depend on each other if a review of one may read the other.
func TestAdmission(t *testing.T) {
	for _, tt := range []struct {
		admission bool
		outcomes  int
	}{{false, 1}, {true, 2}} {
		x, err := Exhaustive(labels(tt.admission), Options{})
		require.NoError(t, err)
		require.True(t, x.Finished)
		require.Len(t, x.Outcomes, tt.outcomes, "admission %t", tt.admission)
		_, complete := exploresAll(t, labels(tt.admission), 100)
		require.True(t, complete)
	}
}

// policies has a policy that refuses updates of claims once the volume refers to one, so no claim gets bound.
const policies = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: unbound}
spec:
  paramKind: {apiVersion: v1, kind: PersistentVolume}
  matchConstraints: {resourceRules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [persistentvolumeclaims]}]}
  validations: [{expression: "!has(params.spec.claimRef)", message: the volume is taken}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: unbound}
spec: {policyName: unbound, paramRef: {name: only, parameterNotFoundAction: Deny}, validationActions: [Deny]}
---
`

// TestPolicies checks that admission policies review writes in a search, of a script and of a manifest (API-429).
func TestPolicies(t *testing.T) {
	follow := func(c *volsim.Cluster) { apiserver.FollowPolicies(internals.Engine(c)) }
	const refused = "PersistentVolumeClaim/default/data finalizer=kubernetes.io/pvc-protection phase=Pending"
	s, err := ReadScript("x.txtar", []byte("config without="+strings.Join(idle, ",")+
		"\napply -f all.yaml\nadvance 1s\n-- all.yaml --\n"+policies+one))
	require.NoError(t, err)
	s.Policies = follow
	x, err := Exhaustive(s.Model(0), Options{MaxRuns: searches(100, DefaultMaxRuns)})
	require.NoError(t, err)
	require.NotEmpty(t, x.Outcomes)
	for _, o := range x.Outcomes {
		require.Contains(t, string(o.Outcome), refused)
	}

	w, err := Manifest{Data: []byte(policies + one), Without: idle, Policies: follow}.Model()
	require.NoError(t, err)
	run, outcome, err := Replay(w, []engine.Choice{})
	require.NoError(t, err)
	run.Engine.Close()
	require.Contains(t, string(outcome), refused)
}
