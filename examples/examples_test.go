package examples_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	tools "github.com/volsim/volsim/internal/tools/script"
	"github.com/volsim/volsim/scenario"
)

// lessons are the scripts of this folder, in reading order.
func lessons(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("[0-9][0-9]-*/lesson.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(found), 14)
	return found
}

// script reads a lesson under the name by which volsim run knows it at the root of the module.
func script(t *testing.T, file string) *scenario.Script {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	s, err := scenario.Parse("examples/"+filepath.ToSlash(file), data)
	require.NoError(t, err)
	return s
}

var update = flag.Bool("update-scripts", false, "write want.txt of each lesson instead of comparing")

// output returns what volsim run prints for a script that succeeds.
func output(t *testing.T, s *scenario.Script) string {
	t.Helper()
	var out bytes.Buffer
	result, err := scenario.Run(s, scenario.Options{Out: &out})
	require.NotNil(t, result.Cluster, "%v", err)
	defer result.Cluster.Close()
	require.NoError(t, err, "%s", out.String())
	return out.String() + s.Name() + ": " + result.Summary() + "\n"
}

// TestLessons: each lesson prints exactly what its want.txt contains. -update-scripts writes the file.
func TestLessons(t *testing.T) {
	for _, file := range lessons(t) {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			got := output(t, script(t, file))

			golden := filepath.Join(filepath.Dir(file), "want.txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "go test ./examples -update-scripts writes it")
			require.Equal(t, string(want), got)
		})
	}
}

// TestLessonsWithoutSkipping: a lesson prints the same if passes that would find nothing new are run.
func TestLessonsWithoutSkipping(t *testing.T) {
	const config = "config no-skipping=true\n"
	for _, file := range lessons(t) {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := scenario.Parse("examples/"+filepath.ToSlash(file), append([]byte(config), data...))
			require.NoError(t, err)
			got := output(t, s)

			want, err := os.ReadFile(filepath.Join(filepath.Dir(file), "want.txt"))
			require.NoError(t, err)
			require.Equal(t, string(want), strings.TrimLeft(strings.TrimPrefix(got, "> "+config), "\n"))
		})
	}
}

// TestLessonsInAnyOrder: what a lesson expects does not depend on the order of what happens at one instant.
func TestLessonsInAnyOrder(t *testing.T) {
	for _, file := range lessons(t) {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			s := script(t, file)
			for seed := int64(1); seed <= 10; seed++ {
				result, err := scenario.Run(s, scenario.Options{Seed: &seed})
				require.NotNil(t, result.Cluster, "seed %d: %v", seed, err)
				result.Cluster.Close()
				require.NoError(t, err, "seed %d", seed)
			}
		})
	}
}

// TestLessonsExpect: each lesson says what must be so, so that a change of what it teaches is not only a change of its output.
func TestLessonsExpect(t *testing.T) {
	expectation := regexp.MustCompile(`(?m)^expect `)
	for _, file := range lessons(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(expectation.FindAll(data, -1)), 2, file)
	}
}

// TestReadingOrder: README.md names every folder once, lessons in order, and every lesson says how it is run.
func TestReadingOrder(t *testing.T) {
	var folders []string
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var named, numbered []string
	for _, match := range regexp.MustCompile(`(?m)^\| \[[^\]]+\]\(([^)]+)\) \|`).FindAllStringSubmatch(string(readme), -1) {
		named = append(named, match[1])
		if regexp.MustCompile(`^[0-9]`).MatchString(match[1]) {
			numbered = append(numbered, match[1])
		}
	}
	require.ElementsMatch(t, folders, named)
	require.IsIncreasing(t, numbered)

	for _, file := range lessons(t) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "), "%s has no title", file)
		require.Contains(t, string(text), "go run ./cmd/volsim run examples/"+filepath.ToSlash(file)+"\n")
	}
}

// TestQuestions: the question of each lesson is open at its end, and the solution answers it, in any order of what happens at one instant.
func TestQuestions(t *testing.T) {
	for _, file := range lessons(t) {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			lesson := tools.ReadLesson(data)
			require.NotEmpty(t, lesson.Question)
			require.NotEmpty(t, lesson.Expect)
			s, err := tools.Parse(file, []byte(lesson.Script))
			require.NoError(t, err)
			session, err := tools.Begin(s, tools.Options{})
			require.NoError(t, err)
			defer session.Cluster().Close()
			_, err = session.Run()
			require.NoError(t, err)
			answered := true
			for _, line := range lesson.Expect {
				answered = answered && session.Check(line) == nil
			}
			require.False(t, answered, "nothing is left to answer")
			solved, err := tools.Parse(file, []byte(lesson.Solved))
			require.NoError(t, err)
			for seed := range int64(5) {
				var out bytes.Buffer
				result, err := tools.Run(solved, tools.Options{Seed: &seed, Out: &out})
				require.NotNil(t, result.Cluster)
				result.Cluster.Close()
				require.NoError(t, err, "seed %d\n%s", seed, out.String())
			}
		})
	}
}
