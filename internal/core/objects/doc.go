// Package objects knows what more than one controller has to read off API objects: the annotations and finalizers with a meaning,
// the class of a claim, the claims of a pod, whether a pod still runs. It has no state and decides nothing.
package objects
