package predict

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/store"
)

// autoscalePeriod is how often the HorizontalPodAutoscaler controller syncs each autoscaler; the first sync is that long after its creation.
const autoscalePeriod = 15 * time.Second

const autoscaler api.Kind = "HorizontalPodAutoscaler.autoscaling"

// autoscaleOptions are the options of autoscale. Those with true are understood.
var autoscaleOptions = map[string]bool{"--min": true, "--max": true, "--cpu-percent": false, "--cpu": false, "--memory": false, "--name": true}

// parseAutoscale reads autoscale OBJECT [--min=N] --max=N [--cpu-percent=N].
func parseAutoscale(namespace string, args []string) (func(*run) error, error) {
	options := map[string]string{"--min": "1"}
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		if name == "-n" {
			name = "--namespace"
		}
		_, known := autoscaleOptions[name]
		switch {
		case !strings.HasPrefix(name, "-"):
			words = append(words, args[i])
			continue
		case !known && name != "--namespace":
			return nil, fmt.Errorf("unknown option %s: want --min, --max, --cpu-percent, --cpu, --memory, --name or -n", name)
		case !hasValue:
			if i++; i == len(args) {
				return nil, errors.New("missing value of " + name)
			}
			value = args[i]
		}
		if options[name] = value; name == "--namespace" {
			namespace = value
		}
	}
	refs, err := objname.ParseArgs(namespace, words)
	if err != nil {
		return nil, err
	}
	if len(refs) != 1 {
		return nil, fmt.Errorf("want one workload, got %d", len(refs))
	}
	least, err := strconv.ParseInt(options["--min"], 10, 32)
	most, maxErr := strconv.ParseInt(options["--max"], 10, 32)
	if err != nil || maxErr != nil || most < 1 || least > most {
		return nil, errors.New("want --max=N, at least 1 and not less than --min")
	}
	return func(r *run) error {
		obj, err := r.Cluster.Objects(refs[0].Kind).Get(refs[0].Key)
		if err != nil {
			return err
		}
		gvk := store.GroupVersionKind(refs[0].Kind)
		if _, scales := replicas(obj); !scales {
			return fmt.Errorf("a %s has no replicas: autoscale a Deployment, ReplicaSet or StatefulSet", gvk.Kind)
		}
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
		if options["--name"] != "" {
			hpa.Name = options["--name"]
		}
		hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: obj.GetName()}
		if hpa.Spec.MaxReplicas = int32(most); least > 0 {
			hpa.Spec.MinReplicas = new(int32(least))
		}
		return r.Create(hpa)
	}, nil
}

// autoscale acts as the HorizontalPodAutoscaler controller does without metrics: it keeps the replicas within the bounds and, if its metrics
// were known, at the number that it wanted last. A workload with 0 replicas is left alone.
func (r *run) autoscale() error {
	for _, obj := range r.Cluster.Objects(autoscaler).List() {
		key := api.KeyOf(obj)
		next, seen := r.autoscaled[key]
		if !seen {
			next = r.Now().Add(autoscalePeriod)
		}
		if r.Now().Before(next) {
			r.autoscaled[key] = next
			continue
		}
		r.autoscaled[key] = next.Add(autoscalePeriod)
		hpa, err := volsim.Get[*autoscalingv2.HorizontalPodAutoscaler](r.Cluster.Cluster, key)
		if err != nil {
			return err
		}
		if err := r.scaleTo(hpa); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) scaleTo(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	target := hpa.Spec.ScaleTargetRef
	group, _, found := strings.Cut(target.APIVersion, "/")
	if !found {
		group = ""
	}
	ref, err := objname.ParseIn(hpa.Namespace, strings.TrimSuffix(strings.ToLower(target.Kind)+"."+group, ".")+"/"+target.Name)
	if err != nil {
		return nil // a custom kind, which no controller scales here
	}
	obj, err := r.Cluster.Objects(ref.Kind).Get(ref.Key)
	if err != nil {
		return nil // the dump lacks the workload
	}
	has, scales := replicas(obj)
	if !scales || has == 0 || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	least, most := int64(1), int64(hpa.Spec.MaxReplicas)
	if hpa.Spec.MinReplicas != nil {
		least = int64(*hpa.Spec.MinReplicas)
	}
	want, asked := has, ""
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionTrue && hpa.Status.DesiredReplicas > 0 {
			want, asked = int64(hpa.Status.DesiredReplicas), fmt.Sprintf("asks for %d replicas, within %d to %d", hpa.Status.DesiredReplicas, least, most)
		}
	}
	if asked == "" {
		asked = fmt.Sprintf("has unknown metrics, so that only its bounds count: %d to %d", least, most)
	}
	r.rely(evidence.Assumption{Subject: "controller/horizontal-pod-autoscaler", Behaviour: evidence.Healthy, Object: objname.Of(api.RefTo(hpa)),
		Evidence: fmt.Sprintf("%s %s", api.KeyOf(hpa), asked)})
	if want = min(max(want, least), most); want == has {
		return nil
	}
	return r.Patch(obj, fmt.Sprintf(`{"spec":{"replicas":%d}}`, want))
}
