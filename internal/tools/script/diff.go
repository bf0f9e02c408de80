package script

import (
	"fmt"
	"strings"
)

// diff returns the lines that differ with some context: - marks lines of want, + lines of got.
func diff(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	var out strings.Builder
	for _, line := range lineDiff(a, b) {
		if line.text != "" {
			fmt.Fprintf(&out, "%c %s\n", line.sign, strings.TrimSuffix(line.text, "\n"))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

type diffLine struct {
	sign byte // ' ', '-', '+'
	text string
}

// maxDiff bounds the table of middleDiff; for larger inputs all lines between the first and the last difference are returned.
const maxDiff = 4_000_000

// lineDiff compares the lines after their common prefix and before their common suffix, and adds three lines of context on either side.
func lineDiff(a, b []string) []diffLine {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var lines []diffLine
	for i := max(start-3, 0); i < start; i++ {
		lines = append(lines, diffLine{' ', a[i]})
	}
	lines = append(lines, middleDiff(a[start:len(a)-end], b[start:len(b)-end])...)
	for i := len(a) - end; i < min(len(a)-end+3, len(a)); i++ {
		lines = append(lines, diffLine{' ', a[i]})
	}
	return lines
}

func middleDiff(a, b []string) []diffLine {
	var lines []diffLine
	if len(a)*len(b) > maxDiff {
		for _, text := range a {
			lines = append(lines, diffLine{'-', text})
		}
		for _, text := range b {
			lines = append(lines, diffLine{'+', text})
		}
		return lines
	}
	// common[i][j] is the length of the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diffLine{' ', a[i]})
			i++
			j++
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', b[j]})
			j++
		}
	}
	return lines
}
