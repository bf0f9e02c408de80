// Package e2e runs the end-to-end tests of Kubernetes, unaltered, against volsim serve: those that need neither containers nor a network.
// testdata/specs.txt names them. It also runs the scripts with which Kubernetes tests kubectl, those in testdata/commands.txt. scripts/test-e2e runs
// both; they are no part of the regular tests, because they compile for eleven minutes.
package e2e
