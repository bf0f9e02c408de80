// Package rules makes the rule catalogue, docs/rules/*.md, readable by programs.
//
// Each rule of Kubernetes that volsim simulates has a permanent ID, such as MATCH-020, and is defined once in those files. The files cannot
// be embedded from here, so catalogue.jsonl is a generated copy of the rules in them, one per line. Run go generate ./internal/tools/rules
// after a change of docs/rules; TestCatalogue fails until then.
package rules

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:generate go run ./generate ../../../docs/rules catalogue.jsonl

//go:embed catalogue.jsonl
var catalogue []byte

// Rule is one rule of the catalogue.
type Rule struct {
	ID string `json:"id"`
	// File is the name of the Markdown file that defines it, such as binder.md.
	File string `json:"file"`
	// Text is the Markdown that defines it: a row of a table, or a paragraph or list item with the table or list that it announces.
	Text string `json:"text"`
	// NotSimulated is the reason why the rule is not simulated, from left-out.md; empty for a rule that is.
	NotSimulated string `json:"notSimulated,omitempty"`
}

// all decodes the catalogue once.
var all = sync.OnceValue(func() []Rule {
	rules, err := Decode(catalogue)
	if err != nil {
		panic(err) // TestCatalogue decodes it
	}
	return rules
})

// All returns the rules, by the names of their files, then in the order in which the file defines them.
func All() []Rule { return slices.Clone(all()) }

// Get returns the rule with an ID. ok is false if there is none.
func Get(id string) (rule Rule, ok bool) {
	i := slices.IndexFunc(all(), func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return all()[i], true
}

// Encode writes rules as catalogue.jsonl has them: one JSON object per line.
func Encode(rules []Rule) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, rule := range rules {
		if err := encoder.Encode(rule); err != nil {
			return nil, fmt.Errorf("encode rule %s: %w", rule.ID, err)
		}
	}
	return out.Bytes(), nil
}

// Decode reads what Encode wrote.
func Decode(data []byte) ([]Rule, error) {
	var rules []Rule
	decoder := json.NewDecoder(bytes.NewReader(data))
	for decoder.More() {
		var rule Rule
		if err := decoder.Decode(&rule); err != nil {
			return nil, fmt.Errorf("decode rule %d of the catalogue: %w", len(rules)+1, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
