package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/volsim/volsim/scenario"
)

// script is one to play, and the file to write it back to; "" is none.
type script struct {
	*scenario.Script
	file string
	// manifest is true if it is made of manifests.
	manifest bool
}

// readScripts reads all that the command line names.
func readScripts(in io.Reader, args []string) ([]script, error) {
	var scripts []script
	for _, arg := range args {
		found, err := readScript(in, arg)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, found...)
	}
	return scripts, nil
}

func readScript(in io.Reader, arg string) ([]script, error) {
	if arg == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return parseScript("stdin", "", data)
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fileProblem(arg, err)
	}
	if info.IsDir() {
		return readDirectory(arg)
	}
	data, err := os.ReadFile(arg)
	if err != nil {
		return nil, fileProblem(arg, err)
	}
	return parseScript(arg, arg, data)
}

// fileProblem names the file once.
func fileProblem(file string, err error) error {
	if problem := new(fs.PathError); errors.As(err, &problem) {
		err = problem.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

func parseScript(name, file string, data []byte) ([]script, error) {
	if scenario.IsManifest(name, data) {
		s, err := scenario.FromManifests(name, scenario.File{Name: name, Data: data})
		return []script{{Script: s, manifest: true}}, err
	}
	s, err := scenario.Parse(name, data)
	return []script{{Script: s, file: file}}, err
}

// readDirectory reads the scripts of a directory, or if there is none its manifests as one.
func readDirectory(dir string) ([]script, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fileProblem(dir, err)
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
	var found []script
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
		return nil, fmt.Errorf("%s: there is neither a script (.txtar) nor a manifest (.yaml, .yml, .json) in it", dir)
	}
	var files []scenario.File
	for _, file := range manifests {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fileProblem(file, err)
		}
		files = append(files, scenario.File{Name: file, Data: data})
	}
	s, err := scenario.FromManifests(dir, files...)
	return []script{{Script: s, manifest: true}}, err
}
