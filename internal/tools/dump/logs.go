package dump

import (
	"bytes"
	"fmt"
	"regexp"
)

// startOfLogs and endOfLogs begin the lines around the log of a container in what kubectl cluster-info dump prints. The rest of the line names
// the container and its pod.
var startOfLogs, endOfLogs = []byte("==== START logs for container "), []byte("==== END logs for container ")

// withoutLogs returns the text with an empty line in place of each line of a log, and the number of logs. Without logs it returns the same
// text. A log without an end is an error, because objects may follow it.
func withoutLogs(file File) (text []byte, logs int, err error) {
	rest, line := file.Data, 1
	for {
		begin := lineWith(rest, startOfLogs)
		if begin < 0 {
			break
		}
		line += bytes.Count(rest[:begin], []byte("\n"))
		text = append(text, rest[:begin]...)
		rest = rest[begin:]
		first, _, _ := bytes.Cut(rest, []byte("\n"))
		name := bytes.TrimPrefix(bytes.TrimRight(first, "\r"), startOfLogs)
		// A log need not end with the end of a line.
		end := append(bytes.Clone(endOfLogs), name...)
		length := bytes.Index(rest, end)
		if length < 0 {
			return nil, 0, &Error{file.Name, line, fmt.Errorf("read dump: log without an end: want the line %q", end)}
		}
		length += len(end)
		lines := bytes.Count(rest[:length], []byte("\n"))
		text = append(text, bytes.Repeat([]byte("\n"), lines)...)
		line, rest = line+lines, rest[length:]
		logs++
	}
	if logs == 0 {
		return file.Data, 0, nil
	}
	return append(text, rest...), logs, nil
}

// pasted matches the lines before objects that were copied from a terminal or a chat: logs of kubectl, such as errors of discovery, its command
// line, and the mark of a block of code.
var pasted = regexp.MustCompile("^(?:[EIW][0-9]{4} [0-9:.]+ +[0-9]+ |[$] |```)[^\n]*\n")

// withoutPaste returns the text with an empty line in place of each such line.
func withoutPaste(text []byte) []byte {
	lines := 0
	for line := pasted.Find(text); line != nil; line = pasted.Find(text) {
		text = text[len(line):]
		lines++
	}
	if lines == 0 {
		return text
	}
	return append(bytes.Repeat([]byte("\n"), lines), bytes.TrimSuffix(bytes.TrimRight(text, "\r\n"), []byte("```"))...)
}

// lineWith returns the begin of the first line that begins with the mark; -1 if there is none.
func lineWith(text, mark []byte) int {
	for at := 0; ; {
		i := bytes.Index(text[at:], mark)
		if i < 0 {
			return -1
		}
		if at += i; at == 0 || text[at-1] == '\n' {
			return at
		}
		at += len(mark)
	}
}
