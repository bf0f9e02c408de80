// Package match decides which volume a claim gets. The PersistentVolume controller, the scheduler and the explanations of both apply
// the same predicates, in the same order.
//
//   - predicates.go has the predicates: what a claim demands of a volume, rule by rule.
//   - best.go picks the best volume from a list (Best). It is the definition of a match.
//   - index.go finds the same volume without checking all of them (Index); buckets.go and labels.go are its search trees,
//     links.go connects each volume with the claims that name it, and each claim with the volumes that point at it.
//   - named.go checks the volume that a claim names in volumeName (Named).
//   - rejection.go explains why the other volumes were not picked (Rejection).
//
// Rules: MATCH-001 to MATCH-030.
package match
