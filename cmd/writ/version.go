package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/translator/diag"
)

// version and commit are set by the linker in releases and empty otherwise.
var version, commit string

// buildInfo is the information that `writ version` prints.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	OPA      string `json:"opa"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// programVersion returns the version of the release, or else the module version that
// Go recorded.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: programVersion(), Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/open-policy-agent/opa" {
			b.OPA = m.Version
		}
	}
	return b
}

func newVersion(s streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version [-o text|json]",
		Short:   "Print the versions of writ, OPA and Go",
		Example: "  writ version\n  writ version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuildInfo()
			if format == "json" {
				return diag.WriteIndented(s.out, b)
			}
			_, err := fmt.Fprintf(s.out, "writ %s\ncommit %s\nopa %s\n%s %s\n", b.Version, cmp.Or(b.Commit, "unknown"), b.OPA, b.Go, b.Platform)
			return err
		},
	}
	formatFlag(cmd, &format, "text", "json")
	return cmd
}
