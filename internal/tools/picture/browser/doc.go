// Package browser has the tests that open pictures (package picture) in Chromium, headless. It is a module of its own so that volsim does
// not depend on a browser driver. scripts/install-chromium installs a browser; without one the tests fail.
package browser
