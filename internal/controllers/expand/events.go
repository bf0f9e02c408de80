package expand

// Reasons of Events.
const (
	reasonExternalExpanding  = "ExternalExpanding"
	reasonResizing           = "Resizing"
	reasonResizeFailed       = "VolumeResizeFailed"
	reasonResizeSuccessful   = "VolumeResizeSuccessful"
	reasonFileSystemRequired = "FileSystemResizeRequired"
	reasonModify             = "VolumeModify"
	reasonModifyFailed       = "VolumeModifyFailed"
	reasonModifySuccessful   = "VolumeModifySuccessful"
	reasonModifyCanceled     = "VolumeModifyCanceled"
)
