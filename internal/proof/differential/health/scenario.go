package health

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/volsim/volsim/storage"
)

// Epoch is when both sides begin: virtual time of a bubble.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Scenario is a history of one node.
type Scenario struct {
	Drivers []Driver
	Volumes []Volume
	Steps   []Step // in order of time
	End     time.Duration
}

// Driver is a CSI driver.
type Driver struct {
	Name      string
	Stats     bool // GET_VOLUME_STATS
	Condition bool // VOLUME_CONDITION
	Usage     bool // the reply has the usage
	Latency   time.Duration
}

// Volume is a volume of a driver; its handle is its name.
type Volume struct {
	Name, Driver string
	Block        bool
}

// Step is a change at a time: a pod comes with volumes or goes, or a driver says something else about a volume.
type Step struct {
	At      time.Duration
	Pod     string
	Volumes []string // of a new pod, none if it goes
	Volume  string
	Says    Answer
}

// Answer is the answer of a driver about a volume.
type Answer struct {
	Problem string
	Code    storage.Code // of the error, "" for none
}

// Generate makes a scenario from a seed.
func Generate(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 342))
	s := Scenario{End: time.Duration(8+r.IntN(20)) * time.Minute}
	s.Drivers = []Driver{
		{Name: "full.example.com", Stats: true, Condition: true, Usage: r.IntN(2) == 0},
		{Name: "slow.example.com", Stats: true, Condition: true, Usage: true,
			Latency: pick(r, time.Second, 45*time.Second, 90*time.Second, 150*time.Second)},
		{Name: "stats.example.com", Stats: true, Usage: r.IntN(2) == 0},
		{Name: "plain.example.com"},
		{Name: "odd.example.com", Condition: true},
	}
	for i := range 4 + r.IntN(8) {
		// Most volumes are of the first driver.
		driver := s.Drivers[max(0, r.IntN(3+len(s.Drivers))-3)]
		s.Volumes = append(s.Volumes, Volume{Name: fmt.Sprintf("v%d", i), Driver: driver.Name, Block: r.IntN(4) == 0})
	}
	for pod := range 2 + r.IntN(4) {
		name := fmt.Sprintf("p%d", pod)
		comes := pick(r, 0, 0, time.Duration(r.IntN(5))*time.Minute)
		s.add(r, comes, comes+time.Minute, Step{Pod: name, Volumes: s.choose(r)})
		if r.IntN(2) == 0 {
			s.add(r, comes+time.Minute, s.End, Step{Pod: name})
		}
	}
	for range 10 + r.IntN(30) {
		says := Answer{Problem: pick(r, "", "", "worn out", "not reachable", "read only")}
		if r.IntN(5) == 0 {
			says = Answer{Code: pick(r, storage.Internal, storage.NotFound, storage.Unavailable)}
		}
		s.add(r, 0, s.End, Step{Volume: pick(r, s.Volumes...).Name, Says: says})
	}
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return int(a.At - b.At) })
	return s
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// choose returns volumes for a pod: several, or one of a driver that takes time, because upstream has no order among several.
func (s *Scenario) choose(r *rand.Rand) []string {
	var names []string
	for range 1 + r.IntN(3) {
		v := pick(r, s.Volumes...)
		if v.Driver == "slow.example.com" {
			return []string{v.Name}
		}
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return names
}

// add adds a step at a random time between two others. Nothing happens near a whole second, when kubelets look for pods.
func (s *Scenario) add(r *rand.Rand, from, to time.Duration, step Step) {
	step.At = from + time.Duration(r.Int64N(int64((to-from)/time.Second)))*time.Second + time.Duration(200+r.IntN(300))*time.Millisecond
	for slices.ContainsFunc(s.Steps, func(other Step) bool { return other.At == step.At }) {
		step.At += time.Millisecond
	}
	s.Steps = append(s.Steps, step)
}

// driver returns the driver of a volume.
func (s *Scenario) driver(volume string) Driver {
	v := s.volume(volume)
	return s.Drivers[slices.IndexFunc(s.Drivers, func(d Driver) bool { return d.Name == v.Driver })]
}

func (s *Scenario) volume(name string) Volume {
	return s.Volumes[slices.IndexFunc(s.Volumes, func(v Volume) bool { return v.Name == name })]
}

// world holds the answers of the drivers at a time.
type world struct{ says map[string]Answer }

func newWorld() *world { return &world{says: map[string]Answer{}} }

func (w *world) step(s Step) {
	if s.Volume != "" {
		w.says[s.Volume] = s.Says
	}
}

// Span is a time in which a volume is mounted for a pod.
type Span struct{ From, To time.Duration }
