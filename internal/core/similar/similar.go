// Package similar finds the word that a user probably meant.
package similar

import "strings"

// beginning is the least number of letters with which a word may stand for a longer one that begins with it.
const beginning = 4

// To returns the candidate that differs least from the word: in case only, by at most two letters and a third of the word, or by what
// follows the word. It returns "" if none is that similar, and the first of several equally similar ones.
func To(word string, candidates []string) string {
	best, least := "", min(2, (len(word)+1)/3)+1
	for _, candidate := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if len(word) >= beginning && strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(word)) {
			d = min(d, 2)
		}
		if d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Hint returns "; did you mean NAME" with the similar candidate in quotes, or "".
func Hint(word string, candidates []string) string {
	if best := To(word, candidates); best != "" && best != word {
		return `; did you mean "` + best + `"`
	}
	return ""
}

// Misspelt returns the candidate from which the word differs in case only, or by one letter; "" if there is none, or if the word is one.
func Misspelt(word string, candidates []string) string {
	found := ""
	for _, candidate := range candidates {
		if candidate == word {
			return ""
		}
		if found == "" && distance(strings.ToLower(word), strings.ToLower(candidate)) <= 1 {
			found = candidate
		}
	}
	return found
}

// distance returns how many letters must be inserted, removed, replaced or swapped with their neighbour to get from a to b.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	older := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, before, row = before, row, older
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
