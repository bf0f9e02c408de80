package script

import (
	"math"
	"strings"
)

// Chapter is a part of a run that a comment of the script introduces.
type Chapter struct {
	// Title is the first sentence of the comment, Text the rest. Both are empty for commands before the first comment.
	Title, Text string
	// Commands lists the commands of the chapter that ran, in order.
	Commands []Command
}

// maxTitle is the length, in bytes, above which a title ends at its first colon.
const maxTitle = 60

// Chapters divides the commands of the reported run by the comments of the script. A comment without commands has no chapter, but for the
// first, which introduces the script.
func (r *Result) Chapters() []Chapter {
	var all []Chapter
	commands := r.Commands
	// until moves the commands before a line to the last chapter.
	until := func(line int) {
		n := 0
		for n < len(commands) && commands[n].Line < line {
			n++
		}
		if n > 0 && len(all) == 0 {
			all = append(all, Chapter{})
		}
		if n > 0 {
			all[len(all)-1].Commands = commands[:n]
			commands = commands[n:]
		}
	}
	for _, p := range r.comments {
		until(p.line)
		if len(all) > 1 && len(all[len(all)-1].Commands) == 0 {
			all = all[:len(all)-1]
		}
		chapter := Chapter{}
		chapter.Title, chapter.Text = titleOf(p.text)
		all = append(all, chapter)
	}
	until(math.MaxInt)
	if len(all) > 1 && len(all[len(all)-1].Commands) == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// paragraph is a block of comment lines of a script.
type paragraph struct {
	line int
	text string
}

// paragraphs returns the comment blocks between the commands. Files of the archive do not count.
func (s *Script) paragraphs() []paragraph {
	var all []paragraph
	end := 0
	for _, st := range s.statements {
		text := strings.TrimSpace(strings.TrimLeft(st.text, "#"))
		if !st.comment || text == "" {
			continue
		}
		if end > 0 && st.line == end+1 {
			all[len(all)-1].text += " " + text
		} else {
			all = append(all, paragraph{line: st.line, text: text})
		}
		end = st.line
	}
	return all
}

// titleOf splits a comment into its first sentence, without the full stop, and the rest. A number such as "1." belongs to the sentence.
func titleOf(text string) (title, rest string) {
	from := 0
	if number, _, ok := strings.Cut(text, ". "); ok && strings.Trim(number, "0123456789") == "" {
		from = len(number) + 2
	}
	end := strings.Index(text[from:], ". ")
	if end < 0 {
		title = text
	} else {
		title, rest = text[:from+end], text[from+end+2:]
	}
	title = strings.TrimSuffix(title, ".")
	if colon := strings.Index(title, ": "); len(title) > maxTitle && colon > 0 {
		return title[:colon], upperFirst(text[colon+2:])
	}
	return title, rest
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Failed reports whether the line of the command is one of those that failed.
func (r *Result) Failed(c Command) bool {
	for _, f := range r.Failures {
		if f.Line == c.Line {
			return true
		}
	}
	return false
}
