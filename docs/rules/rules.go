// Package rules is the catalogue of what is true of Kubernetes, as far as it is simulated: the Markdown files of this folder,
// readable by programs. Each rule has a permanent ID, such as MATCH-020, and one home.
package rules

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed *.md
var files embed.FS

// Rule is one entry of the catalogue.
type Rule struct {
	ID   string
	File string // its home, such as binder.md
	// Text is the line that defines it, as it stands there.
	Text string
}

// leftOutFile lists the rules that are not held, with the reasons.
const leftOutFile = "left-out.md"

// definition matches a line that defines a rule: the ID begins a row of a table, an item of a list, or the line.
var definition = regexp.MustCompile(`^(?:\| |- )?\*{0,2}((?:API|BIND|MATCH|PROV|RECL|PROT|EPH|EXP|VAC|XPROV|ATT|MNT|SCHED)-[0-9]{3}[a-z]?(?:\.[A-Za-z]+)?)\b`)

// All lists the rules, file by file in the order of names, and in each as they stand.
func All() []Rule {
	var all []Rule
	seen := map[string]bool{}
	for _, file := range names() {
		if file == leftOutFile {
			continue
		}
		for _, line := range lines(file) {
			if m := definition.FindStringSubmatch(line); m != nil && !seen[m[1]] {
				seen[m[1]] = true
				all = append(all, Rule{ID: m[1], File: file, Text: line})
			}
		}
	}
	return all
}

// Get is the rule of that ID.
func Get(id string) (Rule, bool) {
	for _, rule := range All() {
		if rule.ID == id {
			return rule, true
		}
	}
	return Rule{}, false
}

// LeftOut maps the IDs of rules that are not held to the reason why.
func LeftOut() map[string]string {
	reasons := map[string]string{}
	for _, line := range lines(leftOutFile) {
		m := definition.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if cells := strings.Split(strings.Trim(line, "| "), "|"); len(cells) > 1 {
			reasons[m[1]] = strings.TrimSpace(cells[1])
		}
	}
	return reasons
}

func names() []string {
	entries, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil // the pattern is well-formed
	}
	return entries
}

func lines(file string) []string {
	data, err := files.ReadFile(path.Clean(file))
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}
