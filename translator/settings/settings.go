// Package settings reads the settings of a policy directory: what ".writ.yaml" at its top
// states about its documents. Flags of commands have the same keys. The package knows keys
// and values, and not what they do.
//
// # Design
//
// Settings are a map and not a struct: a flag that is set to its default replaces a value
// of the file, so a setting has three states, and one loop merges, compares and prints all
// of them.
package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// Path is the path of the file of settings in a policy directory.
const Path = ".writ.yaml"

// Key is the name of a setting, in the file and as a flag.
type Key string

// The settings.
const (
	// StrictKinds makes documents of other kinds errors.
	StrictKinds Key = "strict-kinds"
	// StrictRoutes makes it an error that routes of two namespaces match the same requests.
	StrictRoutes Key = "strict-routes"
	// ForbidUnset makes it an error that a gateway policy unsets rules of higher policies.
	ForbidUnset Key = "forbid-unset"
	// DefaultNamespace is the namespace of documents that have none.
	DefaultNamespace Key = "default-namespace"
	// BootstrapRoles adds the bootstrap documents of families, one of BootstrapValues.
	BootstrapRoles Key = "bootstrap-roles"
	// ClusterExport accepts references that a cluster may have and ignores.
	ClusterExport Key = "cluster-export"
	// MasterNamespace is the Origin master namespace.
	MasterNamespace Key = "master-namespace"
	// ImpliedGroups are the groups that are added to the user of a request.
	ImpliedGroups Key = "implied-groups"
	// SessionGroupPrefixes are put before the group of a session, separated by commas; the
	// user has each result as well.
	SessionGroupPrefixes Key = "session-group-prefixes"
)

// Values of BootstrapRoles: the roles and bindings of Kubernetes, the stock roles of Origin,
// and both; and of ImpliedGroups.
const (
	Kubernetes = "kubernetes"
	origin     = "origin"
	both       = Kubernetes + "," + origin
	// NoGroups is the value of ImpliedGroups that adds none; Kubernetes adds those of its API
	// server.
	NoGroups = "none"
)

// BootstrapValues returns the values of BootstrapRoles.
func BootstrapValues() []string { return []string{Kubernetes, origin, both} }

// List returns the entries of a value of BootstrapRoles or SessionGroupPrefixes, which are
// separated by commas.
func List(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

var (
	switches = []Key{StrictKinds, StrictRoutes, ForbidUnset, ClusterExport}
	texts    = []Key{DefaultNamespace, BootstrapRoles, MasterNamespace, ImpliedGroups}
	lists    = []Key{SessionGroupPrefixes}
)

// Keys returns all settings.
func Keys() []Key { return slices.Concat(switches, texts, lists) }

// Value is the value of a setting; that of a switch is "true" or "false".
type Value struct {
	Text string
	// At is the position of the value in a file; zero for a flag.
	At diag.Position
}

// Settings are the settings that are set. Nil has none. They must not be modified once
// they are shared.
type Settings map[Key]Value

// Is reports whether a switch is on.
func (s Settings) Is(key Key) bool { return s[key].Text == "true" }

// Text returns the value of a setting, "" if it is not set.
func (s Settings) Text(key Key) string { return s[key].Text }

// With returns the settings, replaced by those that over sets.
func (s Settings) With(over Settings) Settings {
	if len(over) == 0 {
		return s
	}
	all := maps.Clone(s)
	if all == nil {
		all = make(Settings, len(over))
	}
	maps.Copy(all, over)
	return all
}

// Replaced returns the keys whose values over replaces by other ones, sorted.
func (s Settings) Replaced(over Settings) []Key {
	var keys []Key
	for key, value := range over {
		if was, set := s[key]; set && was.Text != value.Text {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// String returns the settings in one form, for comparisons.
func (s Settings) String() string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&out, "%s=%q\n", key, s[key].Text)
	}
	return out.String()
}

// Check returns an error for a value that the setting does not have.
func Check(key Key, text string) error {
	var problems []string
	switch key {
	case StrictKinds, StrictRoutes, ForbidUnset, ClusterExport:
		if text != "true" && text != "false" {
			problems = []string{"must be true or false"}
		}
	case DefaultNamespace:
		problems = content.IsDNS1123Label(text)
	case MasterNamespace:
		problems = content.IsPathSegmentName(text)
	case BootstrapRoles:
		if !slices.Contains(BootstrapValues(), text) {
			problems = []string{`must be "kubernetes", "origin" or "kubernetes,origin"`}
		}
	case SessionGroupPrefixes:
		// Every text is a list of prefixes.
	case ImpliedGroups:
		if text != Kubernetes && text != NoGroups {
			problems = []string{`must be "kubernetes" or "none"`}
		}
	}
	if text == "" && (key == DefaultNamespace || key == BootstrapRoles || key == ImpliedGroups) {
		return nil // as if it were not set
	}
	if text == "" && key == MasterNamespace {
		problems = []string{"must not be empty"}
	}
	if len(problems) == 0 {
		return nil
	}
	problem, _, _ := strings.Cut(problems[0], " (e.g. '")
	return fmt.Errorf("%s: %s", key, problem)
}
