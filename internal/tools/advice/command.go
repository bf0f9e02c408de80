package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Command is a kubectl command line.
type Command struct {
	Args []string
	// Manifest is the standard input; "" is none.
	Manifest string
}

// String returns the command as a user types it into a shell.
func (c Command) String() string {
	words := []string{"kubectl"}
	for _, arg := range c.Args {
		if strings.ContainsAny(arg, " \"{}[]$*") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	text := strings.Join(words, " ")
	if c.Manifest != "" {
		text += " <<'EOF'\n" + strings.TrimSuffix(c.Manifest, "\n") + "\nEOF"
	}
	return text
}

// MarshalText returns String.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func kubectl(args ...string) Command { return Command{Args: args} }

// namespaced adds the option -n for an object in a namespace.
func namespaced(obj api.Object, args ...string) Command {
	if namespace := obj.GetNamespace(); namespace != "" && namespace != corev1.NamespaceDefault {
		args = append(args, "-n", namespace)
	}
	return Command{Args: args}
}

// deletionLimit is how long kubectl delete waits in a simulation.
const deletionLimit = 2 * time.Minute

// run carries out the command in a simulated cluster. It knows the commands that this package proposes.
func (c Command) run(cluster *dump.Cluster) error {
	args, options := split(c.Args)
	switch {
	case len(args) == 1 && args[0] == "apply":
		return cluster.Apply([]byte(c.Manifest))
	case len(args) == 2 && args[0] == "uncordon":
		return cluster.Patch(&corev1.Node{ObjectMeta: meta("", args[1])}, `{"spec":{"unschedulable":null}}`)
	case len(args) == 2 && args[0] == "cordon":
		return cluster.Patch(&corev1.Node{ObjectMeta: meta("", args[1])}, `{"spec":{"unschedulable":true}}`)
	case len(args) == 4 && args[0] == "taint":
		return taint(cluster, args[2], args[3])
	case len(args) < 3:
		return fmt.Errorf("%s: unknown command", c)
	}
	ref, err := objname.ParseIn(options["-n"], args[1]+"/"+args[2])
	if err != nil {
		return err
	}
	obj, err := empty(ref)
	if err != nil {
		return err
	}
	switch args[0] {
	case "patch":
		return cluster.Patch(obj, options["-p"])
	case "label":
		key, value, _ := strings.Cut(args[3], "=")
		return cluster.Patch(obj, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
	case "annotate":
		if key, value, set := strings.Cut(args[3], "="); set {
			return cluster.Patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
		}
		return cluster.Patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, strings.TrimSuffix(args[3], "-")))
	case "delete":
		return remove(cluster, obj, ref, options["--force"] != "")
	}
	return fmt.Errorf("%s: unknown command", c)
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// empty returns an object with its name alone.
func empty(ref api.Ref) (api.Object, error) {
	namespace, name, ok := strings.Cut(ref.Key, "/")
	if !ok {
		namespace, name = "", namespace
	}
	switch ref.Kind {
	case api.Pod:
		return &corev1.Pod{ObjectMeta: meta(namespace, name)}, nil
	case api.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta(namespace, name)}, nil
	case api.Node:
		return &corev1.Node{ObjectMeta: meta(namespace, name)}, nil
	case api.PersistentVolume:
		return &corev1.PersistentVolume{ObjectMeta: meta(namespace, name)}, nil
	case objects.ConfigMapKind:
		return &corev1.ConfigMap{ObjectMeta: meta(namespace, name)}, nil
	case objects.SecretKind:
		return &corev1.Secret{ObjectMeta: meta(namespace, name)}, nil
	case snapshots.SnapshotKind:
		return &plain.Object{TypeMeta: metav1.TypeMeta{APIVersion: "snapshot.storage.k8s.io/v1", Kind: "VolumeSnapshot"}, ObjectMeta: meta(namespace, name)}, nil
	case snapshot.Deployments:
		return &appsv1.Deployment{ObjectMeta: meta(namespace, name)}, nil
	case api.StorageClass:
		return &storagev1.StorageClass{ObjectMeta: meta(namespace, name)}, nil
	}
	return nil, fmt.Errorf("%s: cannot change this kind", objname.Of(ref))
}

// split separates the options of a command from its other arguments.
func split(words []string) (args []string, options map[string]string) {
	options = map[string]string{"-n": corev1.NamespaceDefault}
	for i := 0; i < len(words); i++ {
		name, value, ok := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(name, "-") || name == "-":
			args = append(args, words[i])
		case ok:
			options[name] = value
		case name == "--force":
			options[name] = "true"
		case i+1 < len(words):
			i++
			options[name] = words[i]
		}
	}
	return args, options
}

// taint adds a taint KEY=VALUE:EFFECT, or removes KEY:EFFECT-.
func taint(cluster *dump.Cluster, name, text string) error {
	node, err := cluster.Nodes.Get(name)
	if err != nil {
		return err
	}
	spec, removed := strings.CutSuffix(text, "-")
	spec, effect, _ := strings.Cut(spec, ":")
	key, value, _ := strings.Cut(spec, "=")
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints),
		func(t corev1.Taint) bool { return t.Key == key && string(t.Effect) == effect })
	if !removed {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return cluster.Update(node)
}

// remove deletes an object, and waits until it is gone, as kubectl does. A pod that a controller manages comes back.
func remove(cluster *dump.Cluster, obj api.Object, ref api.Ref, force bool) error {
	var pod *corev1.Pod
	if ref.Kind == api.Pod {
		pod, _ = cluster.Pods.Get(ref.Key)
	}
	var opts api.DeleteOptions
	if force {
		opts.GracePeriodSeconds = new(int64)
	}
	if err := cluster.DeleteWith(obj, opts); err != nil {
		return err
	}
	gone := func() bool {
		switch ref.Kind {
		case api.Pod:
			_, err := cluster.Pods.Get(ref.Key)
			return apierrors.IsNotFound(err)
		case api.PersistentVolumeClaim:
			_, err := cluster.Claims.Get(ref.Key)
			return apierrors.IsNotFound(err)
		}
		return true
	}
	if err := cluster.Until(gone, deletionLimit); err != nil {
		return err
	}
	if pod != nil && pod.OwnerReferences != nil && cluster.Advance(time.Second) == nil && gone() {
		// Its controller is not in the dump.
		return cluster.Create(again(pod))
	}
	return nil
}

// again returns a pod as its controller creates it again.
func again(pod *corev1.Pod) *corev1.Pod {
	copied := &corev1.Pod{ObjectMeta: meta(pod.Namespace, pod.Name), Spec: *pod.Spec.DeepCopy()}
	copied.Labels, copied.OwnerReferences = pod.Labels, pod.OwnerReferences
	copied.Spec.NodeName = ""
	return copied
}
