// Package controllerruntime runs the test suites of controller-runtime, as its authors wrote them, against volsim serve.
package controllerruntime
