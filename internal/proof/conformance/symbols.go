package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// symbols translates between the symbolic uids of a recording, "uid-of <namespace>/<name> #<k>", and real ones. k counts the claims
// created with that name.
type symbols struct {
	created  map[string][]string // by key, the uids of the claims of that name
	pairs    []string            // real uid, symbol, ...
	replacer *strings.Replacer
}

func newSymbols() *symbols {
	return &symbols{created: map[string][]string{}, replacer: strings.NewReplacer()}
}

// add records the creation of a claim.
func (s *symbols) add(key string, uid types.UID) {
	s.created[key] = append(s.created[key], string(uid))
	s.pairs = append(s.pairs, string(uid), fmt.Sprintf("uid-of %s #%d", key, len(s.created[key])))
	s.replacer = strings.NewReplacer(s.pairs...)
}

// symbolic replaces uids by symbols.
func (s *symbols) symbolic(text string) string { return s.replacer.Replace(text) }

var symbol = regexp.MustCompile(`uid-of ([^\s"/]+/[^\s"/]+) #([0-9]+)`)

// real replaces symbols by uids. A symbol for an unknown claim is an error.
func (s *symbols) real(doc []byte) ([]byte, error) {
	var unknown string
	doc = symbol.ReplaceAllFunc(doc, func(match []byte) []byte {
		parts := symbol.FindSubmatch(match)
		k, err := strconv.Atoi(string(parts[2]))
		uids := s.created[string(parts[1])]
		if err != nil || k < 1 || k > len(uids) {
			unknown = string(match)
			return match
		}
		return []byte(uids[k-1])
	})
	if unknown != "" {
		return nil, fmt.Errorf("%q: there was no such claim", unknown)
	}
	return doc, nil
}
