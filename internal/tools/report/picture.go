package report

import (
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/script"
)

// Picture returns the data of a picture of a run. name is the name of the script. A script made from manifests has no chapters.
func Picture(name string, manifest bool, r *script.Result) picture.Run {
	run := picture.Run{Title: name, Note: r.Order(), Trace: r.Cluster.Trace(), Start: r.Start, End: r.Cluster.Now()}
	if !manifest {
		run.Chapters = chaptersOf(r)
		if len(run.Chapters) > 0 && run.Chapters[0].Title != "" {
			run.Title, run.Note = run.Chapters[0].Title, name+" · "+run.Note
		}
	}
	for _, v := range r.Cluster.Violations() {
		mark := picture.Violation{Time: v.At, Name: v.Invariant, Text: v.Text}
		if len(v.Objects) > 0 {
			mark.Object = v.Objects[0]
		}
		if invariants, err := check.Named(v.Invariant); err == nil {
			mark.Rules = invariants[0].Rules
		}
		run.Violations = append(run.Violations, mark)
	}
	return run
}

// chaptersOf returns the chapters of a script with the commands that ran.
func chaptersOf(r *script.Result) []picture.Chapter {
	var all []picture.Chapter
	for _, c := range r.Chapters() {
		chapter := picture.Chapter{Title: c.Title, Text: c.Text}
		for _, x := range c.Commands {
			chapter.Commands = append(chapter.Commands, picture.Command{
				Line: x.Line, Text: x.Command, Seq: x.Seq, From: r.Start.Add(x.From), To: r.Start.Add(x.At), Output: x.Output, Error: x.Error,
				Expects: x.Expects, Failed: r.Failed(x),
			})
		}
		all = append(all, chapter)
	}
	return all
}
