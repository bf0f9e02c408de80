// Package browser holds the tests that open pictures (package picture) in a real Chromium, without a window. It is a module of its own
// so that volsim does not depend on a browser driver. scripts/install-chromium gets a browser; without one the tests fail.
package browser
