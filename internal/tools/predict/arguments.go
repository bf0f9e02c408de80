package predict

import (
	"errors"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/objname"
)

// ignoredOptions are options of kubectl that change nothing that is simulated.
var ignoredOptions = []string{"--wait", "--wait=true", "--wait=false", "--ignore-daemonsets", "--delete-emptydir-data", "--type=merge"}

// arguments converts the arguments of a step from the forms of kubectl, such as pvc NAME -n NAMESPACE, to those of the usage. It names
// objects with their namespace.
func arguments(namespace, verb string, args []string) ([]string, error) {
	if !slices.Contains([]string{"delete", "patch", "apply", "drain"}, verb) {
		return args, nil
	}
	var rest, options []string
	var last string // the patch, after -p
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		takesValue := name == "-n" || name == "--namespace" || verb == "patch" && (name == "-p" || name == "--patch") ||
			verb == "apply" && (name == "-f" || name == "--filename")
		if takesValue && !hasValue {
			if i++; i == len(args) {
				return nil, errors.New("missing value of " + name)
			}
			value = args[i]
		}
		switch {
		case !takesValue && !strings.HasPrefix(name, "-"):
			rest = append(rest, args[i])
		case name == "-n" || name == "--namespace":
			namespace = value
		case name == "-p" || name == "--patch":
			last = value
		case takesValue:
			rest = append(rest, value)
		case slices.Contains(ignoredOptions, args[i]), name == "--timeout" && hasValue, verb == "drain" && name == "--force":
		default:
			options = append(options, args[i])
		}
	}
	switch verb {
	case "apply":
		if namespace != "default" {
			return nil, errors.New("-n is not supported; write the namespace in the manifest")
		}
	case "drain":
	default:
		if last == "" && verb == "patch" && len(rest) > 1 {
			last, rest = rest[len(rest)-1], rest[:len(rest)-1]
		}
		var err error
		if rest, err = names(namespace, rest); err != nil {
			return nil, err
		}
		if last != "" {
			rest = append(rest, last)
		}
	}
	return append(options, rest...), nil
}

// names returns the full names of the objects of KIND NAME... or KIND/NAME...
func names(namespace string, args []string) ([]string, error) {
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		kind := args[0]
		args = slices.Clone(args[1:])
		for i, name := range args {
			args[i] = kind + "/" + name
		}
	}
	full := make([]string, len(args))
	for i, arg := range args {
		ref, err := objname.ParseIn(namespace, arg)
		if err != nil {
			return nil, err
		}
		full[i] = objname.Of(ref)
	}
	return full, nil
}
