// Package flows has the FlowSchemas and PriorityLevelConfigurations of every cluster.
package flows

import (
	_ "embed"
	"encoding/json"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// defaultData has the objects that kube-apiserver v1.36.3 makes when it starts, without their metadata other than names.
//
//go:embed defaults.json
var defaultData []byte

// AutoUpdate is the annotation of an object whose spec kube-apiserver restores.
const AutoUpdate = "apf.kubernetes.io/autoupdate-spec"

// The names of mandatory objects: of a FlowSchema and a PriorityLevelConfiguration each.
const (
	Exempt   = "exempt"
	CatchAll = "catch-all"
)

// DefaultObjects are the objects of every cluster.
type DefaultObjects struct {
	FlowSchemas    []*flowcontrolv1.FlowSchema
	PriorityLevels []*flowcontrolv1.PriorityLevelConfiguration
}

// Defaults returns the default objects, which must not change.
var Defaults = sync.OnceValue(func() *DefaultObjects {
	objects := &DefaultObjects{}
	if err := json.Unmarshal(defaultData, objects); err != nil {
		panic(err) // it is part of the program
	}
	return objects
})

// Schema returns the spec of a default FlowSchema, or nil.
func Schema(name string) *flowcontrolv1.FlowSchemaSpec {
	for _, s := range Defaults().FlowSchemas {
		if s.Name == name {
			return &s.Spec
		}
	}
	return nil
}

// Level returns the spec of a default PriorityLevelConfiguration, or nil.
func Level(name string) *flowcontrolv1.PriorityLevelConfigurationSpec {
	for _, l := range Defaults().PriorityLevels {
		if l.Name == name {
			return &l.Spec
		}
	}
	return nil
}
