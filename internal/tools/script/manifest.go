package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// File is a manifest.
type File struct {
	Name string
	Data []byte
}

// FromManifests makes a script of manifests: it applies them, lets the controllers settle, and prints a summary. The storage systems are
// those that classes, volumes and CSIDrivers name. The error is an *[Error] that says in which line of which file something is wrong.
func FromManifests(name string, files ...File) (*Script, error) {
	s := &Script{Name: name, archive: &txtar.Archive{}, manifest: true}
	var text strings.Builder
	apply := "apply"
	var drivers []string
	for _, f := range files {
		if len(f.Data) > maxSize {
			return nil, &Error{File: f.Name, Line: 1, Err: fmt.Errorf("it has %d bytes: a manifest has at most %d", len(f.Data), maxSize)}
		}
		s.archive.Files = append(s.archive.Files, txtar.File{Name: f.Name, Data: f.Data})
		objs, err := s.manifests([]string{f.Name})
		if err != nil {
			return nil, fileError(err)
		}
		for _, m := range objs {
			drivers = append(drivers, storageOf(m.obj)...)
		}
		apply += " -f " + quotedWord(f.Name)
	}
	slices.Sort(drivers)
	for _, driver := range slices.Compact(drivers) {
		fmt.Fprintf(&text, "backend %s\n", quotedWord(driver))
	}
	fmt.Fprintf(&text, "%s\n? settle\nsummary\n", apply)
	s.archive.Comment = []byte(text.String())
	if err := s.read(); err != nil {
		return nil, fileError(err)
	}
	return s, nil
}

// fileError makes the error of a line of a manifest that of its file.
func fileError(err error) error {
	if at := new(placedError); errors.As(err, &at) {
		return &Error{File: at.file, Line: at.line, Err: at.err}
	}
	return err
}

// quotedWord is a word that is read as this text.
func quotedWord(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\r'\"#$") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// noProvisioner marks a class whose volumes nobody makes.
const noProvisioner = "kubernetes.io/no-provisioner"

// storageOf names the storage systems that an object asks for.
func storageOf(obj api.Object) []string {
	switch obj := obj.(type) {
	case *storagev1.StorageClass:
		if obj.Provisioner != noProvisioner {
			return []string{obj.Provisioner}
		}
	case *storagev1.CSIDriver:
		return []string{obj.Name}
	case *corev1.PersistentVolume:
		switch source := obj.Spec.PersistentVolumeSource; {
		case source.CSI != nil:
			return []string{source.CSI.Driver}
		case source.NFS != nil:
			return []string{storage.InTreePrefix + "nfs"}
		case source.HostPath != nil:
			return []string{storage.InTreePrefix + "host-path"}
		}
	}
	return nil
}

// IsManifest reports whether a file is taken for a manifest and not for a script: by its name, or, if that says nothing, because its first line
// with content looks like one.
func IsManifest(name string, data []byte) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	case ".txtar", ".txt":
		return false
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, isField := strings.Cut(line, ":")
		return line == "---" || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || isField && !strings.Contains(key, " ")
	}
	return false
}
