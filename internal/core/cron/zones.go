package cron

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"
)

// zoneRules has the time zones of the IANA time zone database, which Kubernetes reads from the disk. Each line has the rule that counts today, as in
// the variable TZ of POSIX, and the names of the zones that follow it.
//
//go:embed zones.txt
var zoneRules string

// zones are the rules of all zones, by name.
var zones = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(zoneRules) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			all[name] = words[0]
		}
	}
	return all
})

// Zone returns a time zone. The empty name is that of UTC, and so is Local: the controllers of a cluster run in UTC.
// SIM: today's rule of a zone counts for all times (JOB-113).
func Zone(name string) (*time.Location, error) {
	switch name {
	case "", "UTC", "Local":
		return time.UTC, nil
	}
	rule, ok := zones()[name]
	if !ok {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	return time.LoadLocationFromTZData(name, compiled(rule))
}

// compiled returns a rule in the format of a compiled time zone (TZif): without changes of the clock in the past, and with a rule for the future.
func compiled(rule string) []byte {
	const counts = 6 // isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt
	header := func(types, chars uint32) []byte {
		data := append([]byte("TZif2"), make([]byte, 15)...)
		for i := range counts {
			switch i {
			case 4:
				data = binary.BigEndian.AppendUint32(data, types)
			case 5:
				data = binary.BigEndian.AppendUint32(data, chars)
			default:
				data = binary.BigEndian.AppendUint32(data, 0)
			}
		}
		return data
	}
	data := append(header(0, 0), header(1, 1)...)
	data = append(data, make([]byte, 6+1)...) // one type, which the rule replaces, and its empty name
	return append(data, "\n"+rule+"\n"...)
}

// KnownZone reports whether a time zone exists (JOB-113).
func KnownZone(name string) bool {
	_, err := Zone(name)
	return err == nil
}
