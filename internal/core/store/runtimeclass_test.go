package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func runtimeClassNamed(name string) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "kata"}
}

func TestRuntimeClasses(t *testing.T) {
	scheduling := func(tolerations ...corev1.Toleration) func(*nodev1.RuntimeClass) {
		return func(c *nodev1.RuntimeClass) { c.Scheduling = &nodev1.Scheduling{Tolerations: tolerations} }
	}
	for _, tt := range []struct {
		rule, name string
		change     func(*nodev1.RuntimeClass)
		err        string
	}{
		{"API-376", "a good class", func(*nodev1.RuntimeClass) {}, ""},
		{"API-376", "no handler", func(c *nodev1.RuntimeClass) { c.Handler = "" }, "handler: Required value"},
		{"API-376", "a bad handler", func(c *nodev1.RuntimeClass) { c.Handler = "a.b" }, `handler: Invalid value: "a.b"`},
		{"API-376", "bad overhead", func(c *nodev1.RuntimeClass) {
			c.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"x": apiresource.MustParse("1")}}
		}, `overhead.limits[x]: Invalid value: "x"`},
		{"API-376", "a bad label", func(c *nodev1.RuntimeClass) {
			c.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"a b": ""}}
		},
			`scheduling.nodeSelector: Invalid value: "a b"`},
		{"API-376", "a bad toleration", scheduling(corev1.Toleration{Key: "a b"}), `scheduling.tolerations[0].key: Invalid value: "a b"`},
		{"API-376", "a toleration twice", scheduling(corev1.Toleration{Key: "a"}, corev1.Toleration{Key: "a"}), "scheduling.tolerations[1]: Duplicate value"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			class := runtimeClassNamed("c")
			tt.change(class)
			_, err := New(Config{}).CreateWith(class, CreateOptions{})
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
		})
	}
	s := New(Config{})
	class := runtimeClassNamed("c")
	_, err := s.CreateWith(class, CreateOptions{})
	require.NoError(t, err)
	_, err = s.Patch(RuntimeClassKind, "c", []byte(`{"handler":"other"}`), api.Main)
	require.ErrorContains(t, err, `handler: Invalid value: "other": field is immutable`, "API-376")
}

func TestRuntimeClassOfPod(t *testing.T) {
	plainClass, heavy := runtimeClassNamed("plain"), runtimeClassNamed("heavy")
	heavy.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": apiresource.MustParse("250m")}}
	heavy.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"kata": "yes"}, Tolerations: []corev1.Toleration{
		{Key: "kata", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(600))},
	}}
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": apiresource.MustParse(amount)}
	}
	for _, tt := range []struct {
		rule, name, class string
		change            func(*corev1.PodSpec)
		want, err         string
	}{
		{"API-377", "a class that changes nothing", "plain", nil, "overhead 0, [], [not-ready 300 unreachable 300]", ""},
		{"API-377", "a class with everything", "heavy", nil, "overhead 250m, [kata=yes], [unreachable 300 kata not-ready 600]", ""},
		{"API-377", "the same overhead", "heavy", func(p *corev1.PodSpec) { p.Overhead = cpu("0.25") }, "overhead 250m, [kata=yes], [unreachable 300 kata not-ready 600]", ""},
		{"API-377", "other overhead", "heavy", func(p *corev1.PodSpec) { p.Overhead = cpu("1") }, "", "Pod's Overhead doesn't match RuntimeClass's defined Overhead"},
		{"API-377", "overhead that no class has", "plain", func(p *corev1.PodSpec) { p.Overhead = cpu("1") }, "", "Pod Overhead set without corresponding RuntimeClass"},
		{"API-377", "overhead without a class", "", func(p *corev1.PodSpec) { p.Overhead = cpu("1"); p.RuntimeClassName = nil }, "", "Pod Overhead set without corresponding"},
		{"API-377", "further labels", "heavy", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"a": "b"} },
			"overhead 250m, [a=b kata=yes], [unreachable 300 kata not-ready 600]", ""},
		{"API-377", "another value of a label", "heavy", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"kata": "no"} }, "",
			"conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no"},
		{"API-377", "a wider toleration", "heavy", func(p *corev1.PodSpec) {
			p.Tolerations = []corev1.Toleration{{Key: "kata", Operator: corev1.TolerationOpExists, Value: ""}}
		}, "overhead 250m, [kata=yes], [kata unreachable 300 not-ready 600]", ""},
		{"API-377", "an unknown class", "none", nil, "", `pods "p" is forbidden: pod rejected: RuntimeClass "none" not found`},
		{"API-377", "an empty name", "", nil, "", "resource name may not be empty"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			s := New(Config{})
			for _, class := range []api.Object{plainClass, heavy} {
				_, err := s.CreateWith(class, CreateOptions{})
				require.NoError(t, err)
			}
			pod := sample.Pod()
			pod.Name = "p"
			pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.RuntimeClassName = nil, nil, &tt.class
			if tt.change != nil {
				tt.change(&pod.Spec)
			}
			stored, err := s.Pods.CreateWith(pod, CreateOptions{})
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, runtimeOf(&stored.Spec))
		})
	}
}

// runtimeOf describes what a pod gets from its class.
func runtimeOf(spec *corev1.PodSpec) string {
	overhead := spec.Overhead["cpu"]
	var labels, tolerations []string
	for _, key := range objects.SortedKeys(spec.NodeSelector) {
		labels = append(labels, key+"="+spec.NodeSelector[key])
	}
	for _, t := range spec.Tolerations {
		tolerations = append(tolerations, strings.TrimPrefix(t.Key, "node.kubernetes.io/"))
		if t.TolerationSeconds != nil {
			tolerations = append(tolerations, fmt.Sprint(*t.TolerationSeconds))
		}
	}
	return fmt.Sprintf("overhead %s, %v, %v", overhead.String(), labels, tolerations)
}
