package tables

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"path"
	"slices"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Table is the result of lowering the documents of one family. It holds data only. All
// methods are valid for a pointer to the zero value.
type Table interface {
	// Key is the name of the table below data.compiled, empty for a table that is
	// not part of the data because the family's files hold all of it. A key must
	// not be the name of a package below data.compiled.
	Key() string
	// IsEmpty reports whether the table holds nothing that decides. An empty table
	// is not part of the data.
	IsEmpty() bool
	// Features states by name what the table holds. The names do not depend on the
	// content.
	Features() Features
	// Entrypoint is the rule that answers the family's point, as a path of OPA's
	// Data API, or empty. The last but one part of the path names the point.
	Entrypoint() string
	// JSON returns the table's JSON. The error is that of a value JSON cannot hold.
	JSON() (Text, error)
}

// List holds at most one table of each family, in the order of the families.
type List []Table

// Of returns the table of type T, or nil if the list has none.
func Of[T Table](list List) T {
	for _, table := range list {
		if typed, ok := table.(T); ok {
			return typed
		}
	}
	var none T
	return none
}

// HashOf returns the SHA-256 of the JSON of a row or of rows, as bytes: those with one hash
// decide alike. It panics for a value that JSON cannot hold, which no row is.
func HashOf(rows any) string {
	sum := sha256.Sum256(jsontext.Marshal(rows))
	return string(sum[:])
}

// Point returns the name of the point that the rules of a table answer, empty if they
// answer none: the folder of its entrypoint.
func Point(t Table) string {
	if t.Entrypoint() == "" {
		return ""
	}
	return path.Base(path.Dir(t.Entrypoint()))
}

// Features returns what the tables hold, never nil.
func (l List) Features() Features {
	all := make(Features)
	for _, table := range l {
		maps.Copy(all, table.Features())
	}
	return all
}

// Entrypoints returns the rules that answer the points, never nil.
func (l List) Entrypoints() []string {
	paths := make([]string, 0, len(l))
	for _, table := range l {
		if entrypoint := table.Entrypoint(); entrypoint != "" {
			paths = append(paths, entrypoint)
		}
	}
	return paths
}

// Data returns the tables that are part of the data of a bundle, nil if none is.
func (l List) Data() List {
	var data List
	for _, table := range l {
		if table.Key() != "" && !table.IsEmpty() {
			data = append(data, table)
		}
	}
	return data
}

// wholeJSON is JSON for small tables: in one part, with sorted keys and text as it is written.
func wholeJSON(table any) (Text, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(table); err != nil {
		return Text{}, err
	}
	return TextOf(bytes.TrimSpace(out.Bytes())), nil
}

// Features states which parts a bundle has, so that an engine can omit evaluations that
// cannot change a decision. A feature that is stated without its part costs time and
// changes no decision; a part must always be stated. Features are nil for a bundle that
// states none.
type Features map[string]bool

// FeaturesKey is the key of the features below data.compiled.
const FeaturesKey = "features"

// The names of features.
const (
	// FeatureDenyPolicies is present if there is a DenyPolicy.
	FeatureDenyPolicies = "denyPolicies"
	// FeatureGateway is present if there is a Gateway or a policy that attaches to one.
	FeatureGateway = "gateway"
	// FeatureNamespaceLabels is present if a rule of a DenyPolicy, an exemption from its
	// pod security or an override of an escalation selects namespaces by label.
	FeatureNamespaceLabels = "namespaceLabels"
	// featureSessions is present if there is a BreakglassSession or a DebugSession.
	featureSessions = "sessions"
	// FeatureVisibility is present if there is a MonitorAccessPolicy or a MetricSource.
	FeatureVisibility = "visibility"
)

// Has reports whether a feature may be present: it is, unless its absence is stated.
func (f Features) Has(name string) bool {
	present, stated := f[name]
	return present || !stated
}

func (d *Deny) readsNamespaceLabels() bool {
	return slices.ContainsFunc(d.Owned, func(e Escalation) bool { return e.NamespaceScope.readsLabels() }) ||
		slices.ContainsFunc(d.Policies, func(p DenyPolicy) bool {
			return p.Pod != nil && p.Pod.ExemptNamespaces.readsLabels() ||
				slices.ContainsFunc(p.Rules, func(r DenyRule) bool { return r.Namespaces.readsLabels() }) ||
				slices.ContainsFunc(p.Impersonation, func(r ImpersonationRule) bool { return r.Identity != nil && r.Identity.Namespaces.readsLabels() })
		})
}

func (f *NamespaceFilter) readsLabels() bool { return f != nil && len(f.Terms) > 0 }

// Revision is what the documents of one revision were lowered to, for questions that no
// decision answers. The zero value is that of no revision. It must not be modified.
type Revision struct {
	Tables   List
	Features Features // that the bundle states
	// Modules are the sources of extensions, by name.
	Modules map[string]string
	// Verbs are those that documents name, sorted, and those of Kubernetes if a rule names
	// all.
	Verbs []string
}

// Access returns the roles and bindings, empty without documents of that family.
func (r *Revision) Access() *Access { return OrEmpty(Of[*Access](r.Tables)) }

// Gateway returns the gateways, empty without documents of that family.
func (r *Revision) Gateway() *Gateway { return OrEmpty(Of[*Gateway](r.Tables)) }

// Inventory returns the entities that documents list, empty without such documents.
func (r *Revision) Inventory() *Inventory { return OrEmpty(Of[*Inventory](r.Tables)) }

// OrEmpty returns a table, and an empty one for nil.
func OrEmpty[T any](table *T) *T {
	return cmp.Or(table, new(T))
}
