// Package reasons contains fixtures with a known explanation. Each row of its tables is asked twice: of package explain with the objects,
// and of the command with the same objects in a dump. It is for tests only.
package reasons
