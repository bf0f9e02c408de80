// Package karpenter requires the version of karpenter whose test suites run against volsim serve. The test is in
// internal/proof/controllerruntime; this module has the versions that karpenter needs.
package karpenter

import _ "sigs.k8s.io/karpenter/pkg/test" // what its suites import
