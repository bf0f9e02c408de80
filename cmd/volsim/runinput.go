package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/volsim/volsim/internal/tools/script"
)

// input is a script from the command line.
type input struct {
	*script.Script
	// file is the file to which --update writes the script; "" for none.
	file string
	// manifest is true for a script made from manifests.
	manifest bool
}

// readScripts reads all files and directories of the command line.
func readScripts(in io.Reader, args []string) ([]input, error) {
	var scripts []input
	for _, arg := range args {
		found, err := readScript(in, arg)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, found...)
	}
	return scripts, nil
}

func readScript(in io.Reader, arg string) ([]input, error) {
	if arg == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return parseScript("stdin", "", data)
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fileError(arg, err)
	}
	if info.IsDir() {
		return readDirectory(arg)
	}
	data, err := os.ReadFile(arg)
	if err != nil {
		return nil, fileError(arg, err)
	}
	return parseScript(arg, arg, data)
}

// fileError returns the error with the name of the file in front, once.
func fileError(file string, err error) error {
	if problem := new(fs.PathError); errors.As(err, &problem) {
		err = problem.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

func parseScript(name, file string, data []byte) ([]input, error) {
	if script.IsManifest(name, data) {
		s, err := script.FromManifests(name, script.File{Name: name, Data: data})
		return []input{{Script: s, manifest: true}}, err
	}
	s, err := script.Parse(name, data)
	return []input{{Script: s, file: file}}, err
}

// readDirectory reads the scripts of a directory or, if it has none, its manifests as one script.
func readDirectory(dir string) ([]input, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fileError(dir, err)
	}
	var scripts, manifests []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".txtar":
			scripts = append(scripts, filepath.Join(dir, e.Name()))
		case ".yaml", ".yml", ".json":
			manifests = append(manifests, filepath.Join(dir, e.Name()))
		}
	}
	var found []input
	for _, file := range scripts {
		s, err := readScript(nil, file)
		if err != nil {
			return nil, err
		}
		found = append(found, s...)
	}
	if len(found) > 0 {
		return found, nil
	}
	if len(manifests) == 0 {
		return nil, fmt.Errorf("%s: directory contains no script (.txtar) and no manifest (.yaml, .yml, .json)", dir)
	}
	var files []script.File
	for _, file := range manifests {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fileError(file, err)
		}
		files = append(files, script.File{Name: file, Data: data})
	}
	s, err := script.FromManifests(dir, files...)
	return []input{{Script: s, manifest: true}}, err
}
