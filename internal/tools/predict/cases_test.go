package predict_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

// TestCases: dumps of a real cluster, an action in the words of kubectl, and what the cluster then had: every node, volume, claim and pod.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.facts")
	require.NoError(t, err)
	require.Len(t, files, 11)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts")
		t.Run(name, func(t *testing.T) {
			c := readCase(t, file)
			data, err := os.ReadFile(strings.TrimSuffix(file, ".facts") + ".yaml")
			require.NoError(t, err)
			d, err := dump.Read(data)
			require.NoError(t, err)
			steps, err := predict.ParseIn(c.namespace, c.words, func(name string) ([]byte, error) {
				return os.ReadFile("testdata/cases/" + name)
			})
			require.NoError(t, err)
			p, err := predict.Predict(d, steps, predict.Options{For: c.wait})
			require.NoError(t, err)
			require.Equal(t, strings.Join(c.facts, "\n"), strings.Join(facts(p.Objects()), "\n"))

			quiet, err := predict.ParseIn("default", []string{"nothing"}, nil)
			require.NoError(t, err)
			p, err = predict.Predict(d, quiet, predict.Options{For: time.Hour})
			require.NoError(t, err)
			require.Empty(t, p.Outcomes, "nothing happens without an action")
		})
	}
}

type realCase struct {
	words     []string
	namespace string
	wait      time.Duration
	facts     []string
	// dump is the name of the dump, and header has all comments. Both are for reasoned cases.
	dump   string
	header []string
}

// readCase reads a file: the action, the namespace and the seconds that passed, then a line for each object.
func readCase(t *testing.T, file string) realCase {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var c realCase
	var seconds int
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan(); n++ {
		switch line := lines.Text(); n {
		case 0:
			c.words = strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "# "), "'", ""))
		case 1:
			_, err := fmt.Sscanf(line, "# namespace %s %d seconds", &c.namespace, &seconds)
			require.NoError(t, err)
			c.namespace, c.wait = strings.TrimSuffix(c.namespace, ","), time.Duration(seconds)*time.Second
		default:
			if dump, ok := strings.CutPrefix(line, "# dump "); ok {
				c.dump = dump
			} else if !strings.HasPrefix(line, "#") {
				c.facts = append(c.facts, line)
			}
		}
		if strings.HasPrefix(lines.Text(), "#") {
			c.header = append(c.header, lines.Text())
		}
	}
	require.NoError(t, lines.Err())
	if c.dump == "" {
		slices.Sort(c.facts)
	}
	return c
}

// facts describes the objects in the form of the files, sorted.
func facts(objs []api.Object) []string {
	var all []string
	add := func(words ...string) {
		for i, word := range words {
			if word == "" {
				words[i] = "<none>"
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	for _, obj := range objs {
		deleted := ""
		if obj.GetDeletionTimestamp() != nil {
			deleted = "deleting"
		}
		switch api.KindOf(obj) {
		case api.Node:
			unschedulable := ""
			if typed[corev1.Node](obj).Spec.Unschedulable {
				unschedulable = "true"
			}
			add("Node", obj.GetName(), unschedulable)
		case api.PersistentVolume:
			pv := typed[corev1.PersistentVolume](obj)
			ref := pv.Spec.ClaimRef
			if ref == nil {
				ref = &corev1.ObjectReference{}
			}
			add("PersistentVolume", pv.Name, string(pv.Status.Phase), ref.Namespace, ref.Name, deleted, pv.Status.Message)
		case api.PersistentVolumeClaim:
			claim := typed[corev1.PersistentVolumeClaim](obj)
			add("PersistentVolumeClaim", claim.Namespace, claim.Name, string(claim.Status.Phase), claim.Spec.VolumeName, deleted)
		case api.Pod:
			pod := typed[corev1.Pod](obj)
			var claims []string
			for _, v := range pod.Spec.Volumes {
				if v.PersistentVolumeClaim != nil {
					claims = append(claims, v.PersistentVolumeClaim.ClaimName)
				}
			}
			add("Pod", pod.Namespace, pod.Name, string(pod.Status.Phase), pod.Spec.NodeName, deleted, strings.Join(claims, ","))
		}
	}
	slices.Sort(all)
	return all
}

func typed[T any](obj metav1.Object) *T {
	to := new(T)
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(doc, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}
