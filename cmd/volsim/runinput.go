package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver"
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

// shownLeftOut is the number of objects that a note about objects that are left out lists.
const shownLeftOut = 8

// noteUnsimulated writes which objects of manifests are left out, and which are stored without effect.
func (s *input) noteUnsimulated(w io.Writer) {
	if !s.manifest || s.Dump() != nil {
		return
	}
	if left := s.LeftOut(); len(left) > 0 {
		more := ""
		if n := len(left) - shownLeftOut; n > 1 {
			left, more = left[:shownLeftOut], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "volsim: left out: %s%s: the files have no CustomResourceDefinition of that kind; everything else is simulated\n",
			strings.Join(left, ", "), more)
	}
	// The command follows policies.
	if kinds := slices.DeleteFunc(s.StoredOnly(), func(kind string) bool { return apiserver.IsPolicyKind(api.Kind(kind)) }); len(kinds) > 0 {
		fmt.Fprintf(w, "volsim: no controllers are simulated for %s: their objects are stored, and have no effect\n", strings.Join(kinds, ", "))
	}
}

// noteManifest is noteUnsimulated for a file that is not run as a script. A file with mistakes gets no note.
func noteManifest(w io.Writer, name string, data []byte) {
	if !script.IsManifest(name, data) {
		return
	}
	if found, err := fromManifests(name, []script.File{{Name: name, Data: data}}, readOptions{}); err == nil {
		found[0].noteUnsimulated(w)
	}
}

// readOptions control how scripts are read.
type readOptions struct {
	// update accepts scripts whose expected outputs do not exist yet.
	update bool
	// nodes is the number of nodes to add to manifests.
	nodes int
	// solution adds the solutions of lessons.
	solution bool
}

// maxNodes is the largest number of nodes that --nodes adds.
const maxNodes = 5000

// readScripts reads all files and directories of the command line. Several manifests are one script if they are a dump.
func readScripts(in io.Reader, args []string, opts readOptions) ([]input, error) {
	var scripts []input
	if len(args) > 1 && !slices.ContainsFunc(args, func(arg string) bool { return arg == "-" || !script.IsManifest(arg, nil) }) {
		files, err := readFiles(args)
		if err != nil {
			return nil, err
		}
		if script.IsDump(files...) {
			return fromManifests(strings.Join(args, " "), files, opts)
		}
	}
	for _, arg := range args {
		found, err := readScript(in, arg, opts)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, found...)
	}
	return scripts, nil
}

func readScript(in io.Reader, arg string, opts readOptions) ([]input, error) {
	if arg == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return parseScript("stdin", "", data, opts)
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fileError(arg, err)
	}
	if info.IsDir() {
		return readDirectory(arg, opts)
	}
	data, err := os.ReadFile(arg)
	if err != nil {
		return nil, fileError(arg, err)
	}
	return parseScript(arg, arg, data, opts)
}

// fileError returns the error with the name of the file in front, once.
func fileError(file string, err error) error {
	if problem := new(fs.PathError); errors.As(err, &problem) {
		err = problem.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

func parseScript(name, file string, data []byte, opts readOptions) ([]input, error) {
	if script.IsManifest(name, data) {
		return fromManifests(name, []script.File{{Name: name, Data: data}}, opts)
	}
	if opts.nodes > 0 {
		return nil, usageError{fmt.Errorf("invalid --nodes for the script %s: add the line \"node add NAME...\" to it", name)}
	}
	if opts.solution {
		lesson := script.ReadLesson(data)
		if lesson.Solved == "" {
			return nil, usageError{fmt.Errorf("invalid --solution for the script %s: it has no file \"question\"", name)}
		}
		data = []byte(lesson.Solved)
	}
	parse := script.Parse
	if opts.update {
		parse = script.ParseToUpdate
	}
	s, err := parse(name, data)
	return []input{{Script: s, file: file}}, err
}

// fromManifests returns the script that applies manifests to a cluster with the nodes of --nodes.
func fromManifests(name string, files []script.File, opts readOptions) ([]input, error) {
	if opts.nodes > 0 {
		files = append(files, script.File{Name: "nodes of --nodes", Data: nodes(opts.nodes)})
	}
	s, err := script.FromManifests(name, files...)
	return []input{{Script: s, manifest: true}}, err
}

// nodes returns the manifest of n nodes.
func nodes(n int) []byte {
	var text bytes.Buffer
	for i := range n {
		name := fmt.Sprintf("node-%d", i+1)
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {kubernetes.io/hostname: %s}}\n", name, name)
	}
	return text.Bytes()
}

// readDirectory reads the scripts of a directory and of those below it or, if there are none, its manifests as one script. Hidden
// directories are skipped.
func readDirectory(dir string, opts readOptions) ([]input, error) {
	scripts, manifests, err := filesIn(dir)
	if err != nil {
		return nil, err
	}
	var found []input
	for _, file := range scripts {
		s, err := readScript(nil, file, opts)
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
	files, err := readFiles(manifests)
	if err != nil {
		return nil, err
	}
	return fromManifests(dir, files, opts)
}

func readFiles(names []string) (files []script.File, err error) {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		files = append(files, script.File{Name: name, Data: data})
	}
	return files, nil
}

// isManifest reports whether a file is a manifest, by its name.
func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// filesIn returns the scripts and the manifests in a directory and those below it, in the order of their names. Hidden directories are
// skipped.
func filesIn(dir string) (scripts, manifests []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fileError(path, err)
		}
		if e.IsDir() && path != dir && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		switch {
		case e.IsDir():
		case filepath.Ext(path) == ".txtar":
			scripts = append(scripts, path)
		case isManifest(path):
			manifests = append(manifests, path)
		}
		return nil
	})
	return scripts, manifests, err
}
