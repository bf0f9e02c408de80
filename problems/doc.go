// Package problems holds known problems of upstream as scripts, and nothing else: each .txtar file reproduces one that was reported of
// Kubernetes or of the sidecars of CSI drivers, and says whether v1.36.3 has it.
//
// A script that is about a problem which v1.36.3 has shows it happening, with the seed, the delay or the fault that brings it out, and
// shows the remedy. The script of a problem that was fixed shows that the fix works. README.md lists them; docs/scripts.md
// is the language.
package problems
