package script

import (
	"errors"

	"github.com/volsim/volsim/api"
)

// describeRevision rejects rollout history --revision: the playground leaves out the layout of templates.
func (*runner) describeRevision(api.Object) error {
	return errors.New("rollout history --revision is not available in the browser; use volsim run")
}
