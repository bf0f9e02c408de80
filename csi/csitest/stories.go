package csitest

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"
)

// story is a sequence of things that users, nodes and time do to a cluster.
type story struct {
	name  string
	about string
	// needs returns what the driver or the configuration lacks, "" for nothing.
	needs func(*Config, capabilities) string
	run   func(*run)
	// object changes the CSIDriver object; nil changes nothing.
	object func(*storagev1.CSIDriverSpec)
}

// Stories returns the names of all stories.
func Stories() []string {
	var names []string
	for _, s := range stories {
		names = append(names, s.name)
	}
	return names
}

// About says in a sentence what happens in a story; "" for a name that no story has.
func About(story string) string {
	if s := find(story); s != nil {
		return s.about
	}
	return ""
}

func find(name string) *story {
	for i := range stories {
		if stories[i].name == name {
			return &stories[i]
		}
	}
	return nil
}

// stories are all stories, in the order in which they run.
var stories = slices.Concat(basicStories, volumeStories, expansionStories, sizeStories, nodeStories, requestStories, snapshotStories)
