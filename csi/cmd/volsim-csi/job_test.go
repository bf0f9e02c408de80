package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// The command of each pod of job.yaml runs, and the logs of all pods merge to one report.
func TestJob(t *testing.T) {
	data, err := os.ReadFile("job.yaml")
	require.NoError(t, err)
	var job batchv1.Job
	require.NoError(t, yaml.UnmarshalStrict(data, &job))
	require.Equal(t, batchv1.IndexedCompletion, *job.Spec.CompletionMode)
	pod := job.Spec.Template.Spec
	require.Equal(t, corev1.RestartPolicyNever, pod.RestartPolicy)
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *pod.InitContainers[0].RestartPolicy, "the driver runs beside the test")
	container, driver := pod.Containers[0], pod.InitContainers[0]
	require.Equal(t, driver.VolumeMounts, container.VolumeMounts)

	var logs bytes.Buffer
	for index := range int(*job.Spec.Completions) {
		t.Setenv(jobIndex, strconv.Itoa(index))
		endpoint := serve(t, testdriver.StageAgainFails)
		args := []string{"--stories=life,queries", "--seeds=0", "--pairs=0"} // all stories take a while
		for _, arg := range container.Args[1:] {
			if strings.HasPrefix(arg, "--dir=") {
				require.Equal(t, pod.Volumes[1].Name, "volumes")
				require.Equal(t, "--dir="+container.VolumeMounts[1].MountPath, arg)
				arg = "--dir=" + t.TempDir()
			}
			if strings.HasPrefix(arg, "--endpoint=") {
				require.Contains(t, driver.Args, arg)
				arg = "--endpoint=" + endpoint
			}
			args = append(args, arg)
		}
		// kubectl logs shows both outputs.
		require.Equal(t, passed, run(append(container.Args[:1:1], args...), &logs, &logs), "%s", &logs)
	}
	all := t.TempDir() + "/logs"
	require.NoError(t, os.WriteFile(all, logs.Bytes(), 0o600))
	var stdout, stderr bytes.Buffer
	require.Equal(t, found, run([]string{"merge", all}, &stdout, &stderr), "%s", &stderr)
	require.Contains(t, stdout.String(), "in 2 stories")
	require.Contains(t, stdout.String(), "section NodeStageVolume: the operation MUST be idempotent")

	// A log that ends early does not count.
	require.NoError(t, os.WriteFile(all, logs.Bytes()[:logs.Len()-20], 0o600))
	require.Equal(t, failed, run([]string{"merge", all}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "missing shards 7/8; run them and merge again")

	t.Setenv(jobIndex, "")
	require.Equal(t, failed, run([]string{"test", "--endpoint", "unix:///none", "--shard", "job/8"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), jobIndex+" is not set")
}

// The image is built with the Go that the module requires.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	module, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	require.Contains(t, string(data), "FROM golang:"+string(version[1])+" AS build\n")
}
