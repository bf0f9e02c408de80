// Package definition has the rules of CustomResourceDefinitions and of the schemas in them. It needs nothing but objects.
//
//   - decode.go, validate.go, parts.go, selectable.go, webhookclient.go: a definition; shown.go: how errors show it;
//   - versionschema.go, structural.go, listtypes.go, defaults.go, rules.go: the schemas of its versions, and their rules in CEL;
//   - schema.go, schemaerrors.go, objectlists.go, embedded.go, rulecheck.go: custom objects and their schemas: unknown fields, defaults, what is
//     wrong, and which rules are broken.
//
// Package apiserver applies it to requests, and has its tests. The rules are those about CustomResourceDefinitions in docs/rules/api.md.
package definition
