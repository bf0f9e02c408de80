// Package rules is the catalogue of what is true of Kubernetes, as far as it is simulated: the Markdown files of this folder,
// readable by programs. Each rule has a permanent ID, such as MATCH-020, and one home.
package rules

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed *.md
var files embed.FS

// Rule is one entry of the catalogue.
type Rule struct {
	ID   string
	File string // its home, such as binder.md
	// Text is what defines it, as it stands there: a row of a table, or a paragraph or item with the lines that belong to it.
	Text string
}

// leftOutFile lists the rules that are not held, with the reasons.
const leftOutFile = "left-out.md"

// definition matches a line that defines a rule: the ID begins a row of a table, an item of a list, or the line.
var definition = regexp.MustCompile(`^(?:\| |- )?\*{0,2}((?:API|BIND|MATCH|PROV|RECL|PROT|EPH|EXP|VAC|XPROV|ATT|MNT|SCHED)-[0-9]{3}[a-z]?(?:\.[A-Za-z]+)?)\b`)

// catalogue is read once: the rules as All lists them.
var catalogue = sync.OnceValue(read)

// All lists the rules, file by file in the order of names, and in each as they stand.
func All() []Rule { return slices.Clone(catalogue()) }

func read() []Rule {
	var found []Rule
	seen := map[string]bool{}
	for _, file := range names() {
		if file == leftOutFile {
			continue
		}
		all := lines(file)
		for i, line := range all {
			if m := definition.FindStringSubmatch(line); m != nil && !seen[m[1]] {
				seen[m[1]] = true
				found = append(found, Rule{ID: m[1], File: file, Text: whole(all[i:])})
			}
		}
	}
	return found
}

// whole is the rule that the first of the lines begins: a row, or a paragraph or item to its end, with the table or list that it announces.
func whole(lines []string) string {
	if strings.HasPrefix(lines[0], "|") {
		return lines[0]
	}
	end := blockEnd(lines, 1)
	if announces := strings.HasSuffix(strings.TrimRight(lines[end-1], "* "), ":"); announces && end+1 < len(lines) && !begins(lines[end+1]) {
		end = blockEnd(lines, end+1)
	}
	return strings.Join(lines[:end], "\n")
}

// blockEnd is the first line from there on that does not belong to the block: an empty one, or one that begins something else.
func blockEnd(lines []string, from int) int {
	for i, line := range lines[from:] {
		if strings.TrimSpace(line) == "" || begins(line) {
			return from + i
		}
	}
	return len(lines)
}

func begins(line string) bool { return strings.HasPrefix(line, "#") || definition.MatchString(line) }

// Get is the rule of that ID.
func Get(id string) (Rule, bool) {
	for _, rule := range catalogue() {
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
