// Package picture draws a run as one HTML file that needs no network and no other file.
//
// The picture is a timeline with a lane for each object. A bar shows the phase of the object. Marks show what happened to it: API writes,
// decisions with their rules and the texts of the rules, storage calls, Events, faults, retries, and violations. A component that stopped
// at least once, and a volume of a backend without a PersistentVolume, have lanes as well. One step of the picture is one entry of the
// trace; each step shows the object at that moment and what changed.
//
// The file has three parts: a page with its style sheet, a program without libraries, and the data of the run as JSON. An object is stored
// as its first version and the changes of each later one; the first version is stored as the difference to another object of the kind if
// that is shorter. The Content-Security-Policy of the page allows only this program and this style sheet, and everything from the run is
// shown as text, so names and annotations cannot become markup.
//
// The same run gives the same bytes.
//
// A trace with a limit lacks its beginning. Its objects start with their first recorded write.
package picture
