package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/internal/elements"
)

// The names by which kubectl finds a plugin, and by which it asks for completions.
const (
	pluginName     = "kubectl-writ"
	completionName = "kubectl_complete-writ"
)

// calledAs returns the arguments of a call by the name of the executable, and whether it is
// a call of the plugin. A link with the name for completions completes the arguments.
func calledAs(executable string, args []string) (_ []string, isPlugin bool) {
	switch strings.TrimSuffix(filepath.Base(executable), ".exe") {
	case pluginName:
		return args, true
	case completionName:
		return append([]string{cobra.ShellCompRequestCmd}, args...), true
	}
	return args, false
}

// asPlugin names the commands in usage lines, help and examples as users of kubectl call
// them.
func asPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl writ"}
	names := elements.Map(root.Commands(), (*cobra.Command).Name)
	call := regexp.MustCompile(`\bwrit (` + strings.Join(names, "|") + `)\b`)
	for _, cmd := range append(root.Commands(), root) {
		cmd.Example = call.ReplaceAllString(cmd.Example, "kubectl writ $1")
		cmd.Long = call.ReplaceAllString(cmd.Long, "kubectl writ $1")
	}
}
