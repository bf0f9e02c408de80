package rules

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// notSimulatedFile lists the rules that are not simulated, with the reasons.
const notSimulatedFile = "left-out.md"

// IDPattern is the regular expression of a rule ID: the prefix of its group and a number.
const IDPattern = `(?:API|GC|MIG|WORK|STS|RS|DEP|DS|JOB|BIND|MATCH|PROV|RECL|PROT|EPH|EXP|VAC|XPROV|ATT|MNT|NODE|NS|QUO|SCHED|SNAP|PDB|HEALTH)-[0-9]{3}[a-z]?(?:\.[A-Za-z]+)?\b`

// definition matches a line that defines a rule: the ID begins a row of a table, an item of a list, or the line.
var definition = regexp.MustCompile(`^(?:\| |- )?\*{0,2}(` + IDPattern + `)`)

// Read reads the rules from the Markdown files of a folder. Of an ID that begins several lines the first line is the definition. It fails
// if left-out.md names a rule that no file defines.
func Read(dir fs.FS) ([]Rule, error) {
	files, err := fs.Glob(dir, "*.md")
	if err != nil {
		return nil, err
	}
	var rules []Rule
	index := map[string]int{}
	for _, file := range files {
		if file == notSimulatedFile {
			continue
		}
		lines, err := readLines(dir, file)
		if err != nil {
			return nil, err
		}
		for i, line := range lines {
			m := definition.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if _, seen := index[m[1]]; !seen {
				index[m[1]] = len(rules)
				rules = append(rules, Rule{ID: m[1], File: file, Text: ruleText(lines[i:])})
			}
		}
	}
	lines, err := readLines(dir, notSimulatedFile)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		m := definition.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		i, ok := index[m[1]]
		if !ok {
			return nil, fmt.Errorf("%s names %s, which no file defines", notSimulatedFile, m[1])
		}
		if cells := strings.Split(strings.Trim(line, "| "), "|"); len(cells) > 1 {
			rules[i].NotSimulated = strings.TrimSpace(cells[1])
		}
	}
	return rules, nil
}

// ruleText returns the text of the rule that the first line begins: a row, or a paragraph or item to its end, with the table or list that
// it announces with a colon.
func ruleText(lines []string) string {
	if strings.HasPrefix(lines[0], "|") {
		return lines[0]
	}
	end := blockEnd(lines, 1)
	announces := strings.HasSuffix(strings.TrimRight(lines[end-1], "* "), ":")
	if announces && end+1 < len(lines) && !beginsBlock(lines[end+1]) {
		end = blockEnd(lines, end+1)
	}
	return strings.Join(lines[:end], "\n")
}

// blockEnd returns the index of the first line, from there on, that does not belong to the block: an empty one, or one that begins another.
func blockEnd(lines []string, from int) int {
	for i, line := range lines[from:] {
		if strings.TrimSpace(line) == "" || beginsBlock(line) {
			return from + i
		}
	}
	return len(lines)
}

func beginsBlock(line string) bool {
	return strings.HasPrefix(line, "#") || definition.MatchString(line)
}

func readLines(dir fs.FS, file string) ([]string, error) {
	data, err := fs.ReadFile(dir, file)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(data), "\n"), nil
}
