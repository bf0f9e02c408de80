package main

import (
	"context"
	"strconv"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	apitest "k8s.io/cri-api/pkg/apis/testing"
)

// exitCode is the environment variable with which a container exits soon after its start, with that code.
const (
	exitCode  = "EXIT_CODE"
	exitAfter = 3 * time.Second
)

// runtime is the fake container runtime, with containers that exit by themselves, and with the reasons that containerd gives for their end.
type runtime struct {
	internalapi.RuntimeService
	fake *apitest.FakeRuntimeService
}

func (r runtime) CreateContainer(ctx context.Context, sandbox string, config *cri.ContainerConfig, in *cri.PodSandboxConfig) (string, error) {
	id, err := r.RuntimeService.CreateContainer(ctx, sandbox, config, in)
	for _, e := range config.Envs {
		if code, bad := strconv.Atoi(string(e.Value)); e.Key == exitCode && bad == nil {
			time.AfterFunc(exitAfter, func() { r.exit(id, int32(code)) })
		}
	}
	return id, err
}

func (r runtime) exit(id string, code int32) {
	r.fake.Lock()
	defer r.fake.Unlock()
	if c, ok := r.fake.Containers[id]; ok && c.State == cri.ContainerState_CONTAINER_RUNNING {
		c.State, c.ExitCode, c.FinishedAt = cri.ContainerState_CONTAINER_EXITED, code, time.Now().UnixNano()
	}
}

func (r runtime) ContainerStatus(ctx context.Context, id string, verbose bool) (*cri.ContainerStatusResponse, error) {
	response, err := r.RuntimeService.ContainerStatus(ctx, id, verbose)
	if err == nil && response.Status.State == cri.ContainerState_CONTAINER_EXITED && response.Status.Reason == "" {
		response.Status.Reason = "Completed"
		if response.Status.ExitCode != 0 {
			response.Status.Reason = "Error"
		}
	}
	return response, err
}
