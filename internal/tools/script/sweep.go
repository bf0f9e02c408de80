package script

import (
	"bytes"
	"slices"

	"github.com/volsim/volsim/check"
)

// Seeds returns the range of the command seeds, as FROM..TO, and whether one passing seed is enough; "" without such a command.
func (s *Script) Seeds() (seeds string, some bool) {
	if s.seeds == nil {
		return "", false
	}
	return s.seeds.String(), s.seeds.some
}

// NamesInvariants reports whether the script itself names invariants, by config check or config watch.
func (s *Script) NamesInvariants() bool {
	u, err := s.newSetup(-1)
	return err == nil && len(u.config.Check) > 0
}

// ForSweep returns the script as a sweep runs it. It watches every invariant unless the script names some, ends before the first stop, and
// lists the storage at its end, in the line last.
func (s *Script) ForSweep() (swept *Script, last int, err error) {
	c := *s
	c.manifest = false // errors name lines of the script
	c.hasNodes = nil   // it may end earlier
	if !s.NamesInvariants() {
		all := check.All()
		watch := setupLine{line: 1, apply: func(u *setup) error {
			u.config.Check = all // it is not written to, and has no room to append to
			return nil
		}}
		c.modifiers = slices.Insert(slices.Clone(s.modifiers), 0, watch)
	}
	if i := slices.IndexFunc(s.statements, func(st *statement) bool { return !st.comment && st.command.name == "stop" }); i >= 0 {
		c.statements = s.statements[:i:i]
	}
	last = bytes.Count(s.archive.Comment, []byte("\n")) + 1
	list, err := c.parseLine(last, "backends")
	if err != nil {
		return nil, 0, err
	}
	c.statements = append(slices.Clip(c.statements), list)
	return &c, last, nil
}
