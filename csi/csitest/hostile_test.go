package csitest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// hostile is a process of the test driver behind a unix socket. It misbehaves in one method.
type hostile struct {
	t      *testing.T
	path   string
	driver *testdriver.Driver
	method string
	// answer replaces the answers to method.
	answer func(h *hostile, reply any, err error) (any, error)
	codec  encoding.CodecV2
	server *grpc.Server
}

// start starts the process, or starts it again.
func (h *hostile) start() {
	if h.server != nil {
		h.server.Stop()
	}
	_ = os.Remove(h.path)
	listener, err := net.Listen("unix", h.path)
	require.NoError(h.t, err)
	options := []grpc.ServerOption{grpc.UnaryInterceptor(
		func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			reply, err := next(ctx, request)
			if strings.HasSuffix(info.FullMethod, "/"+h.method) {
				return h.answer(h, reply, err)
			}
			return reply, err
		})}
	if h.codec != nil {
		options = append(options, grpc.ForceServerCodecV2(h.codec))
	}
	h.server = grpc.NewServer(options...)
	h.driver.Register(h.server, "n1")
	go func(s *grpc.Server) { _ = s.Serve(listener) }(h.server)
}

// garbage is a codec whose replies to NodeStageVolume are no messages.
type garbage struct{ encoding.CodecV2 }

func (g garbage) Marshal(v any) (mem.BufferSlice, error) {
	if _, ok := v.(*spec.NodeStageVolumeResponse); ok {
		return mem.BufferSlice{mem.SliceBuffer([]byte("\xff\xff\xff\xffthis is no message"))}, nil
	}
	return g.CodecV2.Marshal(v)
}

// die ends the process in the middle of a call, as a panic does.
func die(h *hostile, _ any, _ error) (any, error) {
	h.server.Stop()
	return nil, nil
}

// What a driver does wrong below the level of CSI is a finding that names the call, and the other stories run.
func TestHostileDrivers(t *testing.T) {
	huge := strings.Repeat("x", 5<<20)
	for _, tt := range []struct {
		name   string
		method string
		answer func(h *hostile, reply any, err error) (any, error)
		codec  encoding.CodecV2
		dies   bool // the process ends, and Config.Restart starts it again
		kind   flawKind
		detail string
	}{
		{name: "panics", method: "CreateVolume", dies: true, answer: die, kind: broken, detail: "CreateVolume gets no answer: the connection to the driver failed: "},
		{name: "closes the socket of the node", method: "NodePublishVolume", dies: true, answer: die, kind: broken,
			detail: "NodePublishVolume gets no answer: the connection to the driver failed: "},
		{name: "closes the socket in NodeGetInfo", method: "NodeGetVolumeStats", dies: true, answer: die, kind: broken,
			detail: "NodeGetVolumeStats gets no answer: the connection to the driver failed: "},
		{name: "hangs", method: "NodeStageVolume", answer: func(*hostile, any, error) (any, error) { select {} }, kind: broken,
			detail: "NodeStageVolume gets no answer: the driver did not reply within 300ms of real time"},
		{name: "sends what is no message", method: "none", codec: garbage{encoding.GetCodecV2("proto")}, kind: broken,
			detail: "NodeStageVolume gets no answer: the driver sent garbage: grpc: "},
		{name: "sends a huge reply", method: "ControllerPublishVolume", kind: broken,
			answer: func(*hostile, any, error) (any, error) {
				return &spec.ControllerPublishVolumeResponse{PublishContext: map[string]string{"device": huge}}, nil
			}, detail: "ControllerPublishVolume gets no answer: the driver sent garbage: grpc: received message larger than max"},
		{name: "sends a reply of another type", method: "CreateVolume", kind: broken,
			answer: func(*hostile, any, error) (any, error) { return &spec.GetPluginInfoResponse{Name: "x"}, nil },
			detail: "CreateVolume gets no answer: the driver sent garbage: grpc: "},
		{name: "sends an empty reply", method: "CreateVolume", kind: invalid,
			answer: func(*hostile, any, error) (any, error) { return &spec.CreateVolumeResponse{}, nil }, detail: "CreateVolume"},
		{name: "sends a code that gRPC does not have", method: "DeleteVolume",
			answer: func(*hostile, any, error) (any, error) { return nil, status.Error(codes.Code(77), "odd") }, kind: broken,
			detail: "DeleteVolume gets no answer: the driver sent garbage: code 77, which gRPC does not have"},
		{name: "lists volumes without end", method: "ListVolumes", kind: inventories,
			answer: func(*hostile, any, error) (any, error) { return &spec.ListVolumesResponse{NextToken: "again"}, nil },
			detail: `the driver has LIST_VOLUMES, and ListVolumes fails: the list does not end: next_token "again" is returned twice`},
		{name: "hangs at the start", method: "GetPluginInfo", answer: func(*hostile, any, error) (any, error) { select {} }, kind: broken,
			detail: "the driver does not answer when a run begins: ask the driver for its name: "},
		{name: "has no name", method: "GetPluginInfo", kind: invalid,
			answer: func(*hostile, any, error) (any, error) { return &spec.GetPluginInfoResponse{}, nil },
			detail: "the reply to GetPluginInfo has an empty name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &hostile{t: t, path: filepath.Join(t.TempDir(), "csi.sock"), driver: testdriver.New(), method: tt.method, answer: tt.answer, codec: tt.codec}
			h.start()
			t.Cleanup(func() { h.server.Stop() })
			report := checkSocket(t, h.path, func(cfg *Config) {
				cfg.Stories = []string{"life", "queries"}
				if tt.dies {
					cfg.Restart = func(string) error { h.start(); return nil }
				}
			})
			require.NotEmpty(t, report.Findings)
			var details []string
			for _, f := range report.Findings {
				if f.Kind == string(tt.kind) {
					details = append(details, f.Detail)
				}
			}
			require.Contains(t, strings.Join(details, "\n"), tt.detail, "%v", report.Findings)
			require.Len(t, append(names(report.Stories), skippedNames(report.Skipped)...), 2, "each story has a result")
			require.NoError(t, report.WriteText(&strings.Builder{}))
			require.NoError(t, report.WriteJUnit(&strings.Builder{}))
		})
	}
}

// checkSocket tests the driver behind a socket.
func checkSocket(t *testing.T, path string, configure func(*Config)) *Report {
	t.Helper()
	conn, err := csi.Dial("unix://" + path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	cfg := Config{Controller: conn, Limit: 300 * time.Millisecond, Seeds: -1, Pairs: -1, every: 1000}
	configure(&cfg)
	report, err := Check(cfg)
	require.NoError(t, err)
	return report
}

func names(results []StoryResult) []string {
	var all []string
	for _, s := range results {
		all = append(all, s.Story)
	}
	return all
}

func skippedNames(skipped []Skipped) []string {
	var all []string
	for _, s := range skipped {
		all = append(all, s.Story)
	}
	return all
}

// altered is a connection that changes the replies of the driver.
type altered struct {
	csi.Conn
	change func(reply any)
}

func (a altered) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	err := a.Conn.Invoke(ctx, method, request, reply, opts...)
	if err == nil {
		a.change(reply)
	}
	return err
}

// change returns a function that changes replies of one type.
func change[R any](f func(R)) func(any) {
	return func(reply any) {
		if r, ok := reply.(R); ok {
			f(r)
		}
	}
}

// Without a valid reply to GetPluginInfo and NodeGetInfo no cluster can use the driver: the finding names call, field and driver.
func TestInvalidStart(t *testing.T) {
	info := func(f func(*spec.NodeGetInfoResponse)) func(any) { return change(f) }
	name := func(name string) func(any) { return change(func(r *spec.GetPluginInfoResponse) { r.Name = name }) }
	segments := func(key, value string) func(any) {
		return info(func(r *spec.NodeGetInfoResponse) {
			r.AccessibleTopology = &spec.Topology{Segments: map[string]string{key: value}}
		})
	}
	calls := 0
	for _, tt := range []struct {
		name     string
		change   func(any)
		detail   string
		required string
		asked    bool // the story runs
	}{
		{name: "no node ID", change: info(func(r *spec.NodeGetInfoResponse) { r.NodeId = "" }),
			detail: "the reply to NodeGetInfo of driver test.csi.volsim.dev on node n1 has an empty node_id", required: "node_id is REQUIRED"},
		{name: "a long node ID", change: info(func(r *spec.NodeGetInfoResponse) { r.NodeId = strings.Repeat("n", 300) }),
			detail: "the reply to NodeGetInfo of driver test.csi.volsim.dev on node n1 has a node_id of 300 bytes", required: "SHALL NOT exceed 256 bytes"},
		{name: "one node ID for two nodes", change: info(func(r *spec.NodeGetInfoResponse) { r.NodeId = "same" }),
			detail: `the replies to NodeGetInfo of driver test.csi.volsim.dev on nodes n1 and n2 have the same node_id "same"`, required: "uniquely identify"},
		{name: "a wrong key", change: segments("my zone/x/y", "a b"),
			detail: `on node n1 has accessible_topology with the invalid key "my zone/x/y"`, required: "[prefix/]name"},
		{name: "a long prefix", change: segments(strings.Repeat("a", 64)+"/zone", "a"), detail: "with the invalid key", required: "[prefix/]name"},
		{name: "a wrong value", change: segments("zone", "a b"),
			detail: `on node n1 has accessible_topology with the invalid value "a b" of "zone"`, required: "1 to 63 characters"},
		{name: "an empty value", change: segments("zone", ""), detail: `with the invalid value "" of "zone"`, required: "1 to 63 characters"},
		{name: "two keys", change: info(func(r *spec.NodeGetInfoResponse) {
			r.AccessibleTopology = &spec.Topology{Segments: map[string]string{"Zone": "a", "zone": "a"}}
		}), detail: `with the keys "Zone" and "zone"`, required: "case-insensitive"},
		{name: "no name", change: name(""), detail: "the reply to GetPluginInfo has an empty name", required: "name is REQUIRED"},
		{name: "a wrong name", change: name("My Driver!"), detail: `the reply to GetPluginInfo has name "My Driver!", which is no domain name`, required: "domain name notation"},
		{name: "a long name", change: name(strings.Repeat("n", 64)), detail: "the reply to GetPluginInfo has a name of 64 characters", required: "at most 63"},
		{name: "a name with capitals", change: name("Disk.Example.com"), detail: `has name "Disk.Example.com", which has capital letters`, required: "Kubernetes does not"},
		{name: "the longest node ID", change: info(func(r *spec.NodeGetInfoResponse) { r.NodeId = r.NodeId + strings.Repeat("n", 254) }), asked: true},
		{name: "an empty node ID later", change: info(func(r *spec.NodeGetInfoResponse) {
			if calls++; calls > 4 {
				r.NodeId = ""
			}
		}), detail: "the reply to NodeGetInfo of driver test.csi.volsim.dev on node n1 has an empty node_id", required: "node_id is REQUIRED", asked: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"life"}, -1, -1, 1000
			cfg.Controller = altered{cfg.Controller, tt.change}
			cfg.Nodes = map[string]csi.Conn{"n1": altered{cfg.Nodes["n1"], tt.change}, "n2": altered{cfg.Nodes["n2"], tt.change}}
			report, err := Check(cfg)
			require.NoError(t, err)
			require.NoError(t, report.WriteText(&strings.Builder{}))
			if tt.detail == "" {
				require.Len(t, report.Stories, 1)
				return
			}
			require.Len(t, report.Findings, 1, "%v", report.Findings)
			f := report.Findings[0]
			require.Equal(t, string(invalid), f.Kind)
			require.Contains(t, f.Detail, tt.detail)
			require.Contains(t, f.Requirement, tt.required)
			require.Equal(t, f.Method, f.Section)
			require.NotEmpty(t, f.Calls)
			require.NotEmpty(t, f.Calls[0].Actor)
			require.NotEmpty(t, f.Calls[0].Reply)
			require.NotEmpty(t, f.Why)
			if !tt.asked {
				require.Equal(t, []Skipped{{Story: "life", About: About("life"), Missing: "valid reply to " + f.Method}}, report.Skipped)
			}
		})
	}
}

// The requirement of a finding is about what is wrong, and each call has its caller.
func TestRequirements(t *testing.T) {
	for _, tt := range []struct {
		name     string
		bugs     []testdriver.Bug
		story    string
		change   func(any)
		fails    string // method that fails with FailedPrecondition
		detail   string
		required string
		why      string
	}{
		{name: "a negative limit", change: change(func(r *spec.NodeGetInfoResponse) { r.MaxVolumesPerNode = -3 }),
			detail: "the reply to NodeGetInfo has max_volumes_per_node -3", required: "max_volumes_per_node MUST NOT be negative", why: "a kubelet asks"},
		{name: "a wrong zone", bugs: []testdriver.Bug{testdriver.CreateIgnoresTopology},
			detail: "which is none of the requisite topologies", required: "at least one of the requisite topologies", why: "a claim"},
		{name: "wrong segments", change: change(func(r *spec.CreateVolumeResponse) {
			r.Volume.AccessibleTopology = []*spec.Topology{{Segments: map[string]string{"my zone/x/y": "a"}}}
		}), detail: `the reply to CreateVolume has accessible_topology with the invalid key "my zone/x/y"`, required: "[prefix/]name", why: "a claim"},
		{name: "a long volume_id", bugs: []testdriver.Bug{testdriver.CreateLongID},
			detail: "the reply to CreateVolume is too large: volume_id has", required: "a string SHALL NOT exceed 128 bytes", why: "a claim"},
		{name: "a long snapshot_id", bugs: []testdriver.Bug{testdriver.SnapshotLongID}, story: "snapshot",
			detail: "the reply to CreateSnapshot is too large: snapshot_id has", required: "a string SHALL NOT exceed 128 bytes", why: "a VolumeSnapshot"},
		{name: "a negative size", change: change(func(r *spec.CreateVolumeResponse) { r.Volume.CapacityBytes = -5 }),
			detail: "the reply to CreateVolume has capacity_bytes -5", required: "capacity_bytes MUST NOT be negative", why: "a claim"},
		{name: "no staging", fails: "/NodePublishVolume", change: change(func(r *spec.NodeGetCapabilitiesResponse) { r.Capabilities = nil }),
			detail: "NodePublishVolume answers code FailedPrecondition", required: "the driver lacks STAGE_UNSTAGE_VOLUME", why: "a pod of the node needs the volume"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(tt.bugs...)
			cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every, cfg.Limit = []string{orElse(tt.story, "life")}, -1, -1, 1000, time.Second
			on := func(c csi.Conn) csi.Conn {
				if tt.change != nil {
					c = altered{c, tt.change}
				}
				return failing{c, tt.fails, func() error {
					if tt.fails == "" {
						return nil
					}
					return status.Error(codes.FailedPrecondition, "not staged")
				}}
			}
			cfg.Controller, cfg.Nodes = on(cfg.Controller), map[string]csi.Conn{"n1": on(cfg.Nodes["n1"])}
			report, err := Check(cfg)
			require.NoError(t, err)
			require.Len(t, report.Findings, 1, "%v", report.Findings)
			f := report.Findings[0]
			require.Contains(t, f.Detail, tt.detail)
			require.Contains(t, f.Requirement, tt.required)
			for _, c := range f.Calls {
				require.NotEmpty(t, c.Actor+c.Note)
			}
			require.NotEmpty(t, f.Why)
			require.Contains(t, f.Why[len(f.Why)-1].Text, tt.why)
			require.NotContains(t, f.String(), "has staged")
		})
	}
}

// A test in which no story runs is an error, and the report says what is missing. One of several shards may have none.
func TestNothingAsked(t *testing.T) {
	cfg := testConfig()
	node := change(func(r *spec.GetPluginCapabilitiesResponse) {
		r.Capabilities = slices.DeleteFunc(r.Capabilities, func(c *spec.PluginCapability) bool { return c.GetService() != nil })
	})
	cfg.Controller, cfg.Inline = altered{cfg.Controller, node}, nil
	cfg.Stories = []string{"life", "snapshot", "inline"}
	report, err := Check(cfg)
	const missing = "CONTROLLER_SERVICE in GetPluginCapabilities"
	require.EqualError(t, err, "test a CSI driver: no story was asked: no "+missing+"; no Config.Inline (--inline)")
	require.Equal(t, []string{missing, missing, "Config.Inline (--inline)"}, []string{report.Skipped[0].Missing, report.Skipped[2].Missing, report.Skipped[1].Missing})
	var shards []*Report
	for _, shard := range []string{"0/2", "1/2"} {
		cfg.Shard = shard
		report, err := Check(cfg)
		require.NoError(t, err)
		shards = append(shards, report)
	}
	merged, err := Merge(shards...)
	require.EqualError(t, err, "merge reports: no story was asked: no "+missing+"; no Config.Inline (--inline)")
	require.Len(t, merged.Skipped, 3)

	cfg.Inline, cfg.Shard, cfg.Seeds, cfg.Pairs, cfg.every = map[string]string{}, "", -1, -1, 1000
	report, err = Check(cfg)
	require.NoError(t, err, "a driver of inline volumes needs no controller")
	require.Equal(t, []string{"inline"}, names(report.Stories))
}

// A driver that refuses to describe its nodes is a finding about NodeGetInfo.
func TestNodeInfoFails(t *testing.T) {
	for _, from := range []int{1, 3} {
		calls, d := 0, testdriver.New()
		cfg := configOf(d)
		d.Zone, cfg.Limit = "", time.Second // with topology the driver is asked once more
		cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"life"}, -1, -1, 1000
		fails := func(c csi.Conn) csi.Conn {
			return failing{c, "/NodeGetInfo", func() error {
				if calls++; calls < from {
					return nil
				}
				return status.Error(codes.Internal, "no metadata")
			}}
		}
		cfg.Controller, cfg.Nodes = fails(cfg.Controller), map[string]csi.Conn{"n1": fails(cfg.Nodes["n1"]), "n2": fails(cfg.Nodes["n2"])}
		report, err := Check(cfg)
		require.NoError(t, err)
		require.Len(t, report.Findings, 1)
		f := report.Findings[0]
		require.Equal(t, []string{string(stuck), "NodeGetInfo", "NodeGetInfo"}, []string{f.Kind, f.Method, f.Section})
		require.Contains(t, f.Detail, "NodeGetInfo answers code Internal: no metadata")
		require.Contains(t, f.Requirement, "no pod on a node can use a volume before")
	}
}

// failing is a connection on which a method fails.
type failing struct {
	csi.Conn
	method string
	err    func() error // nil: the driver answers
}

func (f failing) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	if strings.HasSuffix(method, f.method) {
		if err := f.err(); err != nil {
			return err
		}
	}
	return f.Conn.Invoke(ctx, method, request, reply, opts...)
}

// invalidText is a connection to a driver whose volume_ids are not UTF-8.
type invalidText struct{ spec.ControllerServer }

func (i invalidText) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	reply, err := i.ControllerServer.CreateVolume(ctx, r)
	if err == nil {
		reply = proto.Clone(reply).(*spec.CreateVolumeResponse)
		reply.Volume.VolumeId += "\xff"
	}
	return reply, err
}

// controllers is a registrar that changes the service of the controller.
type controllers struct {
	grpc.ServiceRegistrar
	change func(spec.ControllerServer) spec.ControllerServer
}

func (c controllers) RegisterService(desc *grpc.ServiceDesc, service any) {
	if controller, ok := service.(spec.ControllerServer); ok {
		service = c.change(controller)
	}
	c.ServiceRegistrar.RegisterService(desc, service)
}

// A reply that gRPC cannot send is the same finding for a driver in the same process.
func TestInvalidText(t *testing.T) {
	register := func(s grpc.ServiceRegistrar) {
		testdriver.New().Register(controllers{s, func(c spec.ControllerServer) spec.ControllerServer { return invalidText{c} }}, "n1")
	}
	path := filepath.Join(t.TempDir(), "csi.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	configure := func(cfg *Config) { cfg.Stories = []string{"life"} }
	socket := checkSocket(t, path, configure)
	here := checkSocket(t, path, func(cfg *Config) { configure(cfg); cfg.Controller = csi.Serve(register) })
	require.Len(t, socket.Findings, 1)
	require.Contains(t, socket.Findings[0].Detail, "CreateVolume gets no answer: the driver sent garbage: grpc: error while marshaling: ")
	require.Len(t, here.Findings, 1)
	require.Equal(t, socket.Findings[0].Detail, here.Findings[0].Detail)
}

// A driver that dies and is not restarted ends the test, with what was found until then.
func TestDriverDies(t *testing.T) {
	h := &hostile{t: t, path: filepath.Join(t.TempDir(), "csi.sock"), driver: testdriver.New(), method: "NodeStageVolume", answer: die}
	h.start()
	report := checkSocket(t, h.path, func(cfg *Config) { cfg.Stories = []string{"life", "queries", "block"} })
	require.Contains(t, report.Findings[0].String()+report.Findings[1].String(), "NodeStageVolume gets no answer: the connection to the driver failed: ")
	require.Equal(t, "driver that answers", report.Skipped[len(report.Skipped)-1].Missing)
}

// A process that is no driver of this version of CSI is a finding too.
func TestNoDriver(t *testing.T) {
	listen := func(t *testing.T) (string, net.Listener) {
		path := filepath.Join(t.TempDir(), "csi.sock")
		listener, err := net.Listen("unix", path)
		require.NoError(t, err)
		return path, listener
	}
	t.Run("another version of CSI", func(t *testing.T) {
		path, listener := listen(t)
		server := grpc.NewServer()
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		report := checkSocket(t, path, func(*Config) {})
		require.Len(t, report.Findings, 1)
		require.Contains(t, report.Findings[0].Detail, "the driver does not serve csi.v1, so it is for another version of CSI: ")
		require.Len(t, report.Skipped, len(Stories()))
	})
	t.Run("no gRPC", func(t *testing.T) {
		path, listener := listen(t)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nthis is no gRPC\n"))
				_ = conn.Close()
			}
		}()
		report := checkSocket(t, path, func(*Config) {})
		require.Len(t, report.Findings, 1)
		require.Contains(t, report.Findings[0].Detail, "the driver does not answer when a run begins: ")
	})
	t.Run("nothing", func(t *testing.T) {
		conn, err := csi.Dial("unix://" + filepath.Join(t.TempDir(), "csi.sock"))
		require.NoError(t, err)
		_, err = Check(Config{Controller: conn})
		require.ErrorContains(t, err, "nothing serves the endpoint of the driver")
	})
}

// A driver in the same process that hangs in ListVolumes does not hang the test.
func TestHangingList(t *testing.T) {
	cfg := testConfig()
	cfg.Controller = stuckList{cfg.Controller}
	cfg.Limit, cfg.Stories = 200*time.Millisecond, []string{"life"}
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Contains(t, report.Findings[0].Detail, "list the volumes of the driver: the driver did not reply within 200ms of real time")
}

// stuckList is a connection that never answers ListVolumes.
type stuckList struct{ csi.Conn }

func (s stuckList) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	if strings.HasSuffix(method, "/ListVolumes") {
		select {}
	}
	return s.Conn.Invoke(ctx, method, request, reply, opts...)
}

// A driver that needs a parameter of the StorageClass gets a finding that names the setting, if the test has no parameters.
func TestParameters(t *testing.T) {
	for _, tt := range []struct {
		name       string
		method     string
		stories    []string
		parameters map[string]string
		required   string
	}{
		{name: "none", method: "/CreateVolume", stories: []string{"life"},
			required: "if the driver needs parameters of the StorageClass, set them with Config.Parameters (--parameter NAME=VALUE)"},
		{name: "others", method: "/CreateVolume", stories: []string{"life"}, parameters: map[string]string{"type": "ssd"},
			required: "if the driver does not know the parameters type=ssd, correct Config.Parameters (--parameter NAME=VALUE)"},
		{name: "none for snapshots", method: "/CreateSnapshot", stories: []string{"snapshot"},
			required: "if the driver needs parameters of the VolumeSnapshotClass, set them with Config.SnapshotParameters (--snapshot-parameter NAME=VALUE)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every, cfg.Limit = tt.stories, -1, -1, 1000, time.Second
			cfg.Parameters = tt.parameters
			cfg.Controller = failing{cfg.Controller, tt.method, func() error { return status.Error(codes.InvalidArgument, "parameter pool is required") }}
			report, err := Check(cfg)
			require.NoError(t, err)
			require.NotEmpty(t, report.Findings)
			require.Contains(t, report.Findings[0].Detail, "parameter pool is required")
			for _, c := range report.Findings[0].Calls {
				require.NotEmpty(t, c.Actor)
				require.NotEqual(t, "NodeGetInfo", c.Method)
			}
			require.Contains(t, report.Findings[0].Requirement, tt.required)
		})
	}
}
