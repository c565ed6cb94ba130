package translator

import (
	"fmt"
	"slices"

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
	master       string
	strictRoutes bool
	bootstrap    bool
	implied      string
	list         diag.List
}

// skipped is a document of another kind, with its source.
type skipped struct {
	syntax.Skipped
	origin int
}

func skippedOf(list []skipped) []syntax.Skipped {
	out := make([]syntax.Skipped, len(list))
	for i, s := range list {
		out[i] = s.Skipped
	}
	return out
}

// state combines the settings of the sources with the options, which take precedence. An
// object of a cluster may refer to what the cluster ignores.
func (t *Translator) state(snapshot source.Snapshot) state {
	origins := snapshot.Origins
	if len(origins) == 0 {
		origins = make([]source.Origin, 1)
	}
	var s state
	var master settings.Value
	var masters int // origins so far
	var implied settings.Value
	for _, origin := range origins {
		own := origin.Settings
		if origin.Cluster {
			own = settings.Settings{settings.ClusterExport: {Text: "true"}}.With(own)
		}
		own = own.With(t.options.Settings)
		s.origins = append(s.origins, own)
		s.decoding = append(s.decoding, syntax.Options{
			DefaultNamespace: own.Text(settings.DefaultNamespace), ClusterExport: own.Is(settings.ClusterExport),
			Rego: &t.rego,
		})
		s.strictRoutes = s.strictRoutes || own.Is(settings.StrictRoutes)
		s.bootstrap = s.bootstrap || own.Text(settings.BootstrapRoles) == settings.Kubernetes
		s.addImplied(&implied, own[settings.ImpliedGroups], origin.Cluster)
		value, set := own[settings.MasterNamespace]
		if !set {
			value.Text = directory.MasterOr("")
		}
		if masters++; masters > 1 && master.Text != value.Text {
			s.list.Add(differentMasters(master, value))
		}
		if masters == 1 || set {
			master = value
		}
	}
	s.master = master.Text
	if implied.Text == settings.NoGroups {
		s.implied = ""
	}
	return s
}

// addImplied adds what one source states about the groups of users. One that states
// nothing agrees with all others; a cluster then implies the groups that its API server adds.
func (s *state) addImplied(stated *settings.Value, own settings.Value, isCluster bool) {
	switch {
	case own.Text == "":
		if isCluster {
			s.implied = settings.Kubernetes
		}
		return
	case stated.Text != "" && stated.Text != own.Text:
		s.list.Add(diag.Diagnostic{
			Position: own.At, Code: diag.BadValue,
			Message: fmt.Sprintf("implied-groups %s: another source has %s", syntax.Quote(own.Text), syntax.Quote(stated.Text)),
			Hint:    "write the same value, or use --implied-groups",
			Related: []diag.Related{{Position: stated.At, Message: "the other one is here"}},
		})
		return
	}
	*stated = own
	if own.Text == settings.Kubernetes {
		s.implied = own.Text
	}
}

// differentMasters reports that two sources have different master namespaces: the roles of
// one would reach the namespaces of the other. A source that states none has the default.
func differentMasters(first, second settings.Value) diag.Diagnostic {
	if second.At.File == "" {
		first, second = second, first
	}
	if first.At.File == "" {
		return diag.Diagnostic{
			Position: second.At, Code: diag.BadValue,
			Message: fmt.Sprintf("master-namespace %s: another source states none and has %s", syntax.Quote(second.Text), syntax.Quote(first.Text)),
			Hint:    "write the same namespace in the .writ.yaml of every source, or use --master-namespace",
		}
	}
	return diag.Diagnostic{
		Position: second.At, Code: diag.BadValue,
		Message: fmt.Sprintf("master-namespace %s: another source has %s", syntax.Quote(second.Text), syntax.Quote(first.Text)),
		Hint:    "write the same namespace, or use --master-namespace",
		Related: []diag.Related{{Position: first.At, Message: "the other one is here"}},
	}
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
}
