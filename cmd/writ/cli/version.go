package cli

import (
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker in releases and empty otherwise.
var version, commit string

// BuildInfo is the information that `writ version` prints.
type BuildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	OPA      string `json:"opa"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version returns the version of the release, or else the module version that
// Go recorded.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// ReadBuildInfo returns the build information of the running program.
func ReadBuildInfo() BuildInfo {
	b := BuildInfo{Version: Version(), Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
