package translator

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// state is what the settings of a snapshot come to.
type state struct {
	origins  []settings.Settings // of each source
	decoding []syntax.Options    // of each source
	// The settings that hold for all sources together.
	master    string
	bootstrap []string // families
	implied   string
	prefixes  string // of the groups of sessions
	list      diag.List
}

// skipped is a document of another kind, with its source.
type skipped struct {
	syntax.Skipped
	origin int
}

func skippedOf(list []skipped) []syntax.Skipped {
	return elements.Map(list, func(s skipped) syntax.Skipped { return s.Skipped })
}

// state combines the settings of the sources with the options, which take precedence. An
// object of a cluster may refer to what the cluster ignores.
func (t *Translator) state(snapshot source.Snapshot) state {
	origins := snapshot.Origins
	if len(origins) == 0 {
		origins = make([]source.Origin, 1)
	}
	var s state
	var master, bootstrap, implied, prefixes settings.Value
	groups := settings.NoGroups // of sources that do not state them
	if slices.ContainsFunc(origins, func(o source.Origin) bool { return o.Cluster }) {
		groups = settings.Kubernetes // as the API server adds them
	}
	for i, origin := range origins {
		own := origin.Settings
		if origin.Cluster {
			own = settings.Settings{settings.ClusterExport: {Text: "true"}}.With(own)
		}
		own = own.With(t.options.Settings)
		s.origins = append(s.origins, own)
		s.decoding = append(s.decoding, syntax.Options{
			DefaultNamespace: own.Text(settings.DefaultNamespace), ClusterExport: own.Is(settings.ClusterExport),
			StrictRoutes: own.Is(settings.StrictRoutes), ForbidUnset: own.Is(settings.ForbidUnset), Shared: &t.shared, Rego: &t.rego,
		})
		s.addCommon(&bootstrap, own, settings.BootstrapRoles, "", i == 0)
		s.addCommon(&implied, own, settings.ImpliedGroups, groups, i == 0)
		s.addCommon(&prefixes, own, settings.SessionGroupPrefixes, "", i == 0)
		s.addCommon(&master, own, settings.MasterNamespace, directory.MasterOr(""), i == 0)
	}
	s.master, s.prefixes, s.bootstrap = master.Text, prefixes.Text, settings.List(bootstrap.Text)
	if implied.Text == settings.Kubernetes {
		s.implied = implied.Text
	}
	return s
}

// addCommon adds what one source states about a setting that holds for the documents of all
// sources, and reports another value than the one so far. A source that states none has the
// default: the author of one source must not decide for the documents of the others.
func (s *state) addCommon(common *settings.Value, own settings.Settings, key settings.Key, byDefault string, isFirst bool) {
	value, set := own[key]
	if set = set && value.Text != ""; !set {
		value.Text = byDefault
	}
	if !isFirst && common.Text != value.Text {
		s.list.Add(differentSettings(key, *common, value))
	}
	if isFirst || set {
		*common = value
	}
}

// differentSettings reports that two sources have different values of a setting.
func differentSettings(key settings.Key, first, second settings.Value) diag.Diagnostic {
	if second.At.File == "" {
		first, second = second, first
	}
	d := diag.Diagnostic{
		Position: second.At, Code: diag.BadValue,
		Message: fmt.Sprintf("%s %s: another source has %s", key, syntax.Quote(second.Text), syntax.Quote(first.Text)),
		Hint:    fmt.Sprintf("write the same value in the .writ.yaml of every source, or use --%s", key),
	}
	switch {
	case first.At.File != "":
		d.Related = []diag.Related{{Position: first.At, Message: "the other one is here"}}
	case first.Text == "":
		d.Message = fmt.Sprintf("%s %s: another source states none", key, syntax.Quote(second.Text))
	default:
		d.Message = fmt.Sprintf("%s %s: another source does not state it and has %s", key, syntax.Quote(second.Text), syntax.Quote(first.Text))
	}
	return d
}

// strictKinds returns an error for each document of another kind in sources that hold
// policy alone.
func (s state) strictKinds(list []skipped) (out diag.List) {
	for _, k := range list {
		if !s.origins[k.origin].Is(settings.StrictKinds) {
			continue
		}
		message := "the document has no kind that writ reads"
		if k.Kind != "" || k.APIVersion != "" {
			message = fmt.Sprintf("kind %s of apiVersion %s is not policy", syntax.Quote(k.Kind), syntax.Quote(k.APIVersion))
		}
		out.Add(diag.Diagnostic{
			Position: k.At, Length: k.Length, Code: diag.UnknownKind, Message: message,
			Hint: "remove it, list the file in .writignore, or leave out --strict-kinds",
		})
	}
	return out
}

// Overridden returns the settings of the sources that the options replace by other values,
// in the order of their positions.
func (t *Translator) Overridden(snapshot source.Snapshot) []Overridden {
	var out []Overridden
	for _, origin := range snapshot.Origins {
		for _, key := range origin.Settings.Replaced(t.options.Settings) {
			out = append(out, Overridden{Key: key, Value: origin.Settings[key]})
		}
	}
	slices.SortStableFunc(out, func(a, b Overridden) int { return a.Value.At.Compare(b.Value.At) })
	return out
}

// Overridden is a setting of a source that the options replace.
type Overridden struct {
	Key   settings.Key
	Value settings.Value
}

// Options say how documents are read. The zero value is what commands use
// without flags, save for Tests.
type Options struct {
	// Settings take precedence over those of the sources.
	Settings settings.Settings
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// Files states that the snapshot is a part of a directory: what other files may hold is
	// not reported as absent. The result of a part must not be used.
	Files bool
	// Tests emits generated tests along with the policy.
	Tests bool
	// Reads, unless nil, is called with the bytes of a snapshot before its files are decoded.
	Reads func(bytes int)
}
