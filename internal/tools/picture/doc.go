// Package picture draws a run as one HTML file that needs nothing else: no network, no other file.
//
// The picture is a timeline with a lane for each object. A bar shows the phase of the object, marks show what happened to it: API
// writes, decisions with their rules and the rules' texts, calls to storage, Events, faults, retries, and what was found wrong. A
// component that stops once, and storage that belongs to no PersistentVolume, have lanes as well. One step of the picture is one
// entry of the trace; of each the object is shown as it was at that moment, and what had changed.
//
// The file has three parts: a page with its style sheet, a program without any library, and the data of the run as JSON. Objects
// are stored as their first version and what each later version changed, the first as what differs from another object of the
// kind where that is shorter. The page says in a Content-Security-Policy that nothing but the program and the style sheet that
// belong to it may run or load, and everything from the run is shown as text, so names and annotations cannot become markup.
//
// The same run gives the same bytes.
//
// Left out: what the trace does not have. A trace with a limit has lost its beginning, and objects then begin with the first write
// that is left.
package picture
