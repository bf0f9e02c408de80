// Command volsim-csi tests a CSI driver, in any language, against everything that Kubernetes does to it:
//
//	volsim-csi test --endpoint unix:///run/disk/csi.sock
//
// It is a command of its own, which the command volsim csi runs, so that volsim does not depend on gRPC. Package csitest does the same in Go tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/csitest"
	"github.com/volsim/volsim/csi/internal/internals"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // runs are short and leave nothing behind, so rare collections save a fifth of the time
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// Exit statuses.
const (
	passed = 0 // the driver does nothing wrong
	found  = 1 // there are findings, or a story did not reach its end
	failed = 2 // the test could not run, or no story was asked
)

const usage = `volsim-csi tests a CSI driver against everything that Kubernetes does to it.

  volsim-csi test --endpoint unix:///PATH [flags]   runs the stories against the driver
  volsim-csi merge FILE... [flags]                  joins the reports that shards wrote with --json; - is standard input
  volsim-csi stories                                lists the stories

volsim csi runs this program. Exit status 0: the driver does nothing wrong; 1: there are findings, or a story did not reach its end; 2: the test
could not run, or no story was asked. A shard exits with 0 if it ran; merge evaluates the findings.
`

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return failed
	}
	switch args[0] {
	case "test", "merge":
		command := test
		if args[0] == "merge" {
			command = merge
		}
		status, err := command(args[1:], stdout, stderr)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return passed
		case err != nil:
			fmt.Fprintf(stderr, "volsim-csi: %v\n", err)
			return failed
		}
		return status
	case "stories":
		for _, name := range csitest.Stories() {
			fmt.Fprintf(stdout, "%-22s %s\n", name, csitest.About(name))
		}
		return passed
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return passed
	}
	fmt.Fprintf(stderr, "volsim-csi: unknown command %q\n\n%s", args[0], usage)
	return failed
}

// pairsFlag collects NAME=VALUE flags.
type pairsFlag map[string]string

func (p pairsFlag) String() string { return "" }

func (p pairsFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not of the form name=value", text)
	}
	p[name] = value
	return nil
}

// newFlags returns the flags of a command. The help that a user asks for goes to stdout.
func newFlags(name, about string, args []string, stdout io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the caller prints the error
	if slices.Contains(args, "--help") || slices.Contains(args, "-help") || slices.Contains(args, "-h") || slices.Contains(args, "--h") {
		fs.SetOutput(stdout)
	}
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "%s\n\nFlags:\n", about)
		fs.VisitAll(func(f *flag.Flag) {
			value, text := flag.UnquoteUsage(f)
			fmt.Fprintf(fs.Output(), "  --%s\n        %s", strings.TrimSpace(f.Name+" "+value), text)
			if f.DefValue != "" && f.DefValue != "false" {
				fmt.Fprintf(fs.Output(), "; default %s", f.DefValue)
			}
			fmt.Fprintln(fs.Output())
		})
	}
	return fs
}

// parse parses the flags of a command. Its error names the way to the help.
func parse(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return fmt.Errorf("%w; %s --help lists the flags", err, fs.Name())
	}
	return err
}

const testUsage = `Run the stories against a driver, and report what the driver does wrong:

  volsim csi test --endpoint unix:///run/disk/csi.sock --stories life
  volsim csi test --endpoint unix:///run/n1.sock --node n1=unix:///run/n1.sock --node n2=unix:///run/n2.sock --restart CMD

Run it where the driver may create, mount and delete volumes. docs/csi-quick-start.md says which flag finds what.`

func test(args []string, stdout, stderr io.Writer) (int, error) {
	fs := newFlags("volsim-csi test", testUsage, args, stdout)
	nodes, parameters, snapshotParameters, attributes, secrets, inline := pairsFlag{}, pairsFlag{}, pairsFlag{}, pairsFlag{}, pairsFlag{}, pairsFlag{}
	endpoint := fs.String("endpoint", "", "socket of the driver, such as unix:///run/disk/csi.sock: Identity and Controller, and Node without --node")
	fs.Var(nodes, "node", "node and the socket of the driver there, such as n1=unix:///run/n1/csi.sock; repeat it for more nodes")
	fs.Var(parameters, "parameter", "parameter of the StorageClass, such as type=ssd; repeat it for more")
	fs.Var(snapshotParameters, "snapshot-parameter", "parameter of the VolumeSnapshotClass; repeat it for more")
	fs.Var(attributes, "attribute", "parameter of the VolumeAttributesClass to which volumes are modified, such as iops=1000; repeat it for more; "+
		"default: volumes are not modified")
	fs.Var(secrets, "secret", "key and value of the Secret that every call gets, such as userKey=abc; repeat it for more")
	fs.Var(inline, "inline", "attribute of volumes in the pod itself, such as size=1Gi; repeat it for more; default: the driver has no such volumes")
	inlineReadOnly := fs.Bool("inline-read-only", false, "volumes in the pod itself are read-only")
	object := fs.String("csidriver", "", "file with the CSIDriver object of the driver, for podInfoOnMount, tokenRequests and the like; default: one without")
	restart := fs.String("restart", "", "command that kills the driver and starts it again; it has the node as NODE in its environment")
	reset := fs.String("reset", "", "command that removes all volumes and mounts, run before each run; default: each run uses new names")
	reboot := fs.String("reboot", "", "command that reboots a node, or removes its mounts as a reboot does; it has the node as NODE in its environment; "+
		"default: nodes do not reboot")
	removeNode := fs.String("remove-node", "", "command that removes a node from the storage system; --reset brings it back; it has the node as NODE in its environment; "+
		"default: nodes are not removed")
	root := fs.String("dir", "", "directory below which the driver mounts; default: the paths of a kubelet, below /var/lib/kubelet")
	mounts := fs.Bool("mounts", false, "compare what is mounted below --dir, and the data there: the driver runs on this machine, and volsim sees its mounts")
	stories := fs.String("stories", "", "stories to run, separated by commas; default all")
	unsupported := fs.String("unsupported", "", "what the driver does not support, separated by commas: ReadWriteMany, ReadOnlyMany, ReadWriteOncePod, Block")
	size := fs.Int("size", 1, "size of volumes in GiB")
	shard := fs.String("shard", "", "I/N: run shard I of N of the stories, counted from 0; job/N: shard $"+jobIndex+"; default all")
	seeds := fs.Int("seeds", 3, "number of orders in which each story runs")
	pairs := fs.Int("pairs", 20, "number of pairs of faults for each story")
	limit := fs.Duration("limit", 10*time.Second, "real time that a call may take")
	replay := fs.String("replay", "", "run only what the replay line of a report names, such as \"life lost@3\"")
	out := outputFlags(fs)
	fs.StringVar(&out.html, "html", "", "file for a picture (HTML) of the shortest run that shows a finding; not written without one")
	if err := parse(fs, args); err != nil {
		return failed, err
	}
	switch {
	case fs.NArg() > 0:
		return failed, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case *endpoint == "":
		return failed, errors.New("no driver; give --endpoint unix:///PATH")
	case *limit <= 0:
		return failed, fmt.Errorf("--limit %v: no time for a call; use a time such as 10s", *limit)
	case *replay != "" && *stories != "":
		return failed, errors.New("--replay and --stories: --replay names its story; omit --stories")
	}
	if err := out.check(); err != nil {
		return failed, err
	}
	part, err := shardOf(*shard)
	if err != nil {
		return failed, err
	}
	if geteuid() == 0 {
		where := "below " + *root
		if *root == "" {
			where = "below /var/lib/kubelet; use --dir DIR for other paths"
		}
		fmt.Fprintln(stderr, "warning: running as root; the driver mounts what the stories ask for "+where)
	}
	cfg := csitest.Config{Parameters: parameters, SnapshotParameters: snapshotParameters, Attributes: attributes,
		Size: *size, Seeds: orNone(*seeds), Pairs: orNone(*pairs), Limit: *limit, Replay: *replay,
		Shard: part, Root: *root, Stories: words(*stories), Unsupported: words(*unsupported)}
	if len(secrets) > 0 {
		cfg.Secrets = secrets
	}
	if len(inline) > 0 {
		cfg.Inline = inline
	}
	cfg.InlineReadOnly = *inlineReadOnly
	if cfg.CSIDriver, err = readCSIDriver(*object); err != nil {
		return failed, err
	}
	if cfg.Controller, err = csi.Dial(*endpoint); err != nil {
		return failed, err
	}
	for name, socket := range nodes {
		if cfg.Nodes == nil {
			cfg.Nodes = map[string]csi.Conn{}
		}
		if cfg.Nodes[name], err = csi.Dial(socket); err != nil {
			return failed, fmt.Errorf("node %s: %w", name, err)
		}
	}
	if *restart != "" {
		cfg.Restart = func(node string) error { return command(*restart, node, stderr) }
	}
	var hook error // of the first hook that failed
	interrupted, end := cleanOnSignal(*root, stderr)
	defer end()
	internals.WatchHooks(&cfg, func() error {
		if interrupted.Load() {
			return errInterrupted
		}
		return hook
	})
	perform := func(what, line string) func(string) {
		if line == "" {
			return nil
		}
		return func(node string) {
			if err := command(line, node, stderr); err != nil && hook == nil {
				hook = fmt.Errorf("%s node %s: %w", what, node, err)
			}
		}
	}
	if *mounts {
		if err := compareMounts(&cfg); err != nil {
			return failed, err
		}
	}
	cfg.Reboot, cfg.RemoveNode = perform("reboot", *reboot), perform("remove", *removeNode)
	if *reset != "" {
		cfg.Reset = func() error { return command(*reset, "", stderr) }
	}
	if n, err := unmountBelow(*root); err != nil {
		return failed, fmt.Errorf("remove what an earlier test left: %w", err)
	} else if n > 0 {
		fmt.Fprintf(stderr, "unmounted %d left below %s\n", n, *root)
	}
	cfg.Progress = func(story string, runs int) { fmt.Fprintf(stderr, "%-22s %d runs\n", story, runs) }
	report, err := csitest.Check(cfg)
	if errors.Is(err, errInterrupted) && report != nil {
		if out.json == "-" {
			return failed, errInterrupted // merge would take it for the report of a whole shard
		}
		return failed, errors.Join(report.WriteText(stdout), errInterrupted)
	}
	if err := out.writeOr(err, report, stdout); err != nil {
		return failed, err
	}
	if part != "" {
		return passed, nil
	}
	return statusOf(report), nil
}

// readCSIDriver reads the CSIDriver object in a file; nil for no file.
func readCSIDriver(file string) (*storagev1.CSIDriverSpec, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--csidriver: %w", err)
	}
	var object storagev1.CSIDriver
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		return nil, fmt.Errorf("--csidriver %s: %w", file, err)
	}
	if object.Kind != "CSIDriver" {
		return nil, fmt.Errorf("--csidriver %s: kind %q; use a file with one CSIDriver", file, object.Kind)
	}
	return &object.Spec, nil
}

// statusOf returns the exit status for the report of a whole test.
func statusOf(report *csitest.Report) int {
	if len(report.Findings) > 0 || slices.ContainsFunc(report.Stories, func(s csitest.StoryResult) bool { return s.Incomplete != "" }) {
		return found
	}
	return passed
}

// errInterrupted ends a test after the run in which a signal arrived. What was found until then is printed, and no file is written.
var errInterrupted = errors.New("interrupted: the report has what ran before")

// cleanOnSignal sets interrupted when the test is interrupted; a second signal removes the mounts below a directory and ends the process. The function
// end removes the mounts at the end of the test.
func cleanOnSignal(dir string, stderr io.Writer) (interrupted *atomic.Bool, end func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	interrupted = new(atomic.Bool)
	clean := func() {
		if _, err := unmountBelow(dir); err != nil {
			fmt.Fprintf(stderr, "volsim-csi: %v\n", err)
		}
	}
	go func() {
		for {
			select {
			case <-signals:
			case <-done:
				return
			}
			if interrupted.Swap(true) {
				clean()
				os.Exit(failed)
			}
			fmt.Fprintln(stderr, "volsim-csi: interrupted; the test ends with its present run, or at once after a second signal")
		}
	}()
	return interrupted, func() {
		signal.Stop(signals)
		close(done)
		clean()
	}
}

// geteuid returns the user; tests replace it.
var geteuid = os.Geteuid

// orNone returns n as a field of Config, in which 0 is the default and negative none.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// words returns the words of a list with commas.
func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// commandLimit is the real time that a command may take.
const commandLimit = time.Minute

// command runs a command with a shell.
func command(line, node string, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Env = append(os.Environ(), "NODE="+node)
	c.Stdout, c.Stderr = stderr, stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("run %q: %w", line, err)
	}
	return nil
}
