// Package compare runs scenarios on real controllers and on ours, and compares what happened. Tests of this module and of those below it use it.
package compare
