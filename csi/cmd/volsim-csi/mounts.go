package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
