package evidence

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
)

// Set has the assumptions about the world outside. It is an [api.Injector]: the calls of drivers that refuse or do not answer fail. The nil
// Set has none.
type Set struct {
	all   []Assumption
	signs map[string]string // by driver, what shows that it is installed
	calls map[callKey]api.Fault
	// tooLarge has the claims whose growth is refused only above the largest size of the driver, and requests returns what they request now.
	tooLarge map[callKey]growth
	requests func(claim string) int64
	// refused has the claims for which a driver refuses one VolumeAttributesClass, and attributes returns the class that they ask for now.
	refused    map[callKey]refusedClass
	attributes func(claim string) string
	// largest is the size of the largest volume in the dump, by driver.
	largest map[string]resource.Quantity
	// lacking are the kinds of which the dump has no objects although the answer depends on them, as kubectl names them.
	lacking []string
}

// callKey identifies the calls that an assumption is about. Empty fields stand for any value.
type callKey struct{ target, verb, key, node string }

func newSet(all []Assumption, signs map[string]string) *Set {
	s := &Set{all: all, signs: signs}
	s.index()
	return s
}

// index fills calls.
func (s *Set) index() {
	s.calls, s.tooLarge, s.refused = map[callKey]api.Fault{}, map[callKey]growth{}, map[callKey]refusedClass{}
	for _, a := range s.all {
		driver, isDriver := strings.CutPrefix(a.Subject, "driver/")
		if !isDriver || a.actor != "" || a.Behaviour != Refuses && a.Behaviour != Silent {
			continue
		}
		k := callKey{driver, string(a.Operation), a.key, a.Node}
		s.calls[k] = api.Fault{Err: storage.Errorf(a.Code, "%s", a.Message)}
		claim, ofClaim := strings.CutPrefix(a.Object, "pvc/")
		if ofClaim && a.Operation == storage.Modify && a.class != "" {
			s.refused[k] = refusedClass{claim, a.class}
		}
		if !ofClaim || a.Operation != storage.Expand {
			continue
		}
		if most, limited := s.MaxSize(driver); limited && a.Code == storage.OutOfRange {
			s.tooLarge[k] = growth{claim, most}
		} else if a.most > 0 {
			s.tooLarge[k] = growth{claim, a.most}
		}
	}
}

// SetLacking sets the kinds that Lacks reports.
func (s *Set) SetLacking(kinds []string) { s.lacking = kinds }

// Lacks reports whether the dump has no objects of a kind, as kubectl names it, so that a missing one says nothing.
func (s *Set) Lacks(kind string) bool { return s != nil && slices.Contains(s.lacking, kind) }

// All returns the assumptions, by subject, object and operation.
func (s *Set) All() []Assumption {
	if s == nil {
		return nil
	}
	return s.all
}

// Inject implements api.Injector.
func (s *Set) Inject(call api.Call) api.Fault {
	if s == nil || call.Target == api.APIServer || len(s.calls) == 0 {
		return api.Fault{}
	}
	for _, k := range [...]callKey{
		{call.Target, call.Verb, call.Key, call.Node}, {call.Target, call.Verb, call.Key, ""}, {call.Target, call.Verb, "", ""},
		{call.Target, "", "", ""},
	} {
		if fault, ok := s.calls[k]; ok && !s.fits(k) {
			return fault
		}
	}
	return api.Fault{}
}

// Active implements engine.FaultPredictor: no request to the API server fails.
func (s *Set) Active(string) bool { return false }

// Stopped returns the controllers that are assumed not to run, by their names as actors, sorted.
func (s *Set) Stopped() []string {
	var stopped []string
	for _, a := range s.All() {
		if a.Behaviour == Absent && a.actor != "" {
			stopped = append(stopped, a.actor)
		}
	}
	slices.Sort(stopped)
	return slices.Compact(stopped)
}

// Cut returns the nodes whose kubelet is assumed not to reach the API server, sorted.
func (s *Set) Cut() []string {
	var cut []string
	for _, a := range s.All() {
		if node, ok := strings.CutPrefix(a.Subject, "node/"); ok && a.Behaviour == Silent {
			cut = append(cut, node)
		}
	}
	slices.Sort(cut)
	return slices.Compact(cut)
}

// Healthy returns the drivers that work at the request of the user, sorted.
func (s *Set) Healthy() []string {
	var healthy []string
	for _, a := range s.All() {
		if driver, ok := strings.CutPrefix(a.Subject, "driver/"); ok && a.Requested && a.Behaviour == Healthy {
			healthy = append(healthy, driver)
		}
	}
	slices.Sort(healthy)
	return slices.Compact(healthy)
}

// Node returns the assumption about a node; ok is false if there is none.
func (s *Set) Node(name string) (Assumption, bool) {
	return s.first(func(a *Assumption) bool { return a.Subject == "node/"+name })
}

// Create returns what is assumed about the creation of a volume for a claim: that the driver refuses the claim, or does not run.
func (s *Set) Create(driver string, claim api.Object) (Assumption, bool) {
	object := "pvc/" + api.KeyOf(claim)
	return s.first(func(a *Assumption) bool {
		return a.Subject == "driver/"+driver && (a.actor == actors.Provisioner(driver) ||
			a.actor == "" && (a.Operation == storage.Create || a.Operation == "") && (a.Object == object || a.Object == ""))
	})
}

// Attach returns what is assumed about attaching or detaching a volume, by its handle.
func (s *Set) Attach(driver, handle, node string, op storage.Op) (Assumption, bool) {
	return s.first(func(a *Assumption) bool {
		return a.Subject == "driver/"+driver && (a.actor == actors.Attacher(driver) || a.actor == "" && a.about(op, handle, node))
	})
}

// Call returns what is assumed about another call of a driver for a volume, by its handle.
func (s *Set) Call(driver, handle, node string, op storage.Op) (Assumption, bool) {
	return s.first(func(a *Assumption) bool {
		return a.Subject == "driver/"+driver && a.actor == "" && a.about(op, handle, node)
	})
}

// Controller returns the assumption that a controller does not run.
func (s *Set) Controller(actor string) (Assumption, bool) {
	return s.first(func(a *Assumption) bool { return actor != "" && a.actor == actor })
}

// Driver returns what is assumed about a driver about which nothing is known to fail.
func (s *Set) Driver(driver string) Assumption {
	a := Assumption{Subject: "driver/" + driver, Behaviour: Healthy, Evidence: "nothing in the dump shows that it fails"}
	if s != nil && s.signs[driver] != "" {
		a.Evidence = s.signs[driver] + ", and nothing shows that it fails"
	}
	if failing, ok := s.first(func(a *Assumption) bool { return a.Subject == "driver/"+driver && a.Object != "" }); ok && !failing.Requested {
		a.Evidence = fmt.Sprintf("it fails for %s, and nothing shows that it fails for others", failing.Object)
	}
	if requested, ok := s.first(func(a *Assumption) bool { return a.Subject == "driver/"+driver && a.Requested }); ok {
		return requested
	}
	return a
}

func (a *Assumption) about(op storage.Op, handle, node string) bool {
	return (a.Operation == op || a.Operation == "") && (a.key == handle || a.key == "") && (a.Node == node || a.Node == "")
}

func (s *Set) first(match func(*Assumption) bool) (Assumption, bool) {
	if s != nil {
		for i := range s.all {
			if a := &s.all[i]; a.Failing() && match(a) {
				return *a, true
			}
		}
	}
	return Assumption{}, false
}

// Override changes assumptions: SUBJECT=BEHAVIOUR, where SUBJECT is driver, driver/NAME, node, node/NAME, controller or controller/NAME, or
// a NAME alone, or recycler, and BEHAVIOUR is healthy, refuses, silent or absent. A subject without a name stands for all of that kind that the
// evidence is about. It returns a new Set.
func (s *Set) Override(texts ...string) (*Set, error) {
	if len(texts) == 0 {
		return s, nil
	}
	changed := &Set{all: slices.Clone(s.All())}
	if s != nil {
		changed.signs, changed.largest = s.signs, s.largest
	}
	for _, text := range texts {
		if err := changed.override(text); err != nil {
			return nil, err
		}
	}
	changed.index()
	return changed, nil
}

func (s *Set) override(text string) error {
	subject, value, ok := strings.Cut(text, "=")
	behaviour := Behaviour(value)
	if !ok || subject == "" || !slices.Contains([]Behaviour{Healthy, Refuses, Silent, Absent}, behaviour) {
		return fmt.Errorf("invalid assumption %q: want SUBJECT=healthy, refuses, silent or absent, such as driver/disk.example.com=healthy", text)
	}
	kind, name, named := strings.Cut(subject, "/")
	switch kind {
	case "driver", "node", "controller", "pod":
	case "recycler":
		return s.overrideRecycler(text, behaviour)
	default:
		// The name alone: what the evidence is about, or a driver.
		kind, name, named = "driver", subject, true
		if at := slices.IndexFunc(s.all, func(a Assumption) bool { return strings.HasSuffix(a.Subject, "/"+subject) }); at >= 0 {
			kind, _, _ = strings.Cut(s.all[at].Subject, "/")
		}
	}
	matches := func(a Assumption) bool {
		return named && a.Subject == kind+"/"+name || !named && strings.HasPrefix(a.Subject, kind+"/")
	}
	subjects := map[string]bool{}
	var order []string
	for _, a := range s.all {
		if matches(a) && !subjects[a.Subject] {
			subjects[a.Subject] = true
			order = append(order, a.Subject)
		}
	}
	s.all = slices.DeleteFunc(s.all, matches)
	if named && len(order) == 0 {
		order = []string{kind + "/" + name}
	}
	for _, subject := range order {
		requested, err := request(subject, behaviour)
		if err != nil {
			return fmt.Errorf("invalid assumption %q: %w", text, err)
		}
		s.all = append(s.all, requested...)
	}
	if cut := s.Cut(); kind == "node" {
		s.all = slices.DeleteFunc(s.all, func(a Assumption) bool { return a.leftover() && !slices.Contains(cut, a.Node) })
	}
	return nil
}

// overrideRecycler changes how the recycler pods of both plugins that recycle behave.
func (s *Set) overrideRecycler(text string, behaviour Behaviour) error {
	if behaviour == Absent {
		return fmt.Errorf("invalid assumption %q: a recycler is healthy, refuses or silent", text)
	}
	for _, plugin := range []string{hostPath, nfs} {
		subject := "driver/" + plugin
		s.all = slices.DeleteFunc(s.all, func(a Assumption) bool { return a.Subject == subject && a.Operation == storage.Recycle })
		requested, err := request(subject, behaviour)
		if err != nil {
			return err
		}
		for _, a := range requested {
			a.Operation = storage.Recycle
			s.all = append(s.all, a)
		}
	}
	return nil
}

// request returns the assumptions of a subject whose behaviour the user chose.
func request(subject string, behaviour Behaviour) ([]Assumption, error) {
	a := Assumption{Subject: subject, Behaviour: behaviour, Requested: true}
	kind, name, _ := strings.Cut(subject, "/")
	switch {
	case behaviour == Healthy:
		return []Assumption{a}, nil
	case kind == "node" && behaviour == Silent:
		return []Assumption{a}, nil
	case kind == "controller" && behaviour == Absent:
		a.actor = name
		return []Assumption{a}, nil
	case kind == "driver" && behaviour == Refuses:
		a.Code, a.Message = storage.Internal, "assumed to fail"
		return []Assumption{a}, nil
	case kind == "driver" && behaviour == Silent:
		a.Code, a.Message = storage.DeadlineExceeded, "context deadline exceeded"
		return []Assumption{a}, nil
	case kind == "driver":
		var all []Assumption
		for _, actor := range []string{actors.Provisioner(name), actors.Attacher(name), actors.Resizer(name)} {
			a.actor = actor
			all = append(all, a)
		}
		return all, nil
	}
	wants := map[string]string{"node": "healthy or silent", "controller": "healthy or absent", "pod": "healthy"}
	return nil, fmt.Errorf("a %s is %s", kind, wants[kind])
}
