package csitest

import "github.com/volsim/volsim/storage"

// tabled quotes the row of the table of errors that has the code of a flaw.
func tabled(f flaw) string {
	row, ok := rows[f.method+" "+string(f.code)]
	switch {
	case ok:
	case f.code == storage.InvalidArgument:
		row = "Missing required field: 3 INVALID_ARGUMENT"
	default:
		return "this condition MUST give the code that the table of errors has for it"
	}
	return "the table of errors has this condition, with the code that it MUST give: " + row
}

// rows has the conditions in the tables of errors, by method and code.
var rows = map[string]string{
	"CreateVolume NotFound":                      "Source does not exist: 5 NOT_FOUND",
	"CreateVolume AlreadyExists":                 "Volume already exists but is incompatible: 6 ALREADY_EXISTS",
	"CreateVolume OutOfRange":                    "Unsupported capacity_range: 11 OUT_OF_RANGE",
	"DeleteVolume FailedPrecondition":            "Volume in use: 9 FAILED_PRECONDITION",
	"ControllerPublishVolume NotFound":           "Volume does not exist, Node does not exist: 5 NOT_FOUND",
	"ControllerPublishVolume AlreadyExists":      "Volume published but is incompatible: 6 ALREADY_EXISTS",
	"ControllerPublishVolume FailedPrecondition": "Volume published to another node: 9 FAILED_PRECONDITION",
	"ValidateVolumeCapabilities NotFound":        "Volume does not exist: 5 NOT_FOUND",
	"ListVolumes Aborted":                        "Invalid starting_token: 10 ABORTED",
	"ControllerGetVolume NotFound":               "Volume does not exist: 5 NOT_FOUND",
	"ControllerModifyVolume InvalidArgument":     "Parameters not supported: 3 INVALID_ARGUMENT",
	"ControllerModifyVolume NotFound":            "Volume does not exist: 5 NOT_FOUND",
	"ControllerExpandVolume NotFound":            "Volume does not exist: 5 NOT_FOUND",
	"ControllerExpandVolume OutOfRange":          "Unsupported capacity_range: 11 OUT_OF_RANGE",
	"ControllerExpandVolume FailedPrecondition":  "Volume in use: 9 FAILED_PRECONDITION",
	"CreateSnapshot AlreadyExists":               "Snapshot already exists but is incompatible: 6 ALREADY_EXISTS",
	"ListSnapshots Aborted":                      "Invalid starting_token: 10 ABORTED",
	"CreateVolumeGroupSnapshot AlreadyExists":    "Group snapshot already exists but is incompatible: 6 ALREADY_EXISTS",
	"GetVolumeGroupSnapshot NotFound":            "Volume group snapshot does not exist: 5 NOT_FOUND",
	"NodePublishVolume AlreadyExists":            "Volume published but is incompatible: 6 ALREADY_EXISTS",
	"NodeGetVolumeStats NotFound":                "Volume does not exist: 5 NOT_FOUND",
}
