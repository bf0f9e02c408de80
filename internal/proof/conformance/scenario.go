package conformance

import "encoding/json"

// Scenario is one line of a recording: steps and observations.
type Scenario struct {
	Name        string `json:"name"`
	Family      string `json:"family"`
	Description string `json:"description"`
	Steps       []Step `json:"steps"`
	// Observations has one observation for each step that settles.
	Observations []Observation `json:"observations"`
	// Racy marks a scenario with more than one outcome. It has Outcomes instead of Observations.
	Racy     bool      `json:"racy"`
	Outcomes []Outcome `json:"outcomes"`
}

// Outcome is one of several outcomes of a scenario.
type Outcome struct {
	Observations []Observation `json:"observations"`
	Runs         int           `json:"runs"`
}

// Step is one step. Op says which fields are set: create, update, patch, delete, backend or advance.
type Step struct {
	Op        string          `json:"op"`
	Object    json.RawMessage `json:"object"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Patch     json.RawMessage `json:"patch"`
	// Provisioner is the backend of a backend step; the setting comes with it.
	Provisioner string `json:"provisioner"`
	setting
	Seconds float64 `json:"seconds"`
	// NoSettle: the next step follows immediately, without an observation.
	NoSettle bool `json:"noSettle"`
	// SkipValidation: the write is stored even if an API server would refuse it.
	SkipValidation bool `json:"skipValidation"`
}

// setting is how a storage backend behaves.
type setting struct {
	Fail         map[string]string  `json:"fail"`
	InUse        string             `json:"inUse"`
	DelaySeconds map[string]float64 `json:"delaySeconds"`
}
