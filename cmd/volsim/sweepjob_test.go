package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

const sweepFolder = "../../examples/sweep/"

// TestSweepJob runs the command of each pod of the Job in examples/sweep, one after the other, and merges their logs: a Job as the API
// server takes it, whose command volsim takes, with a share for each index.
func TestSweepJob(t *testing.T) {
	data, err := os.ReadFile(sweepFolder + "job.yaml")
	require.NoError(t, err)
	var job batchv1.Job
	require.NoError(t, yaml.UnmarshalStrict(data, &job))
	require.Equal(t, batchv1.IndexedCompletion, *job.Spec.CompletionMode)
	require.Equal(t, corev1.RestartPolicyNever, job.Spec.Template.Spec.RestartPolicy, "backoffLimitPerIndex asks for it")
	require.NotNil(t, job.Spec.BackoffLimitPerIndex)
	require.LessOrEqual(t, *job.Spec.Parallelism, *job.Spec.Completions)
	container := job.Spec.Template.Spec.Containers[0]
	require.Empty(t, container.Command, "the image has an entrypoint")

	// The script is where the ConfigMap of the README puts it.
	readme, err := os.ReadFile(sweepFolder + "README.md")
	require.NoError(t, err)
	volume := job.Spec.Template.Spec.Volumes[0]
	require.Contains(t, string(readme), "kubectl create configmap "+volume.ConfigMap.Name+" --from-file=examples/sweep/race.txtar\n")
	require.Equal(t, volume.Name, container.VolumeMounts[0].Name)
	inPod := container.VolumeMounts[0].MountPath + "/race.txtar"
	require.Contains(t, container.Args, inPod)
	require.Contains(t, string(readme), "kubectl get pods -l app="+job.Spec.Template.Labels["app"]+" ")
	require.Contains(t, string(readme), " -t "+container.Image+" ")
	require.Contains(t, string(readme), "job/"+job.Name+" ")

	var args []string
	for _, arg := range container.Args {
		switch {
		case arg == inPod:
			arg = sweepFolder + "race.txtar"
		case strings.HasPrefix(arg, "--seeds="):
			arg = "--seeds=1..160" // the seeds of the Job take a while
		}
		args = append(args, arg)
	}
	var logs bytes.Buffer
	for index := range int(*job.Spec.Completions) {
		t.Setenv(jobIndex, strconv.Itoa(index))
		status, out, errOut := shell("", args...)
		require.Zero(t, status, errOut)
		require.Empty(t, errOut, "what kubectl logs shows is JSON lines only")
		for line := range strings.Lines(out) {
			require.Regexp(t, `^\{"type":".*\}\n$`, line)
		}
		logs.WriteString(out)
	}
	status, merged, errOut := shell(logs.String(), "sweep", "--merge", "-o", "json", "-")
	require.Zero(t, status, errOut)
	t.Setenv(jobIndex, "")
	_, whole, _ := shell("", "sweep", "-q", "-o", "json", "--seeds=1..160", sweepFolder+"race.txtar")
	require.Equal(t, whole, merged)
	status, report, errOut := shell(logs.String(), "sweep", "--merge", "-")
	require.Zero(t, status, errOut)
	require.Contains(t, report, "race.txtar: 160 seeds of 1..160: 2 outcomes, 0 invariants violated\n")
}

// TestSweepDockerfile: the image is built with the Go that the module asks for, from a package that exists, without C.
func TestSweepDockerfile(t *testing.T) {
	data, err := os.ReadFile(sweepFolder + "Dockerfile")
	require.NoError(t, err)
	module, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	require.NotNil(t, version)
	require.Contains(t, string(data), "FROM golang:"+string(version[1])+" AS build\n")
	build := regexp.MustCompile(`(?m)^RUN CGO_ENABLED=0 go build -o (\S+) (\./\S+)$`).FindStringSubmatch(string(data))
	require.NotNil(t, build)
	require.FileExists(t, filepath.Join("../..", build[2], "main.go"))
	require.Contains(t, string(data), "COPY --from=build "+build[1]+" /volsim\nENTRYPOINT [\"/volsim\"]\n")
}
