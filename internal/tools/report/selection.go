package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Selection names the objects to explain. The zero value selects everything.
type Selection struct {
	// namespace is that of objects named without one; "" is all, for objects that are not named.
	namespace string
	// named lists the objects of the command line.
	named []api.Ref
	// kinds, unless empty, asks for all objects of these kinds.
	kinds []api.Kind
}

// Select reads the objects of a command line as kubectl does. given reports whether the namespace is that of the option -n, and all
// whether the option -A is there. Without both, and without objects, it selects all namespaces.
func Select(namespace string, given, all bool, args []string) (Selection, error) {
	if given && all {
		return Selection{}, fmt.Errorf("-n and -A exclude each other")
	}
	s := Selection{namespace: namespace}
	if all || len(args) == 0 && !given {
		s.namespace = ""
	}
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		for word := range strings.SplitSeq(args[0], ",") {
			kind, _, known := objname.KindOf(word)
			if !known {
				return s, fmt.Errorf("%w; an object is KIND/NAME", objname.UnknownKind(word))
			}
			s.kinds = append(s.kinds, kind)
		}
		return s, nil
	}
	if all && len(args) > 0 {
		return s, fmt.Errorf("a resource cannot be retrieved by name across all namespaces; use -n NAMESPACE")
	}
	var err error
	s.named, err = objname.ParseArgs(namespace, args)
	return s, err
}

// selects reports whether an object that is not named is asked for.
func (s *Selection) selects(obj api.Object) bool {
	if len(s.kinds) > 0 && !slices.Contains(s.kinds, api.KindOf(obj)) {
		return false
	}
	switch {
	case s.namespace == "" || obj.GetNamespace() == s.namespace:
		return true
	case obj.GetNamespace() != "":
		return false
	case api.KindOf(obj) == store.NamespaceKind:
		return len(s.kinds) > 0 || obj.GetName() == s.namespace
	}
	pv, ok := obj.(*corev1.PersistentVolume)
	// A volume belongs to the namespace of its claim.
	return len(s.kinds) > 0 || ok && pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.Namespace == s.namespace
}

// find returns the objects of the dump that are asked for. An object that does not exist is an error, which names what may be meant.
func (s *Selection) find(d *dump.Dump) ([]api.Ref, error) {
	// Every cluster has the namespace default, and it is that of a kind without -n.
	unknown := len(s.named) == 0 && s.namespace != "" && !mentions(d, s.namespace)
	if unknown && (len(s.kinds) == 0 || s.namespace != corev1.NamespaceDefault) {
		return nil, fmt.Errorf("the dump has no namespace %q%s", s.namespace, similar.Hint(s.namespace, namespacesOf(d)))
	}
	for _, kind := range s.kinds {
		if !slices.Contains(explained, kind) {
			return nil, notExplained(store.GroupVersionKind(kind).Kind)
		}
	}
	if len(s.named) == 0 {
		return refsOf(d, s.selects), nil
	}
	var refs []api.Ref
	for _, ref := range s.named {
		if !slices.ContainsFunc(d.Objects, func(obj api.Object) bool { return api.RefTo(obj) == ref }) {
			return nil, s.missing(d, ref)
		}
		if !slices.Contains(explained, ref.Kind) {
			return nil, notExplained(objname.Of(ref))
		}
		refs = append(refs, ref)
	}
	return unique(refs), nil
}

// kindWords are the words of users for kinds; that of another kind is its name.
var kindWords = map[api.Kind]string{api.PersistentVolumeClaim: "claims", api.Pod: "pods", api.PersistentVolume: "volumes",
	api.VolumeAttachment: "attachments", store.NamespaceKind: "namespaces"}

func wordOf(kind api.Kind) string {
	if word, ok := kindWords[kind]; ok {
		return word
	}
	return store.GroupVersionKind(kind).Kind + "s"
}

// subject returns what the selection asks for, for a sentence about all of it, and a sentence for each kind of which it has no objects. subject
// is "" if all kinds are such.
func (s *Selection) subject(d *dump.Dump) (subject string, missing []string) {
	in := ""
	if s.namespace != "" {
		in = " in namespace " + s.namespace
	}
	if len(s.kinds) == 0 {
		if !slices.ContainsFunc(d.Objects, func(obj api.Object) bool { return slices.Contains(explained, api.KindOf(obj)) && s.selects(obj) }) {
			return "", []string{fmt.Sprintf("The %s has no claims, pods, volumes, attachments and workloads%s, so there is nothing to explain.%s", wordOfDump(d), in, newestWarning(d))}
		}
		return "All claims, pods, volumes, attachments and workloads" + in, nil
	}
	var words []string
	inAll := ""
	for i, kind := range s.kinds {
		if slices.Contains(s.kinds[:i], kind) {
			continue
		}
		selected, elsewhere := 0, map[string]int{}
		for _, obj := range d.Objects {
			switch {
			case api.KindOf(obj) != kind:
			case s.selects(obj):
				selected++
			default:
				elsewhere[obj.GetNamespace()]++
			}
		}
		switch names := slices.Sorted(maps.Keys(elsewhere)); {
		case selected > 0:
			words = append(words, wordOf(kind))
			// Volumes and attachments have no namespace.
			if kind != api.PersistentVolume && kind != api.VolumeAttachment {
				inAll = in
			}
		case len(names) == 0 && d.Ignored[ignoredKind(kind)] > 0:
			missing = append(missing, fmt.Sprintf("The %s of the dump are ignored, because it lacks what they own.", wordOf(kind)))
		case len(names) == 0:
			missing = append(missing, fmt.Sprintf("The %s has no %s.", wordOfDump(d), wordOf(kind)))
		case len(names) == 1:
			missing = append(missing, fmt.Sprintf("No %s%s; %d in namespace %s: add -n %[4]s or -A.", wordOf(kind), in, elsewhere[names[0]], names[0]))
		default:
			total := 0
			for _, n := range elsewhere {
				total += n
			}
			missing = append(missing, fmt.Sprintf("No %s%s; %d in other namespaces (%s): add -n NAMESPACE or -A.", wordOf(kind), in, total,
				strings.Join(firstOf(names), ", ")))
		}
	}
	if len(words) == 0 {
		return "", missing
	}
	return "All " + sentenceList(words) + inAll, missing
}

// ignoredKind returns the key of a kind in dump.Dump.Ignored.
func ignoredKind(kind api.Kind) string {
	gvk := store.GroupVersionKind(kind)
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

// shownNamespaces is the number of namespaces that a sentence lists.
const shownNamespaces = 5

func firstOf(names []string) []string {
	if len(names) <= shownNamespaces {
		return names
	}
	return append(slices.Clone(names[:shownNamespaces]), fmt.Sprintf("and %d more", len(names)-shownNamespaces))
}

// sentenceList joins words with commas and "and".
func sentenceList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func notExplained(what string) error {
	return fmt.Errorf("explain %s: want a claim (pvc), pod, volume (pv), attachment (va), namespace or workload", what)
}

// runsPods reports whether the objects of a kind own pods, themselves or through others.
func runsPods(kind api.Kind) bool { return slices.Contains(snapshot.Running, kind) }

// hasWays reports whether ways out are found for objects of a kind itself. Those of other kinds wait for objects that have ways.
func hasWays(kind api.Kind) bool { return !runsPods(kind) && kind != store.NamespaceKind }

// unique returns the references without repetitions, in their order.
func unique(refs []api.Ref) []api.Ref {
	seen := map[api.Ref]bool{}
	return slices.DeleteFunc(refs, func(ref api.Ref) bool {
		again := seen[ref]
		seen[ref] = true
		return again
	})
}

// namespacesOf returns the names of the namespaces that a dump mentions, sorted.
func namespacesOf(d *dump.Dump) []string {
	names := map[string]bool{}
	for _, obj := range d.Objects {
		if api.KindOf(obj) == "Namespace" {
			names[obj.GetName()] = true
		} else if obj.GetNamespace() != "" {
			names[obj.GetNamespace()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// missing returns the error for an object that is not in the dump.
func (s *Selection) missing(d *dump.Dump, ref api.Ref) error {
	if d.IsLeftOut(ref) {
		return fmt.Errorf("%s cannot be explained: the dump lacks its status, or objects that it owns, such as ReplicaSets or pods; dump them too: %s", objname.Of(ref),
			dump.Command)
	}
	namespace, name := objects.SplitKey(ref.Key)
	var elsewhere, names []string
	for _, obj := range d.Objects {
		switch {
		case api.KindOf(obj) != ref.Kind:
		case obj.GetName() == name:
			elsewhere = append(elsewhere, obj.GetNamespace())
		case obj.GetNamespace() == namespace:
			names = append(names, obj.GetName())
		}
	}
	slices.Sort(elsewhere)
	hint := similar.Hint(name, names)
	unknown := len(elsewhere) == 0 && namespace != "" && namespace != corev1.NamespaceDefault && !mentions(d, namespace)
	switch {
	case unknown && ref.Kind == api.PersistentVolumeClaim && namespace != s.namespace:
		// WORD/NAME is a claim in a namespace; the word may be a mistyped kind.
		return fmt.Errorf("%s is not in the dump, which has no namespace %s; or %w", objname.Of(ref), namespace, objname.UnknownKind(namespace))
	case unknown:
		hint = fmt.Sprintf(", which has no namespace %s%s", namespace, similar.Hint(namespace, namespacesOf(d)))
	case len(elsewhere) == 1:
		hint = fmt.Sprintf("; it exists in namespace %s: add -n %s", elsewhere[0], elsewhere[0])
	case len(elsewhere) > 1:
		hint = fmt.Sprintf("; it exists in the namespaces %s: add -n", strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("%s is not in the dump%s", objname.Of(ref), hint)
}

// mentions reports whether a dump has a namespace, or an object in it.
func mentions(d *dump.Dump, namespace string) bool {
	return slices.ContainsFunc(d.Objects, func(obj api.Object) bool {
		return obj.GetNamespace() == namespace || api.KindOf(obj) == "Namespace" && obj.GetName() == namespace
	})
}

// explained lists the kinds that have explanations: pods before others, because they lead to them, and workloads last.
var explained = slices.Concat([]api.Kind{api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment, store.NamespaceKind}, snapshot.Running)

// refsOf returns the objects of a dump that can be explained and that the function selects, by kind.
func refsOf(d *dump.Dump, selects func(api.Object) bool) []api.Ref {
	var refs []api.Ref
	for _, kind := range explained {
		for _, obj := range d.Objects {
			if api.KindOf(obj) == kind && selects(obj) {
				refs = append(refs, api.RefTo(obj))
			}
		}
	}
	return refs
}

// newestWarning returns a sentence about the newest Event of a dump that is a warning, after a blank; "" if there is none.
func newestWarning(d *dump.Dump) string {
	var newest *corev1.Event
	for _, obj := range d.Objects {
		if event, ok := obj.(*corev1.Event); ok && event.Type == corev1.EventTypeWarning && (newest == nil || newest.LastTimestamp.Before(&event.LastTimestamp)) {
			newest = event
		}
	}
	if newest == nil {
		return ""
	}
	about := newest.InvolvedObject
	return fmt.Sprintf(" The newest warning is about %s %s: %s: %s", about.Kind, api.Key(about.Namespace, about.Name), newest.Reason, newest.Message)
}

// wordOfDump returns what the objects are those of.
func wordOfDump(d *dump.Dump) string {
	if d.Whole {
		return "cluster"
	}
	return "dump"
}
