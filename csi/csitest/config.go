package csitest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/internals"
)

func init() {
	internals.WatchHooks = func(config any, failed func() error) { config.(*Config).failed = failed }
	internals.WatchCalls = func(config any, watch func(*volsim.Cluster, csi.Call)) { config.(*Config).watch = watch }
}

// Config says how to reach the driver, and what to run.
type Config struct {
	// Controller serves Identity and Controller, and Node for the nodes that Nodes does not list. Required.
	Controller csi.Conn
	// Nodes serve Node, by the name of the node. With none, there is one node, n1, which Controller serves. Stories that need more nodes
	// than there are do not run.
	Nodes map[string]csi.Conn
	// Limit is how long a call may take in real time. Zero is 10 s.
	Limit time.Duration

	// Reset removes all volumes and mounts, between two runs. Its error ends the test. If it is nil, each run uses new names, and ends with what its story leaves.
	Reset func() error
	// Restart kills the driver and starts it again: what it has in memory is lost. node is "" for the controller. Its error ends the test. Without
	// it the faults that kill the driver are not injected.
	Restart func(node string) error
	// Reboot removes the mounts of a node, as a reboot does. Without it nodes do not reboot.
	Reboot func(node string)
	// RemoveNode removes a node from the storage system, as when its virtual machine is deleted. Reset brings it back. Without both nodes are not
	// removed.
	RemoveNode func(node string)
	// Mounts lists what is mounted on the nodes now. Without it mounts are not compared.
	Mounts func() []Mount
	// Write and Read access the file system at a path on a node, as a container does. Without them data is not compared.
	Write func(node, path, data string) error
	Read  func(node, path string) (data string, err error)

	// Root is a directory for the volumes of all nodes: paths in requests are below Root/NAME OF THE NODE, and volsim creates the directories
	// there that a kubelet creates. Default "": paths are those of a kubelet, and nothing is created.
	Root string
	// Parameters are those of the StorageClass; default none.
	Parameters map[string]string
	// SnapshotParameters are those of the VolumeSnapshotClass; default none.
	SnapshotParameters map[string]string
	// Secrets is the content of a Secret that every call gets that can have secrets; default none: only stories about secrets have one.
	Secrets map[string]string
	// Inline are the attributes of volumes in the pod itself (CSI ephemeral volumes), empty for none; default nil: the driver has no such
	// volumes, unless CSIDriver has the mode Ephemeral.
	Inline map[string]string
	// InlineReadOnly makes volumes in the pod itself read-only, which some drivers require.
	InlineReadOnly bool
	// CSIDriver is the spec of the CSIDriver object that is installed with the driver, for what the driver needs from the kubelet, such as
	// podInfoOnMount and tokenRequests. A story changes what it is about, and attachRequired follows the capability. Default nil: an empty one.
	CSIDriver *storagev1.CSIDriverSpec
	// Attributes are parameters of a VolumeAttributesClass to which volumes can be modified; default none: volumes are not modified.
	Attributes map[string]string
	// Size is the size of volumes in GiB. Zero is 1.
	Size int
	// Unsupported lists what the driver does not support: "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod", and "Block".
	Unsupported []string

	// Stories are the names of the stories to run; default all.
	Stories []string
	// Shard is the share of the stories that runs, such as "0/4": every fourth one, from the first on. Default "": all. The shards together
	// run every story once; Merge joins their reports.
	Shard string
	// Seeds is the number of orders in which each story runs without faults. Zero is 3; negative is none.
	Seeds int
	// Pairs is the number of pairs of faults for each story, chosen at random. Zero is 20; negative is none.
	Pairs int
	// Replay runs only what its text names, as a report prints it: "story", or "story fault@call … seed=n". Default "": everything. A fault that
	// was not injected into a run without findings is an error, except with Recorded.
	Replay string
	// Recorded are the calls of a finding with their replies: Finding.Recorded, as WriteGoTest writes them. They take the place of the driver if
	// Controller is nil: the test fails with the finding of Replay. Default "": none.
	Recorded string

	limit    int32          // max_volumes_per_node of the first node; not positive: none
	unlisted bool           // ListVolumes does not work, so volumes are not compared
	endless  bool           // the pages of ListSnapshots do not end, so snapshots are not compared
	left     map[string]int // volumes that earlier runs left attached, by node_id
	failed   func() error   // returns the error of a hook; nil for none
	paced    bool           // the driver works on in real time after it has replied, so a repetition of a call waits
	far      []string       // nodes with another topology than the first one
	topology []string       // keys of the topology, if there are such nodes
	watch    func(*volsim.Cluster, csi.Call)
	every    int // inject only each n-th single fault; 0 is each one

	// Progress is called after each story with its name and the number of runs. Default nil: not called, but by Run with go test -v, which logs it.
	Progress func(story string, runs int)
}

// Mount is a mount on a node.
type Mount struct {
	Node     string // name of the node
	Path     string // where something is mounted
	ReadOnly bool   // it cannot be written
	// Options are the options of the mount, such as "rw,noatime,gid=1000". Default "": unknown, so they are not compared.
	Options string `json:",omitempty"`
}

// check returns an error for a configuration that does not work, and sets the defaults.
func (c *Config) check() error {
	if c.Controller == nil && c.Recorded == "" {
		return errors.New("test a CSI driver: no connection; set Config.Controller")
	}
	if c.Seeds == 0 {
		c.Seeds = 3
	}
	if c.Pairs == 0 {
		c.Pairs = 20
	}
	if c.Limit == 0 {
		c.Limit = 10 * time.Second
	}
	if c.Limit < 0 {
		return fmt.Errorf("test a CSI driver: Config.Limit %v; use how long a call may take", c.Limit)
	}
	if c.Inline == nil && c.CSIDriver != nil && slices.Contains(c.CSIDriver.VolumeLifecycleModes, storagev1.VolumeLifecycleEphemeral) {
		c.Inline = map[string]string{}
	}
	if c.Size == 0 {
		c.Size = 1
	}
	if c.Size < 0 {
		return fmt.Errorf("test a CSI driver: Config.Size %d; use a number of GiB", c.Size)
	}
	if _, _, err := c.shard(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if c.Nodes[name] == nil {
			return fmt.Errorf("test a CSI driver: Config.Nodes[%q] is nil; set the connection to the driver on each node", name)
		}
	}
	for _, mode := range c.Unsupported {
		if !slices.Contains(modes, mode) {
			last := len(modes) - 1
			return fmt.Errorf("test a CSI driver: Config.Unsupported %q; want %s or %s", mode, strings.Join(modes[:last], ", "), modes[last])
		}
	}
	for _, name := range c.Stories {
		if find(name) == nil {
			return fmt.Errorf("test a CSI driver: there is no story %q; csitest.Stories and volsim csi stories list them", name)
		}
	}
	return nil
}

// watchHooks remembers the first error of Restart and Reset, which ends the test: nothing is known about a driver that did not restart.
func (c *Config) watchHooks() {
	restart, reset, others := c.Restart, c.Reset, c.failed
	var failed error
	watch := func(what string, err error) error {
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s the driver: %w", what, err)
		}
		return err
	}
	if restart != nil {
		c.Restart = func(node string) error { return watch("restart", restart(node)) }
	}
	if reset != nil {
		c.Reset = func() error { return watch("reset", reset()) }
	}
	c.failed = func() error {
		if failed == nil && others != nil {
			return others()
		}
		return failed
	}
}

// hooks returns the error of a hook that failed, nil for none.
func (c *Config) hooks() error {
	if c.failed == nil {
		return nil
	}
	return c.failed()
}

// modes are the words of Config.Unsupported: what the needs of a story name.
var modes = []string{"ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod", "Block"}

// nodes returns the names of the nodes, those with another topology than the first one last.
func (c *Config) nodes() []string {
	if len(c.Nodes) == 0 {
		return []string{"n1"}
	}
	near := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Nodes)), func(name string) bool { return slices.Contains(c.far, name) })
	return append(near, c.far...)
}
