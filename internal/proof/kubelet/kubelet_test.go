package kubelet

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	node   = "n1"
	driver = "disk.example.com"
)

// settled is when a kubelet has looked after its pods for the first time. Until then it reports the end of none.
const settled = 3 * time.Second

var (
	only = flag.String("only", "", "run the scenario of this name only")
	show = flag.Bool("show", false, "print what the kubelet of Kubernetes reports")
)

// side is a cluster with one node.
type side struct {
	name   string
	client *kubernetes.Clientset
}

// TestKubelet: the kubelet of Kubernetes and a simulated one report the same of the pods of each scenario: the status after each step, the last
// one of a pod that is deleted, and the Events about volumes and failures. All scenarios run at the same time, each in a namespace of its own.
// The variable KUBELET names a directory that keeps the binaries.
func TestKubelet(t *testing.T) {
	bin := os.Getenv("KUBELET")
	if bin == "" {
		bin = t.TempDir()
	}
	hollow, volsim := filepath.Join(bin, "hollow"), filepath.Join(bin, "volsim")
	if _, err := os.Stat(hollow); err != nil {
		goCommand(t, ".", "build", "-o", hollow, "./hollow")
	}
	goCommand(t, "../../..", "build", "-o", volsim, "./cmd/volsim")
	real := serve(t, "real", volsim, "--without", "kubelet")
	root, err := os.MkdirTemp("", "kubelet") // paths of sockets are short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	start(t, hollow, "-kubeconfig", real.config, "-node", node, "-root", root, "-driver", driver)
	ours := serve(t, "simulated", volsim, "--nodes", node)
	for _, s := range []side{real.side, ours.side} {
		require.Eventually(t, func() bool { return s.ready(t) }, time.Minute, 100*time.Millisecond, s.name)
	}
	sameResources(t, real.side, ours.side)
	time.Sleep(settled)
	for _, sc := range scenarios {
		if *only != "" && sc.name != *only {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			var got [2]report
			var both sync.WaitGroup
			for i, s := range []side{real.side, ours.side} {
				both.Go(func() { got[i] = s.play(t, sc) })
			}
			both.Wait()
			if *show {
				t.Logf("the kubelet of Kubernetes:\n%s", got[0])
			}
			if diff := cmp.Diff(got[0].String(), got[1].String()); diff != "" {
				t.Errorf("the kubelet of Kubernetes (-) and the simulated one (+) differ:\n%s", diff)
			}
		})
	}
}

// ready reports whether the node of a cluster is ready, with its driver.
func (s side) ready(t *testing.T) bool {
	n, err := s.client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		return false
	}
	csi, err := s.client.StorageV1().CSINodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil || len(csi.Spec.Drivers) == 0 {
		return false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// sameResources gives the simulated node the resources of the other one, and both an extended one.
func sameResources(t *testing.T, real, ours side) {
	n, err := real.client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	require.NoError(t, err)
	n.Status.Capacity["example.com/token"], n.Status.Allocatable["example.com/token"] = resource.MustParse("2"), resource.MustParse("2")
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": n.Status.Capacity, "allocatable": n.Status.Allocatable}})
	require.NoError(t, err)
	for _, s := range []side{real, ours} {
		_, err = s.client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
}

// play plays a scenario, and returns what the kubelet reported.
func (s side) play(t *testing.T, sc scenario) report {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	_, err := s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sc.name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.client.CoreV1().ServiceAccounts(sc.name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	w, err := s.client.CoreV1().Pods(sc.name).Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	last := map[string]string{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok && e.Type == watch.Deleted {
				last[pod.Name] = statusOf(pod)
			}
		}
	}()
	var r report
	for _, step := range sc.steps {
		step.do(t, s, sc.name)
		time.Sleep(step.wait)
		pods, err := s.client.CoreV1().Pods(sc.name).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		after := map[string]string{}
		for i := range pods.Items {
			after[pods.Items[i].Name] = statusOf(&pods.Items[i])
		}
		r.After = append(r.After, after)
	}
	w.Stop()
	<-done
	events, err := s.client.CoreV1().Events(sc.name).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	r.Last, r.Events = last, eventsOf(events.Items)
	return r
}

// create creates the objects of a manifest.
func create(manifest string) func(*testing.T, side, string) {
	return func(t *testing.T, s side, namespace string) {
		for _, document := range strings.Split(manifest, "\n---\n") {
			data, err := yaml.YAMLToJSON([]byte(document))
			require.NoError(t, err, document)
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
			require.NoError(t, err, document)
			ctx, core := t.Context(), s.client.CoreV1()
			switch o := object.(type) {
			case *corev1.Pod:
				_, err = core.Pods(namespace).Create(ctx, o, metav1.CreateOptions{})
			case *corev1.ConfigMap:
				_, err = core.ConfigMaps(namespace).Create(ctx, o, metav1.CreateOptions{})
			case *corev1.Secret:
				_, err = core.Secrets(namespace).Create(ctx, o, metav1.CreateOptions{})
			case *corev1.PersistentVolumeClaim:
				_, err = core.PersistentVolumeClaims(namespace).Create(ctx, o, metav1.CreateOptions{})
			default:
				t.Fatalf("unknown kind: %s", document)
			}
			require.NoError(t, err, document)
		}
	}
}

// remove deletes a pod; one that is gone already is as good.
func remove(pod string, options metav1.DeleteOptions) func(*testing.T, side, string) {
	return func(t *testing.T, s side, namespace string) {
		if err := s.client.CoreV1().Pods(namespace).Delete(t.Context(), pod, options); err != nil && !apierrors.IsNotFound(err) {
			require.NoError(t, err)
		}
	}
}

// label gives a pod a label.
func label(pod string) func(*testing.T, side, string) {
	return func(t *testing.T, s side, namespace string) {
		patch := []byte(`{"metadata": {"labels": {"example.com/changed": "yes"}}}`)
		_, err := s.client.CoreV1().Pods(namespace).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
}

// debug adds an ephemeral container to a pod.
func debug(pod string) func(*testing.T, side, string) {
	return func(t *testing.T, s side, namespace string) {
		pods := s.client.CoreV1().Pods(namespace)
		p, err := pods.Get(t.Context(), pod, metav1.GetOptions{})
		require.NoError(t, err)
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "i"}}}
		_, err = pods.UpdateEphemeralContainers(t.Context(), pod, p, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}

// served is a cluster that volsim serve runs, with its kubeconfig.
type served struct {
	side
	config string
}

func serve(t *testing.T, name, volsim string, args ...string) served {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	start(t, volsim, append([]string{"serve", "--kubeconfig", config, "--record", "none", "--time", "1x", "--driver", driver, "-f", "testdata/class.yaml"}, args...)...)
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(config)
		return err == nil && len(data) > 0
	}, time.Minute, 10*time.Millisecond)
	c, err := clientcmd.BuildConfigFromFlags("", config)
	require.NoError(t, err)
	c.QPS = -1
	client, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return served{side{name, client}, config}
}

func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// start runs a program until the end of the test. The end of its output is logged if the test fails.
func start(t *testing.T, name string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(file)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
		if data, err := os.ReadFile(file); t.Failed() && err == nil {
			lines := strings.Split(string(data), "\n")
			t.Logf("%s:\n%s", filepath.Base(name), strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}
