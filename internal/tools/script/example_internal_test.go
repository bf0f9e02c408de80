package script

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamples reads the examples of every command, with the files that they name.
func TestExamples(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	file := regexp.MustCompile(`[a-z0-9-]+\.(yaml|txt)`)
	for _, c := range commands {
		require.NotEmpty(t, c.examples, c.name)
		for _, example := range c.examples {
			head := "backend disk.example.com\n"
			if strings.HasPrefix(example, "backend disk") {
				head = ""
			}
			text := head + "PLACE\n"
			for _, name := range file.FindAllString(example, -1) {
				text += "-- " + name + " --\n" + claim
			}
			_, err := Parse("x", []byte(strings.Replace(text, "PLACE", example, 1)))
			require.NoError(t, err)
		}
	}
}
