// Package reasons has worlds for each of which it is known what there is to explain: rows of tables that are asked twice, of package
// explain with the objects as they are, and of the command with the same objects in a dump.
//
// It is for tests only.
package reasons
