package differential

import "slices"

// Shrink removes steps and waits while the rest still diverges.
func Shrink(s Scenario, diverges func(Scenario) bool) Scenario {
	for again := true; again; {
		again = false
		for i := len(s.Steps) - 1; i >= 0; i-- {
			smaller := s
			smaller.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
			if len(smaller.Steps) == 0 {
				continue
			}
			smaller.Steps[len(smaller.Steps)-1].Settle = true
			if diverges(smaller) {
				s, again = smaller, true
			}
		}
		for i, step := range s.Steps {
			if step.Wait == 0 || step.Settle {
				continue
			}
			smaller := s
			smaller.Steps = slices.Clone(s.Steps)
			smaller.Steps[i].Wait = 0
			if diverges(smaller) {
				s, again = smaller, true
			}
		}
	}
	return s
}
