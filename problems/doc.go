// Package problems holds known problems of upstream as scripts, and nothing else: each .txtar file plays one that was reported of
// Kubernetes or of the sidecars of CSI drivers, and says whether v1.36.3 has it.
//
// A script that is about a problem which v1.36.3 has shows it happening, with the seed, the delay or the fault that brings it out, and
// plays what can be done about it. One that is about a problem which was fixed shows the fix holding. README.md lists them; docs/scripts.md
// is the language.
package problems
