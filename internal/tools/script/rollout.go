package script

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/deployment"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
)

// rolloutTimeout is the default of rollout status: longer than the default progress deadline of a Deployment. kubectl waits without an end.
const rolloutTimeout = 15 * time.Minute

// rollouts are the subcommands of rollout.
var rollouts = map[string]struct {
	options []option
	// run carries the subcommand out on one object.
	run func(r *runner, ref api.Ref, a arguments) error
}{
	"restart": {run: func(r *runner, ref api.Ref, _ arguments) error { return r.restartRollout(ref) }},
	"pause":   {run: func(r *runner, ref api.Ref, _ arguments) error { return r.pauseRollout(ref, true) }},
	"resume":  {run: func(r *runner, ref api.Ref, _ arguments) error { return r.pauseRollout(ref, false) }},
	"history": {options: []option{{long: "revision", value: true}}, run: (*runner).rolloutHistory},
	"undo":    {options: []option{{long: "to-revision", value: true}}, run: (*runner).undoRollout},
	"status":  {options: []option{timeoutOption, {long: "watch", short: "w"}}, run: (*runner).followRollout},
}

// rolledOut are the kinds of workloads that have rollouts.
var rolledOut = []string{"DaemonSet", "Deployment", "StatefulSet"}

// readRollout reads the command rollout.
func readRollout(s *Script, args []string) (step, error) {
	names := strings.Join(slices.Sorted(maps.Keys(rollouts)), ", ")
	if len(args) == 0 {
		return nil, usageOf("rollout", "missing subcommand: want one of "+names)
	}
	verb, ok := rollouts[args[0]]
	if !ok {
		return nil, usageOf("rollout", fmt.Sprintf("unknown subcommand %q: want one of %s", args[0], names))
	}
	a, err := readArguments(args[1:], append([]option{namespaceOption, selectorOption}, verb.options...)...)
	if err != nil {
		return nil, err
	}
	if len(a.rest) == 0 {
		return nil, usageOf("rollout", "missing object")
	}
	if n, err := strconv.ParseInt(a.get("to-revision", "0"), 10, 64); err != nil || n < 0 {
		return nil, fmt.Errorf("invalid --to-revision=%s: want a number from 0", a.get("to-revision", ""))
	}
	if n, err := strconv.ParseInt(a.get("revision", "0"), 10, 64); err != nil || n < 0 {
		return nil, fmt.Errorf("invalid --revision=%s: want a number from 0", a.get("revision", ""))
	}
	if _, err := readTimeout(a); err != nil {
		return nil, err
	}
	if _, err := a.flag("watch"); err != nil {
		return nil, err
	}
	q, err := readQuery(s, a)
	if err != nil {
		return nil, err
	}
	kinds := rolledOut
	if args[0] == "pause" || args[0] == "resume" {
		kinds = []string{"Deployment"}
	}
	for _, kind := range q.kinds {
		if known := s.describe(kind); known == nil || !slices.Contains(kinds, known.Kind) || known.Group != "apps" {
			return nil, fmt.Errorf("cannot %s %s: want one of the kinds %s", args[0], plural(kind), strings.Join(kinds, ", "))
		}
	}
	return forTargets(q, func(r *runner, ref api.Ref) error { return verb.run(r, ref, a) }), nil
}

// deploymentAt returns the Deployment that a reference names, or nil for a reference to another kind.
func (r *runner) deploymentAt(ref api.Ref) (*appsv1.Deployment, error) {
	if ref.Kind != deployment.Kind {
		return nil, nil
	}
	return volsim.Get[*appsv1.Deployment](r.cluster, ref.Key)
}

// restartRollout changes the template of a workload, so that its pods are replaced.
func (r *runner) restartRollout(ref api.Ref) error {
	d, err := r.deploymentAt(ref)
	if err != nil {
		return err
	}
	if d != nil && d.Spec.Paused {
		return fmt.Errorf("deployments.apps %q can't restart paused deployment (run rollout resume first)", d.Name)
	}
	at := r.cluster.Now().UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, at)
	if err := r.cluster.Patch(emptyObject(ref), patch); err != nil {
		return err
	}
	r.printf("%s restarted\n", displayName(ref))
	return nil
}

// pauseRollout pauses or resumes a Deployment.
func (r *runner) pauseRollout(ref api.Ref, pause bool) error {
	d, err := r.deploymentAt(ref)
	switch {
	case err != nil:
		return err
	case pause && d.Spec.Paused:
		return fmt.Errorf("deployments.apps %q is already paused", d.Name)
	case !pause && !d.Spec.Paused:
		return fmt.Errorf("deployments.apps %q is not paused", d.Name)
	}
	if err := r.cluster.Patch(emptyObject(ref), fmt.Sprintf(`{"spec":{"paused":%v}}`, pause)); err != nil {
		return err
	}
	what := "resumed"
	if pause {
		what = "paused"
	}
	r.printf("%s %s\n", displayName(ref), what)
	return nil
}

// undoRollout gives a workload the template of an earlier revision.
func (r *runner) undoRollout(ref api.Ref, a arguments) error {
	revision, _ := strconv.ParseInt(a.get("to-revision", "0"), 10, 64) // readRollout has checked it
	var done bool
	var err error
	switch ref.Kind {
	case deployment.Kind:
		done, err = r.undoDeployment(ref.Key, revision)
	case "StatefulSet.apps":
		var set *appsv1.StatefulSet
		if set, err = volsim.Get[*appsv1.StatefulSet](r.cluster, ref.Key); err == nil {
			done, err = r.undoTemplate(set, &set.Spec.Template, revision)
		}
	default:
		var set *appsv1.DaemonSet
		if set, err = volsim.Get[*appsv1.DaemonSet](r.cluster, ref.Key); err == nil {
			done, err = r.undoTemplate(set, &set.Spec.Template, revision)
		}
	}
	if err != nil {
		return err
	}
	what := "rolled back"
	if !done {
		what = fmt.Sprintf("skipped rollback (current template already matches revision %d)", revision)
	}
	r.printf("%s %s\n", displayName(ref), what)
	return nil
}

// rolloutHistory lists the revisions of a workload, or describes the template of one.
func (r *runner) rolloutHistory(ref api.Ref, a arguments) error {
	revision, _ := strconv.ParseInt(a.get("revision", "0"), 10, 64) // readRollout has checked it
	obj, err := r.get(ref)
	if err != nil {
		return err
	}
	kind := api.Kind("ControllerRevision.apps")
	if ref.Kind == deployment.Kind {
		kind = "ReplicaSet.apps"
	}
	revisions := map[int64]api.Object{}
	for _, other := range r.list(kind) {
		if !controlledBy(other, obj) {
			continue
		}
		number := fmt.Sprint(document.Of(other)["revision"])
		if ref.Kind == deployment.Kind {
			number = other.GetAnnotations()["deployment.kubernetes.io/revision"]
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			revisions[n] = other
		}
	}
	title := ""
	if revision > 0 {
		title = fmt.Sprintf("with revision #%d", revision)
	}
	switch at := revisions[revision]; {
	case len(revisions) == 0:
		r.printf("%s %s\nNo rollout history found.\n", displayName(ref), title)
		return nil
	case revision > 0 && at == nil:
		return errors.New("unable to find the specified revision")
	case revision > 0:
		r.printf("%s %s\n", displayName(ref), title)
		err = r.describeRevision(at)
	default:
		r.printf("%s \n", displayName(ref))
		t := tabwriter.NewWriter(&r.printed, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "REVISION\tCHANGE-CAUSE")
		for _, n := range slices.Sorted(maps.Keys(revisions)) {
			fmt.Fprintf(t, "%d\t%s\n", n, cmp.Or(revisions[n].GetAnnotations()[changeCause], "<none>"))
		}
		err = t.Flush()
	}
	r.printf("\n")
	return err
}

const changeCause = "kubernetes.io/change-cause"

// undoDeployment gives a Deployment template and annotations of the set with that revision, 0 for the previous one. It reports false if the
// template is the same.
func (r *runner) undoDeployment(key string, revision int64) (bool, error) {
	d, err := volsim.Get[*appsv1.Deployment](r.cluster, key)
	if err != nil {
		return false, err
	}
	var sets []*appsv1.ReplicaSet
	for _, set := range volsim.List[*appsv1.ReplicaSet](r.cluster) {
		if controlledBy(set, d) {
			sets = append(sets, set)
		}
	}
	set := deployment.AtRevision(sets, revision)
	switch {
	case set == nil && revision > 0:
		return false, fmt.Errorf("unable to find specified revision %d in history", revision)
	case set == nil:
		return false, fmt.Errorf("no rollout history found for deployment %q", d.Name)
	case d.Spec.Paused:
		return false, errors.New("you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again")
	case !deployment.Restore(d, set):
		return false, nil
	}
	return true, r.cluster.Update(d)
}

// undoTemplate gives a workload the template in the ControllerRevision with that number, 0 for the previous one.
func (r *runner) undoTemplate(owner api.Object, template *corev1.PodTemplateSpec, number int64) (bool, error) {
	var history []*appsv1.ControllerRevision
	for _, revision := range volsim.List[*appsv1.ControllerRevision](r.cluster) {
		if controlledBy(revision, owner) {
			history = append(history, revision)
		}
	}
	workload.SortRevisions(history)
	i := len(history) - 2
	if number > 0 {
		i = slices.IndexFunc(history, func(r *appsv1.ControllerRevision) bool { return r.Revision == number })
	}
	switch {
	case i < 0 && number == 0:
		return false, errors.New("no last revision to roll back to")
	case i < 0:
		return false, fmt.Errorf("unable to find specified revision %d in history", number)
	}
	now, err := workload.TemplatePatch(template)
	if err != nil {
		return false, err
	}
	if string(now) == string(history[i].Data.Raw) {
		return false, nil
	}
	earlier, err := workload.TemplateOf(history[i])
	if err != nil {
		return false, err
	}
	*template = *earlier
	return true, r.cluster.Update(owner)
}

func controlledBy(obj, owner api.Object) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner.GetUID() && ref.Controller != nil && *ref.Controller
	})
}

// followRollout prints the status of a rollout until it is complete.
func (r *runner) followRollout(ref api.Ref, a arguments) error {
	timeout := rolloutTimeout
	if a.has("timeout") {
		timeout, _ = readTimeout(a) // readRollout has checked it
	}
	watch := true
	if a.has("watch") {
		watch, _ = a.flag("watch")
	}
	obj, err := r.get(ref)
	if err != nil {
		return err
	}
	var failed error
	done := false
	show := func(obj api.Object) {
		if done {
			return
		}
		text, complete, err := rolloutStatus(obj)
		r.printf("%s", text)
		failed, done = err, err != nil || complete || !watch
	}
	if show(obj); done {
		return failed
	}
	poll, stop, err := r.observe(ref, func(obj api.Object, gone bool) {
		if gone && !done {
			failed, done = errors.New("object has been deleted"), true
		}
		show(obj)
	})
	if err != nil {
		return err
	}
	defer stop()
	r.waiting = true
	err = r.cluster.Until(func() bool { poll(); return done }, timeout)
	r.waiting = false
	if failed != nil {
		return failed
	}
	if stuck := new(engine.StuckError); errors.As(err, &stuck) && !isLivelock(stuck) {
		return Refusal{fmt.Errorf("timed out waiting for the condition: the rollout of %s is not complete after %s", displayName(ref), timeout)}
	}
	return err
}

// rolloutStatus describes a rollout as kubectl does, and reports whether it is complete.
func rolloutStatus(obj api.Object) (string, bool, error) {
	switch api.KindOf(obj) {
	case deployment.Kind:
		d, err := plain.As[*appsv1.Deployment](obj)
		if err != nil {
			return "", false, err
		}
		return deploymentStatus(d)
	case "StatefulSet.apps":
		set, err := plain.As[*appsv1.StatefulSet](obj)
		if err != nil {
			return "", false, err
		}
		return statefulSetStatus(set)
	}
	set, err := plain.As[*appsv1.DaemonSet](obj)
	if err != nil {
		return "", false, err
	}
	return daemonSetStatus(set)
}

func deploymentStatus(d *appsv1.Deployment) (string, bool, error) {
	wait := func(format string, args ...any) (string, bool, error) {
		return fmt.Sprintf("Waiting for deployment %q rollout to finish: ", d.Name) + fmt.Sprintf(format, args...) + "...\n", false, nil
	}
	st, n := d.Status, *d.Spec.Replicas
	switch {
	case d.Generation > st.ObservedGeneration:
		return "Waiting for deployment spec update to be observed...\n", false, nil
	case slices.ContainsFunc(st.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded"
	}):
		return "", false, fmt.Errorf("deployment %q exceeded its progress deadline", d.Name)
	case st.UpdatedReplicas < n:
		return wait("%d out of %d new replicas have been updated", st.UpdatedReplicas, n)
	case st.Replicas > st.UpdatedReplicas:
		return wait("%d old replicas are pending termination", st.Replicas-st.UpdatedReplicas)
	case st.AvailableReplicas < st.UpdatedReplicas:
		return wait("%d of %d updated replicas are available", st.AvailableReplicas, st.UpdatedReplicas)
	}
	return fmt.Sprintf("deployment %q successfully rolled out\n", d.Name), true, nil
}

var errNoRolloutStatus = errors.New("rollout status is only available for RollingUpdate strategy type")

func statefulSetStatus(set *appsv1.StatefulSet) (string, bool, error) {
	st, n := set.Status, *set.Spec.Replicas
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	switch {
	case set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType:
		return "", true, errNoRolloutStatus
	case st.ObservedGeneration == 0 || set.Generation > st.ObservedGeneration:
		return "Waiting for statefulset spec update to be observed...\n", false, nil
	case st.ReadyReplicas < n:
		return fmt.Sprintf("Waiting for %d pods to be ready...\n", n-st.ReadyReplicas), false, nil
	case rolling != nil && rolling.Partition != nil && st.UpdatedReplicas < n-*rolling.Partition:
		return fmt.Sprintf("Waiting for partitioned roll out to finish: %d out of %d new pods have been updated...\n",
			st.UpdatedReplicas, n-*rolling.Partition), false, nil
	case rolling != nil:
		return fmt.Sprintf("partitioned roll out complete: %d new pods have been updated...\n", st.UpdatedReplicas), true, nil
	case st.UpdateRevision != st.CurrentRevision:
		return fmt.Sprintf("waiting for statefulset rolling update to complete %d pods at revision %s...\n", st.UpdatedReplicas, st.UpdateRevision),
			false, nil
	}
	return fmt.Sprintf("statefulset rolling update complete %d pods at revision %s...\n", st.CurrentReplicas, st.CurrentRevision), true, nil
}

func daemonSetStatus(set *appsv1.DaemonSet) (string, bool, error) {
	wait := func(format string, args ...any) (string, bool, error) {
		return fmt.Sprintf("Waiting for daemon set %q rollout to finish: ", set.Name) + fmt.Sprintf(format, args...) + "...\n", false, nil
	}
	st := set.Status
	switch {
	case set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType:
		return "", true, errNoRolloutStatus
	case set.Generation > st.ObservedGeneration:
		return "Waiting for daemon set spec update to be observed...\n", false, nil
	case st.UpdatedNumberScheduled < st.DesiredNumberScheduled:
		return wait("%d out of %d new pods have been updated", st.UpdatedNumberScheduled, st.DesiredNumberScheduled)
	case st.NumberAvailable < st.DesiredNumberScheduled:
		return wait("%d of %d updated pods are available", st.NumberAvailable, st.DesiredNumberScheduled)
	}
	return fmt.Sprintf("daemon set %q successfully rolled out\n", set.Name), true, nil
}
