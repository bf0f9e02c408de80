package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/store"
)

// File is a manifest.
type File struct {
	Name string
	Data []byte
}

// FromManifests returns a script that applies manifests, lets the controllers settle and prints a summary. Its backends are the storage
// systems that classes, volumes and CSIDrivers name. Of a dump of a cluster, the script loads the files instead. The error is an *[Error]
// with the file and line of the manifest.
func FromManifests(name string, files ...File) (*Script, error) {
	s := &Script{Name: name, archive: &txtar.Archive{}, manifest: true}
	dumped := isDump(files)
	var text strings.Builder
	command := "apply"
	if dumped {
		command = "load"
	}
	var drivers []string
	for _, f := range files {
		command += " -f " + quotedWord(f.Name)
		s.archive.Files = append(s.archive.Files, txtar.File{Name: f.Name, Data: f.Data})
		if dumped {
			continue
		}
		if len(f.Data) > maxSize {
			return nil, &Error{File: f.Name, Line: 1, Err: fmt.Errorf("manifest has %d bytes, more than the maximum of %d", len(f.Data), maxSize)}
		}
		objs, err := s.manifests([]string{f.Name}, "")
		if err != nil {
			return nil, fileError(err)
		}
		for _, m := range objs {
			drivers = append(drivers, storageOf(m.obj)...)
		}
	}
	slices.Sort(drivers)
	for _, driver := range slices.Compact(drivers) {
		fmt.Fprintf(&text, "backend %s\n", quotedWord(driver))
	}
	fmt.Fprintf(&text, "%s\n? settle\nsummary\n", command)
	s.archive.Comment = []byte(text.String())
	if err := s.read(); err != nil {
		return nil, fileError(err)
	}
	return s, nil
}

// storedObject matches a field that only the API server writes.
var storedObject = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?resourceVersion["']? *: *["']?[0-9]`)

// IsDump reports whether the files have objects as an API server stores them.
func IsDump(files ...File) bool { return isDump(files) }

func isDump(files []File) bool {
	return slices.ContainsFunc(files, func(f File) bool { return storedObject.Match(f.Data) })
}

// fileError converts an error in a manifest to an *Error of its file.
func fileError(err error) error {
	if at := new(fileErrorAt); errors.As(err, &at) {
		return &Error{File: at.file, Line: at.line, Err: at.err}
	}
	return err
}

// quotedWord returns a word of a script that stands for this text.
func quotedWord(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\r'\"#$") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// noProvisioner is the provisioner of classes without dynamic provisioning.
const noProvisioner = "kubernetes.io/no-provisioner"

// storageOf returns the names of the storage systems that an object uses.
func storageOf(obj api.Object) (names []string) {
	switch obj := obj.(type) {
	case *storagev1.StorageClass:
		if driver, replaced := intree.Driver(obj.Provisioner); replaced {
			return []string{driver}
		}
		if obj.Provisioner != noProvisioner {
			return []string{obj.Provisioner}
		}
	case *storagev1.CSIDriver:
		return []string{obj.Name}
	case *corev1.PersistentVolume:
		switch source, csi := obj.Spec.PersistentVolumeSource, objects.CSIOf(obj); {
		case csi != nil:
			return []string{csi.Driver}
		case source.NFS != nil:
			return []string{backends.InTreePrefix + "nfs"}
		case source.HostPath != nil:
			return []string{backends.InTreePrefix + "host-path"}
		}
	case *corev1.Pod:
		return driversInPod(&obj.Spec)
	case *unstructured.Unstructured:
		// A workload. An invalid template is reported when it is applied.
		for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
			fields, _, _ := unstructured.NestedMap(obj.Object, path...)
			var template corev1.PodTemplateSpec
			if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &template) == nil {
				names = append(names, driversInPod(&template.Spec)...)
			}
		}
	}
	return names
}

// driversInPod returns the CSI drivers that replace the in-tree plugins of sources in the pod itself.
func driversInPod(spec *corev1.PodSpec) []string {
	var names []string
	for i := range spec.Volumes {
		plugin, _ := intree.PluginInPod(&spec.Volumes[i])
		if driver, replaced := intree.Driver(plugin); replaced {
			names = append(names, driver)
		}
	}
	return names
}

// IsManifest reports whether a file is a manifest rather than a script: by its extension or, if that is unknown, by its first line that is
// neither empty nor a comment.
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

// StoredOnly lists the kinds of objects in the files for which Kubernetes or an operator has controllers and volsim has none, by name.
func (s *Script) StoredOnly() []string {
	var kinds []string
	for _, f := range s.archive.Files {
		for _, m := range manifests.Scan(f.Data) {
			kind := api.KindOf(m.Object)
			if m.Err != nil || store.HasTypedTable(kind) {
				continue
			}
			if known := s.describe(kind); known != nil && !known.Passive {
				kinds = append(kinds, string(kind))
			}
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// LeftOut lists the objects that a script made from manifests leaves out, because no CustomResourceDefinition in the files defines their kind:
// "ServiceMonitor web (chart.yaml:15)".
func (s *Script) LeftOut() []string {
	var all []string
	for _, f := range s.archive.Files {
		for _, m := range manifests.Scan(f.Data) {
			if m.Err == nil && s.leavesOut(api.KindOf(m.Object)) {
				kind, _ := objkinds.Split(string(api.KindOf(m.Object)))
				all = append(all, fmt.Sprintf("%s %s (%s:%d)", kind, m.Object.GetName(), f.Name, m.Line))
			}
		}
	}
	return all
}

// leavesOut reports whether the script leaves objects of a kind out. An unknown kind in a group of Kubernetes is not one of them: it is a mistake.
func (s *Script) leavesOut(kind api.Kind) bool {
	_, group := objkinds.Split(string(kind))
	return s.manifest && s.dump == nil && !objkinds.IsGroup(group) && s.describe(kind) == nil
}
