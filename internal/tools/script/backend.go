package script

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/storage"
)

// scriptBackend is a backend of a script: a [fake.Memory], or a [fake.Plugin], which knows other volumes as its own.
type scriptBackend interface {
	storage.Backend
	Err() error
	Volumes() []fake.VolumeState
	Volume(id string) (fake.VolumeState, bool)
	Deleted() []fake.VolumeState
	Report(pvs []*corev1.PersistentVolume) []fake.Problem
	SetAttachLimit(node string, volumes int32)
	SetCondition(id, node, problem string) error
}

// knownBackend returns an error if the setup lines define no backend of this name.
func knownBackend(s *Script, name string) error {
	if u, err := s.newSetup(-1); err == nil && u.backends[name] == nil {
		return fmt.Errorf("unknown backend %s; begin the script with a line backend %s", name, name)
	}
	return nil
}

// backendOption is an option of the command backend.
type backendOption struct {
	form, help string
	// read returns the option; given is false if the word has no "=".
	read func(key, value string, given bool) (fake.MemoryOption, error)
}

func plainOption(name, help string, option func() fake.MemoryOption) backendOption {
	return backendOption{name, help, func(_, value string, given bool) (fake.MemoryOption, error) {
		if given {
			return nil, errors.New("want no value")
		}
		return option(), nil
	}}
}

func sizeOption(name, help string, option func(string) fake.MemoryOption) backendOption {
	return backendOption{name + "=SIZE", help, func(_, value string, _ bool) (fake.MemoryOption, error) {
		if _, ok := quantity(value); !ok {
			return nil, fmt.Errorf("invalid size %q: want a quantity such as 10Gi", value)
		}
		return option(value), nil
	}}
}

func opsOption(name, help string, option func(...storage.Op) fake.MemoryOption) backendOption {
	return backendOption{name + "=OP,...", help, func(_, value string, _ bool) (fake.MemoryOption, error) {
		var ops []storage.Op
		for op := range strings.SplitSeq(value, ",") {
			if !backends.IsOp(storage.Op(op)) {
				return nil, unknownWord("operation", op, opNames())
			}
			ops = append(ops, storage.Op(op))
		}
		return option(ops...), nil
	}}
}

var backendOptions = []backendOption{
	plainOption("lenient", "allows conflicting use, like a buggy driver, but still records it", fake.Lenient),
	plainOption("created-only", "has only the volumes that it created; by default it also has every volume that a PersistentVolume names",
		fake.CreatedOnly),
	plainOption("provision-only", "can create and delete volumes, nothing else",
		func() fake.MemoryOption { return fake.Only(storage.Create, storage.Delete) }),
	plainOption("without-attach", "needs no attach", func() fake.MemoryOption { return fake.Without(storage.Attach) }),
	plainOption("without-stage", "needs no staging", func() fake.MemoryOption { return fake.Without(storage.Stage) }),
	plainOption("offline-expansion", "cannot expand an attached volume", fake.OfflineExpansion),
	plainOption("mount-group", "applies the fsGroup of the pod itself when it mounts a volume", fake.MountGroup),
	opsOption("without", "does not support these operations", fake.Without),
	opsOption("only", "supports only these operations", fake.Only),
	sizeOption("quota", "total size of all volumes; a CSI driver reports what is left of it if its CSIDriver has storageCapacity true", fake.Quota),
	sizeOption("max-size", "maximum size of a volume", fake.MaxSize),
	sizeOption("min-size", "minimum size of a volume", fake.MinSize),
	{"mutable=PARAMETER,...", "parameters that a VolumeAttributesClass can change", func(_, value string, _ bool) (fake.MemoryOption, error) {
		return fake.Mutable(strings.Split(value, ",")...), nil
	}},
	{"attach-limit=N", "maximum number of attached volumes per node", func(_, value string, _ bool) (fake.MemoryOption, error) {
		n, err := readLimit(value)
		if err != nil {
			return nil, err
		}
		return fake.AttachLimit(n), nil
	}},
	{"latency.OP=DURATION", "duration of each call of the operation", func(key, value string, _ bool) (fake.MemoryOption, error) {
		op := storage.Op(strings.TrimPrefix(key, "latency."))
		if !backends.IsOp(op) {
			return nil, unknownWord("operation", string(op), opNames())
		}
		d, err := ParseDuration(value)
		if err != nil {
			return nil, err
		}
		if d < 0 {
			return nil, errors.New("duration must not be negative")
		}
		return fake.Latency(op, d), nil
	}},
	{"segment=KEY:VALUE,...", "topology segment in which volumes are created and accessible; repeat it for several segments", nil},
}

func backendHelp() string {
	var out strings.Builder
	for _, o := range backendOptions {
		fmt.Fprintf(&out, "- `%s`: %s\n", o.form, o.help)
	}
	ops := make([]string, len(backends.Ops()))
	for i, op := range backends.Ops() {
		ops[i] = "`" + string(op) + "`"
	}
	fmt.Fprintf(&out, "\nOperations are %s.", strings.Join(ops, ", "))
	return out.String()
}

func readBackend(s *Script, args []string) (step, error) {
	if len(args) == 0 {
		return nil, usageOf("backend", "missing name")
	}
	name := args[0]
	if strings.Contains(name, "=") {
		return nil, usageOf("backend", "the name must come first")
	}
	// The options are read for each cluster, because runs do not share backends.
	return nil, s.add(func(u *setup) error {
		options, err := readBackendOptions(args[1:])
		if err != nil {
			return err
		}
		if u.backends[name] != nil {
			return fmt.Errorf("duplicate backend %s", name)
		}
		switch {
		case name == "kubernetes.io/nfs":
			plugin := fake.NFS(options...)
			u.backends[name], u.config.Backends = plugin, append(u.config.Backends, plugin)
		case name == "kubernetes.io/host-path":
			plugin := fake.HostPath(options...)
			u.backends[name], u.config.Backends = plugin, append(u.config.Backends, plugin)
		case strings.HasPrefix(name, backends.InTreePrefix):
			plugin := fake.InTree(name, options...)
			u.backends[name], u.config.Backends = plugin, append(u.config.Backends, plugin)
		default:
			driver := fake.CSI(name, options...)
			u.backends[name], u.config.Backends = driver, append(u.config.Backends, driver)
		}
		return u.backends[name].Err()
	})
}

func readBackendOptions(words []string) ([]fake.MemoryOption, error) {
	var options []fake.MemoryOption
	var segments []storage.Segment
	for _, w := range words {
		key, value, given := strings.Cut(w, "=")
		if key == "segment" {
			segment, err := readSegment(value)
			if err != nil {
				return nil, err
			}
			segments = append(segments, segment)
			continue
		}
		o, err := backendOptionNamed(key)
		if err != nil {
			return nil, err
		}
		if strings.Contains(o.form, "=") && !given {
			return nil, fmt.Errorf("option %s needs a value: want %s", key, o.form)
		}
		option, err := o.read(key, value, given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		options = append(options, option)
	}
	if len(segments) > 0 {
		options = append(options, fake.Topology(segments...))
	}
	return options, nil
}

func backendOptionNamed(key string) (backendOption, error) {
	forms, names := make([]string, len(backendOptions)), make([]string, len(backendOptions))
	for i, o := range backendOptions {
		name, _, _ := strings.Cut(o.form, "=")
		forms[i], names[i] = o.form, name
		if name == key || name == "latency.OP" && strings.HasPrefix(key, "latency.") {
			return o, nil
		}
	}
	if similar.To(key, names) != "" {
		return backendOption{}, unknownWord("option", key, names)
	}
	return backendOption{}, fmt.Errorf("unknown option %q: want one of %s", key, strings.Join(forms, ", "))
}

func readSegment(value string) (storage.Segment, error) {
	segment := make(storage.Segment)
	for pair := range strings.SplitSeq(value, ",") {
		key, v, ok := strings.Cut(pair, ":")
		if !ok || key == "" || v == "" {
			return nil, fmt.Errorf("invalid segment=%s: want KEY:VALUE, such as segment=topology.example.com/zone:a", value)
		}
		segment[key] = v
	}
	return segment, nil
}
