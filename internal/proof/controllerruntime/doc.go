// Package controllerruntime runs the test suites of controller-runtime, as its authors wrote them, against a simulated cluster.
package controllerruntime
