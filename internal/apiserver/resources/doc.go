// Package resources has the table of resources that the API server serves: the kinds of Kubernetes under their names in paths, and those of
// CustomResourceDefinitions, with what the definitions say of them.
//
//   - table.go: the table; resource.go: one row of it; selectable.go: fields that selectors may name; verbs.go: verbs and
//     subresources;
//   - events.go, autoscalers.go: kinds that have one form in the store and two in requests; scheme.go: the Go types of kinds;
//   - definedversion.go: what a definition says of one version; definedcheck.go: what is wrong with a custom object; conversionkey.go: what a conversion
//     webhook is asked.
package resources
