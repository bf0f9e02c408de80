package csi_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// on injects a fault into the first call of a method.
func on(method string, fault csi.Fault) func(csi.Call) csi.Fault {
	used := false
	return func(c csi.Call) csi.Fault {
		if c.Method != method || used {
			return csi.Fault{}
		}
		used = true
		return fault
	}
}

// life creates a volume, uses it in a pod, grows it, and deletes both. It returns an error if a step is not reached in time.
func life(c *volsim.Cluster) error {
	pod, claim := fake.Pod("web", fake.Claims("data")), fake.Claim("data", "1Gi", fake.InClass("fast"))
	if err := c.Create(claim, pod); err != nil {
		return err
	}
	if err := c.Advance(10 * time.Minute); err != nil {
		return err
	}
	if p, _ := c.Pods.Get("default/web"); p == nil || p.Status.Phase != "Running" {
		return fmt.Errorf("the pod does not run: %+v", p)
	}
	if err := c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`); err != nil {
		return err
	}
	if err := c.Advance(30 * time.Minute); err != nil {
		return err
	}
	grown, err := c.Claims.Get("default/data")
	if err != nil {
		return err
	}
	if size := grown.Status.Capacity.Storage().String(); size != "2Gi" {
		return fmt.Errorf("the claim has %s", size)
	}
	if err := c.Delete(pod); err != nil {
		return err
	}
	if err := c.Advance(20 * time.Minute); err != nil {
		return err
	}
	if err := c.Delete(grown); err != nil {
		return err
	}
	return c.Advance(time.Hour)
}

var lifeCalls = []string{
	"CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume", "ControllerExpandVolume", "NodeExpandVolume",
	"NodeUnpublishVolume", "NodeUnstageVolume", "ControllerUnpublishVolume", "DeleteVolume",
}

// A correct driver survives each fault at each call: at the end, nothing is left.
func TestEveryFault(t *testing.T) {
	kinds := []csi.FaultKind{csi.NotDelivered, csi.LostReply, csi.Late, csi.Twice, csi.Reset, csi.KilledBefore, csi.KilledDuring, csi.KilledAfter,
		csi.Overlap}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for _, method := range lifeCalls {
				d, restarts := newDisk("n1"), 0
				server := csi.Serve(d.register)
				driver, err := csi.New(context.Background(), csi.Config{
					Controller: server, Inject: on(method, csi.Fault{Kind: kind}),
					Restart: func(string) error {
						restarts++
						server.Restart(d.register)
						return nil
					},
				})
				require.NoError(t, err)
				c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
				require.NoError(t, err)
				driver.Clock = c.Now
				require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com", fake.Expandable())))
				require.NoError(t, life(c), method)
				driver.Finish()
				c.Close()
				require.Equal(t, "volumes [], attached map[], staged 0", d.state(), method)
				killed := kind == csi.KilledBefore || kind == csi.KilledDuring || kind == csi.KilledAfter
				require.Equal(t, killed, restarts == 1, method)
				i := slices.IndexFunc(driver.Calls(), func(c csi.Call) bool { return c.Fault.Kind == kind })
				require.GreaterOrEqual(t, i, 0, "no call of %s has the fault", method)
				faulty := driver.Calls()[i]
				require.Equal(t, kind != csi.Twice, faulty.Err != nil, method)
				require.Len(t, faulty.Replies, map[csi.FaultKind]int{csi.NotDelivered: 0, csi.KilledBefore: 0, csi.Twice: 2}[kind]+
					map[bool]int{true: 1}[kind != csi.NotDelivered && kind != csi.KilledBefore && kind != csi.Twice], method)
			}
		})
	}
}

// The caller of a late reply waits until its timeout is over.
func TestLateTakesTime(t *testing.T) {
	for _, kind := range []csi.FaultKind{csi.Late, csi.Overlap} {
		for method, timeout := range map[string]time.Duration{
			"CreateVolume": 10 * time.Second, "ControllerPublishVolume": 15 * time.Second, "NodeStageVolume": 2 * time.Minute,
		} {
			c, driver := start(t, newDisk("n1"), on(method, csi.Fault{Kind: kind}))
			require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))))
			require.NoError(t, c.Advance(10*time.Minute))
			var at []time.Time
			for _, call := range driver.Calls() {
				if call.Method == method {
					at = append(at, call.At)
				}
			}
			require.Len(t, at, 2, method)
			require.GreaterOrEqual(t, at[1].Sub(at[0]), timeout, method)
			require.Less(t, at[1].Sub(at[0]), timeout+2*time.Second, method)
		}
	}
}

// An open call and the next call of its volume are executed at the same time: the first pauses in its middle, and continues when the other
// has ended.
func TestOverlap(t *testing.T) {
	d := newDisk("n1")
	first := true
	d.before["NodeStageVolume"] = func(ctx context.Context) error {
		if first {
			first = false
			csi.Pause(ctx)
			d.mu.Lock()
			d.log = append(d.log, "the first NodeStageVolume continues")
			d.mu.Unlock()
		}
		return nil
	}
	c, driver := start(t, d, on("NodeStageVolume", csi.Fault{Kind: csi.Overlap}))
	require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(10*time.Minute))
	i := slices.Index(d.log, "the first NodeStageVolume continues")
	require.GreaterOrEqual(t, i, 2, d.log)
	require.Contains(t, d.log[i-1], "NodeStageVolume vol-")
	require.Contains(t, d.log[i-2], "NodeStageVolume vol-")
	var met []csi.Call
	for _, call := range driver.Calls() {
		if len(call.Replies) == 1 && call.Replies[0].Met != 0 {
			met = append(met, call)
		}
	}
	require.Len(t, met, 2)
	require.Equal(t, []int{met[1].Seq, met[0].Seq}, []int{met[0].Replies[0].Met, met[1].Replies[0].Met})
	require.Equal(t, storage.DeadlineExceeded, storage.CodeOf(met[0].Err))
	require.NoError(t, met[1].Err)
	require.False(t, met[0].Open)
}

// An open call may wait for one method: here the first CreateVolume is executed together with DeleteVolume.
func TestOverlapUntil(t *testing.T) {
	c, driver := start(t, newDisk("n1"), on("CreateVolume", csi.Fault{Kind: csi.Overlap, Until: "DeleteVolume"}))
	claim := fake.Claim("data", "1Gi", fake.InClass("fast"))
	require.NoError(t, c.Create(claim))
	require.NoError(t, c.Advance(10*time.Minute))
	require.Equal(t, []string{"NodeGetInfo", "CreateVolume: DeadlineExceeded", "CreateVolume"}, methods(driver.Calls()))
	require.True(t, driver.Calls()[1].Open)
	require.NoError(t, c.Delete(claim))
	require.NoError(t, c.Advance(10*time.Minute))
	calls := driver.Calls()
	require.Equal(t, "DeleteVolume", methods(calls)[3])
	require.Equal(t, calls[3].Seq, calls[1].Replies[0].Met)
}

// A call meets all open calls of its volume: none of them is executed after a later one.
func TestOverlapOfThree(t *testing.T) {
	d := newDisk("n1")
	held := 0
	c, driver := start(t, d, func(call csi.Call) csi.Fault {
		if call.Method != "NodePublishVolume" || held == 2 {
			return csi.Fault{}
		}
		held++
		return csi.Fault{Kind: csi.Overlap}
	})
	require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(10*time.Minute))
	var published []csi.Call
	for _, call := range driver.Calls() {
		if call.Method == "NodePublishVolume" {
			published = append(published, call)
		}
	}
	require.Len(t, published, 3)
	met := func(i int) int { return published[i].Replies[0].Met }
	require.Equal(t, []int{published[2].Seq, published[2].Seq, published[1].Seq}, []int{met(0), met(1), met(2)})
	require.False(t, published[0].Open || published[1].Open)
}

// A call that waits for the other one, as with a lock per volume, ends after it.
func TestOverlapWithLock(t *testing.T) {
	d := newDisk("n1")
	held := make(chan struct{}, 1)
	var order []string
	d.before["NodeStageVolume"] = func(ctx context.Context) error {
		held <- struct{}{}
		csi.Pause(ctx)
		order = append(order, "staged")
		<-held
		return nil
	}
	c, driver := start(t, d, on("NodeStageVolume", csi.Fault{Kind: csi.Overlap}))
	require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(10*time.Minute))
	require.Equal(t, []string{"staged", "staged"}, order)
	require.Contains(t, methods(driver.Calls()), "NodePublishVolume")
}

// A driver that panics, hangs, returns nothing or ends its goroutine gives an error to the caller. The cluster continues.
func TestBrokenDriver(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, tt := range map[string]struct {
		hook func(context.Context) error
		want codes.Code
		text string
	}{
		"panic":          {func(context.Context) error { panic("oh") }, codes.Internal, "the driver panicked: oh"},
		"hang":           {func(context.Context) error { <-release; return nil }, codes.DeadlineExceeded, "the driver did not reply within 20ms of real time"},
		"plain error":    {func(context.Context) error { return fmt.Errorf("broken") }, codes.Unknown, "broken"},
		"unknown code":   {func(context.Context) error { return status.Error(99, "strange") }, codes.Code(99), "strange"},
		"ended routine":  {func(context.Context) error { exit(); return nil }, codes.Internal, "the driver ended the goroutine of the call"},
		"a gRPC code OK": {func(context.Context) error { return status.Error(codes.OK, "") }, codes.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk("n1")
			d.before["CreateVolume"] = tt.hook
			driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(d.register), Limit: 20 * time.Millisecond})
			require.NoError(t, err)
			_, err = driver.Create(storage.CreateRequest{Name: "a", Size: 1})
			require.Equal(t, tt.want, status.Code(err))
			if tt.want != codes.OK {
				require.ErrorContains(t, err, tt.text)
				require.Equal(t, storage.Code(tt.want.String()), storage.CodeOf(err))
			}
		})
	}
	_, err := csi.New(context.Background(), csi.Config{})
	require.ErrorContains(t, err, "no connection")
	_, err = csi.New(context.Background(), csi.Config{Controller: csi.Serve(func(grpc.ServiceRegistrar) {})})
	require.ErrorContains(t, err, "ask the driver for its name")
}
