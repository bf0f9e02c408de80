package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/fieldpos"
	"github.com/volsim/volsim/internal/core/jsonscan"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/store"
)

// Command is the command line that creates a dump. Its Events and workloads tell what drivers do, and what brings pods back.
const Command = "kubectl get ns,pv,pvc,sc,pods,nodes,deploy,rs,sts,ds,jobs,pdb,quota,volumeattachments,csidrivers,csinodes,events -A -o yaml"

// Dump is the state of a cluster.
type Dump struct {
	// Objects are the objects of the kinds that Kubernetes itself has, in the order of the input.
	Objects []api.Object
	// Leases are those of nodes and controllers. They are not simulated, but show who works.
	Leases []*coordinationv1.Lease
	// Ignored counts the other objects, by apiVersion and kind: those of custom kinds, and workloads whose own objects the dump lacks.
	Ignored map[string]int
	// Dropped lists unknown fields, such as "Pod spec.workloadRef", sorted and without duplicates.
	Dropped []string
	// Renamed has the names that no object can have, such as those that hide the true ones, and what is read in their place.
	Renamed map[string]string
	// Logs is the number of logs of containers, which kubectl cluster-info dump prints between objects. They are skipped.
	Logs int
	// Skipped are the found files with documents that are not objects, such as the settings of a program, sorted by name.
	Skipped []string
	// Whole says that a kind of which there are no objects has none in the cluster, either. It is that of the files.
	Whole bool
	// sources are where the objects were read, in the order of the input.
	sources []source
	newest  time.Time
	// stored is set if an object has something that only a cluster writes.
	stored bool
	// leftOut are the uids of workloads that are ignored: they own what they own in the cluster.
	leftOut []types.UID
	// incomplete are these workloads.
	incomplete []api.Ref
	// unknownVolumes, unknownClaims, unknownNodes and unknownCapacities count the objects that are not in the text.
	unknownVolumes, unknownClaims, unknownNodes, unknownCapacities int
}

// CheckApplied returns an error if the dump consists of manifests that were never applied: there is no state to explain, or to change.
func (d *Dump) CheckApplied() error {
	if d.stored {
		return nil
	}
	return errors.New("these are manifests that were never applied: no object has a uid or a status. Simulate them with volsim run FILE, or dump the cluster with " + Command)
}

// source is the place of an object in a file: a document, and the indexes in nested Lists.
type source struct {
	obj   api.Object
	place *place
	items []int
}

// place is a document of a file.
type place struct {
	file string
	doc  manifests.Document
}

// sourceOf returns where the object of that name was read. It visits all objects.
func (d *Dump) sourceOf(ref api.Ref) *source {
	at := slices.IndexFunc(d.sources, func(s source) bool { return api.RefTo(s.obj) == ref })
	return &d.sources[at]
}

// locate returns an error at the line of the place that it is about.
func (s *source) locate(err error) *Error {
	doc := s.place.doc
	line, err := fieldpos.Explain(fieldpos.Source{Doc: doc.Data, Line: doc.Line, Items: s.items}, err)
	return &Error{File: s.place.file, Line: line, Err: err}
}

// File is one of the files of a dump. Name is for errors.
type File struct {
	Name string
	Data []byte
	// Found is set if the file was found in a directory or an archive, and not named by the user. Documents in it that are not objects are skipped.
	Found bool
	// Whole is set if the file has all objects of a cluster of the kinds in Resources.
	Whole bool
}

// maxSize bounds a document after expanding YAML aliases. A dump of a large cluster has about 100 MiB.
const maxSize = 1 << 30

// Read reads a dump from its text.
func Read(data []byte) (*Dump, error) { return ReadFiles(File{Data: data}) }

// ReadFiles reads a dump that consists of several files: each any number of objects and Lists, in YAML or JSON. An error names the file,
// the line and the object that could not be read.
func ReadFiles(files ...File) (*Dump, error) {
	r := newReader(nil)
	err := r.files(files)
	if err == nil && len(r.invalid) > 0 {
		r = newReader(r.validNames())
		err = r.files(files)
	}
	if err != nil {
		return nil, err
	}
	return r.dump, nil
}

// newReader returns a reader that reads other names in place of some.
func newReader(renamed map[string]string) *reader {
	return &reader{dump: &Dump{Ignored: map[string]int{}, Renamed: renamed}, dropped: map[string]bool{}, seen: map[api.Ref]int{}, converted: map[api.Ref]bool{},
		renamed: quoted(renamed), invalid: map[string]bool{}}
}

// files reads files.
func (r *reader) files(files []File) error {
	skipped := map[string]bool{}
	for _, file := range files {
		text, logs, err := withoutLogs(file)
		if err != nil {
			return err
		}
		r.dump.Logs += logs
		r.dump.Whole = r.dump.Whole || file.Whole
		for _, doc := range manifests.Documents(withoutPaste(text)) {
			r.place = &place{file.Name, doc}
			data, err := doc.JSON(maxSize)
			if len(data) > 0 && data[0] == '[' && !file.Found {
				// jq prints the items of a List alone.
				data = append(append([]byte(`{"apiVersion":"v1","kind":"List","items":`), data...), '}')
			}
			if err == nil {
				err = r.value(r.rename(data), defaults{})
			}
			if other := notObject(""); errors.As(err, &other) && file.Found && len(r.items) == 0 {
				skipped[file.Name] = true
				continue
			}
			if err != nil {
				return r.locate(err)
			}
		}
	}
	d := r.dump
	d.Dropped, d.Skipped = slices.Sorted(maps.Keys(r.dropped)), slices.Sorted(maps.Keys(skipped))
	d.removeInvalid()
	d.removeIncomplete()
	d.newest = newestOf(d)
	if d.stored {
		d.addCounterparts()
	}
	if !slices.ContainsFunc(d.Objects, func(obj api.Object) bool { return store.HasTypedTable(api.KindOf(obj)) }) {
		if d.count("Namespace") > 0 {
			return nil // it can be explained
		}
		err := errors.New("no objects of simulated kinds; create it with " + Command)
		return fmt.Errorf("%sread dump: %w", prefix(files), err)
	}
	return nil
}

// prefix returns how an error about all files begins.
func prefix(files []File) string {
	if len(files) == 1 && files[0].Name != "" {
		return files[0].Name + ": "
	}
	return ""
}

// reader reads the objects of files.
type reader struct {
	dump    *Dump
	dropped map[string]bool
	// seen has the index in dump.sources of each object that was read.
	seen map[api.Ref]int
	// converted are the Events of events.k8s.io.
	converted map[api.Ref]bool
	// place and items are where the current object is.
	place *place
	items []int
	// renamed has texts of JSON and what to read in their place. invalid are names that no object can have.
	renamed [][2][]byte
	invalid map[string]bool
}

// Error is an error at a line of a file of a dump.
type Error struct {
	// File is the name of the file; "" if it has none.
	File string
	Line int
	// Err is the reason.
	Err error
}

// Error returns "file:line: reason".
func (e *Error) Error() string {
	if e.File == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// locate returns an error at the place of the current object.
func (r *reader) locate(err error) error {
	at := (&source{place: r.place, items: r.items}).locate(err)
	at.Err = fmt.Errorf("read dump: %w", at.Err)
	return at
}

// notObject says why a document, or an item of a List, is no object.
type notObject string

// Error returns the reason.
func (e notObject) Error() string { return string(e) }

// maxDepth bounds Lists within Lists.
const maxDepth = 8

// defaults are apiVersion and kind of the items of a typed list, which may omit them.
type defaults struct{ apiVersion, kind string }

// value reads an object, or the items of a List. It ignores an empty document.
func (r *reader) value(data []byte, of defaults) error {
	var items []byte
	apiVersion, kind := of.apiVersion, of.kind
	if string(data) == "null" {
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return notObject("want objects; create it with kubectl get -o yaml")
	}
	for key, value := range jsonscan.Fields(data) {
		switch string(key) {
		case "apiVersion":
			apiVersion = jsonscan.Text(value)
		case "kind":
			kind = jsonscan.Text(value)
		case "items":
			items = value
		}
	}
	if kind == "" && apiVersion != "" && len(items) > 0 && items[0] == '[' {
		return notObject("list without a kind, which kubectl writes at its end: the dump is cut off; create it again")
	}
	if kind == "" || apiVersion == "" {
		return notObject("object without apiVersion or kind; create it with kubectl get -o yaml")
	}
	if len(items) == 0 || items[0] != '[' || !strings.HasSuffix(kind, "List") {
		return r.object(apiVersion, kind, data)
	}
	if len(r.items) == maxDepth {
		return fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	of = defaults{}
	if kind != "List" {
		of = defaults{apiVersion, strings.TrimSuffix(kind, "List")}
	}
	r.items = append(r.items, 0)
	for item := range jsonscan.Items(items) {
		if err := r.value(item, of); err != nil {
			return err
		}
		r.items[len(r.items)-1]++
	}
	r.items = r.items[:len(r.items)-1]
	return nil
}

// object reads an object.
func (r *reader) object(apiVersion, kind string, data []byte) error {
	if kind == "Lease" && apiVersion == coordinationv1.SchemeGroupVersion.String() {
		lease := &coordinationv1.Lease{}
		if err := json.Unmarshal(data, lease); err != nil {
			return fmt.Errorf("Lease %s: %w", title(data), err)
		}
		r.dump.Leases = append(r.dump.Leases, lease)
		return nil
	}
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	converted := group == eventsv1.GroupName && kind == "Event"
	if converted {
		var err error
		if data, err = coreEvent(data); err != nil {
			return fmt.Errorf("Event %s: %w", title(data), err)
		}
		apiVersion, group = "v1", ""
	}
	name := api.Kind(objkinds.Name(group, kind))
	gvk := store.GroupVersionKind(name)
	// Another version of a simulated kind has the same fields, but for new ones.
	if gvk.Empty() || gvk.GroupVersion().String() != apiVersion && !store.HasTypedTable(name) && !slices.Contains(sameFields, apiVersion+" "+kind) {
		r.dump.Ignored[apiVersion+" "+kind]++
		return nil
	}
	obj, unknown, err := manifests.DecodeLenient(name, data)
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, title(data), err)
	}
	for _, path := range unknown {
		r.dropped[string(name)+" "+index.ReplaceAllString(path, "")] = true
	}
	if obj.GetName() == "" {
		return fmt.Errorf("%s without a name", name)
	}
	if store.HasTypedTable(name) {
		if err := fieldpos.CheckValues(obj); err != nil {
			return fmt.Errorf("%s %s: %w", name, title(data), err)
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	r.dump.stored = r.dump.stored || isStored(obj, data)
	r.checkName(obj)
	ref := api.RefTo(obj)
	if at, ok := r.seen[ref]; ok {
		if sameVersion(obj, r.dump.sources[at].obj) || converted || r.converted[ref] {
			return nil // the same object from two files, or from two groups
		}
		if isRedacted(obj) {
			return fmt.Errorf("several objects of kind %s are named %q, so the dump does not tell which of them others refer to: replace names by different ones", name,
				ref.Key)
		}
		return fmt.Errorf("duplicate %s; dump the cluster once", ref)
	}
	r.seen[ref] = len(r.dump.sources)
	if converted {
		r.converted[ref] = true
	}
	r.dump.Objects = append(r.dump.Objects, obj)
	r.dump.sources = append(r.dump.sources, source{obj, r.place, slices.Clone(r.items)})
	return nil
}

// sameFields are versions that Kubernetes no longer has, of other kinds whose fields are those of today.
var sameFields = []string{"policy/v1beta1 PodDisruptionBudget", "batch/v1beta1 CronJob", "autoscaling/v2beta2 HorizontalPodAutoscaler"}

// isStored reports whether an object, read from data, has something that only a cluster writes.
func isStored(obj api.Object, data []byte) bool {
	if created := obj.GetCreationTimestamp(); obj.GetUID() != "" || obj.GetResourceVersion() != "" || !created.IsZero() {
		return true
	}
	for key, value := range jsonscan.Fields(data) {
		if string(key) == "status" && string(value) != "null" && string(value) != "{}" {
			return true
		}
	}
	return false
}

// sameVersion reports whether two objects are one version of one object; not if neither a uid nor a resourceVersion says so.
func sameVersion(a, b api.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion() && (a.GetUID() != "" || a.GetResourceVersion() != "")
}

// index matches an index in the path of a field.
var index = regexp.MustCompile(`\[[^\]]*\]`)

// title returns the name of an object that could not be read.
func title(data []byte) string {
	var head struct {
		Metadata struct{ Name, Namespace string }
	}
	// The error leaves the name unset.
	_ = json.Unmarshal(data, &head)
	if head.Metadata.Namespace != "" {
		return head.Metadata.Namespace + "/" + head.Metadata.Name
	}
	return head.Metadata.Name
}
