package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/csi/csitest"
)

// mountTable is the file with the mounts that this process sees.
const mountTable = "/proc/self/mountinfo"

// unmountBelow unmounts everything below a directory, as a killed driver or a killed test leaves it, and returns how many mounts there were.
// The directory itself may be a mount: it stays. Without a directory, or on a system without mountinfo, it does nothing.
func unmountBelow(dir string) (int, error) {
	if dir == "" {
		return 0, nil
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	table, err := os.Open(mountTable)
	if err != nil {
		return 0, nil
	}
	defer table.Close()
	paths := mountsBelow(table, dir)
	for _, path := range slices.Backward(paths) {
		if err := unmount(path); err != nil {
			return 0, &os.PathError{Op: "unmount", Path: path, Err: err}
		}
	}
	return len(paths), nil
}

// compareMounts lets the test compare the mounts below its directory, and the data in them.
func compareMounts(cfg *csitest.Config) error {
	if cfg.Root == "" {
		return errors.New("--mounts compares what is mounted below a directory; give it as --dir DIR")
	}
	dir, err := filepath.Abs(cfg.Root)
	if err != nil {
		return err
	}
	if _, err := os.Stat(mountTable); err != nil {
		return fmt.Errorf("--mounts needs the table of mounts: %w", err)
	}
	cfg.Root = dir
	cfg.Mounts = func() []csitest.Mount {
		table, err := os.Open(mountTable)
		if err != nil {
			return nil
		}
		defer table.Close()
		return visibleMounts(table, dir)
	}
	cfg.Write = func(_, path, data string) error {
		return os.WriteFile(filepath.Join(path, dataFile), []byte(data), 0o600)
	}
	cfg.Read = func(_, path string) (string, error) {
		data, err := os.ReadFile(filepath.Join(path, dataFile))
		if os.IsNotExist(err) {
			return "", nil // the volume is empty
		}
		return string(data), err
	}
	return nil
}

// dataFile is the file that the containers of a test write to a volume.
const dataFile = "volsim"

// visibleMounts returns the mounts below a directory that has one directory for each node.
func visibleMounts(table io.Reader, dir string) []csitest.Mount {
	var all []csitest.Mount
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		path := unescape(fields[4])
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
		if !ok {
			continue
		}
		node, _, _ := strings.Cut(rest, "/")
		options := fields[5] + "," + fields[len(fields)-1] // of the mount, and of its file system
		all = append(all, csitest.Mount{Node: node, Path: path, ReadOnly: slices.Contains(strings.Split(options, ","), "ro"), Options: options})
	}
	return all
}

// mountsBelow returns the mounts below a directory, in the order in which they were made.
func mountsBelow(table io.Reader, dir string) []string {
	var paths []string
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		if path := unescape(fields[4]); strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// unescape replaces \040 and the like in a path of mountinfo.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+4 <= len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
