// Package yamljson converts YAML to JSON several times faster than a YAML library, for the YAML that kubectl prints and people write in
// manifests: block mappings and sequences of simple scalars. An entry that contains anything else, such as a flow mapping, is converted by
// the library sigs.k8s.io/yaml. Constructs that reach beyond an entry, such as anchors, are left to the caller.
package yamljson
