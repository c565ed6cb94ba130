package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// The wanted answers and the oracle are both written from the meaning of the
// documents, by hand. Where they differ one of them misread it.
func TestOracleAgreesOnVisibility(t *testing.T) {
	suites, err := filepath.Glob("visibility/*/cases.jsonl")
	if err != nil || len(suites) == 0 {
		t.Fatalf("%d suites, %v", len(suites), err)
	}
	for _, path := range suites {
		views := &visibility.World{}
		readDocuments(t, filepath.Join(filepath.Dir(path), "policies"), func(d node) { loadView(views, d) })
		for _, c := range lines[conformanceCase](t, path) {
			t.Run(filepath.Base(filepath.Dir(path))+"/"+c.Name, func(t *testing.T) {
				if want := c.Want.(map[string]any); want["error"] != nil {
					t.Skip("the oracle takes requests, not JSON")
				}
				compareView(t, views, c)
			})
		}
	}
}

func compareView(t *testing.T, views *visibility.World, c conformanceCase) {
	r, err := visibility.ReadRequest(c.Input)
	if err != nil {
		t.Fatal(err)
	}
	if r.Now = time.Now(); c.Now != "" {
		if r.Now, err = time.Parse(time.RFC3339Nano, c.Now); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := json.Marshal(views.Decide(r))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	if why := differs(got, withoutSources(c.Want), ""); why != "" {
		t.Errorf("%s\nrequest: %s\noracle: %s", why, c.Input, answer)
	}
}

// What the oracle's generator writes must be what its worlds mean: read back,
// the documents decide alike.
func TestGeneratedVisibilityMeansItsWorld(t *testing.T) {
	compared := 0
	for seed := range uint64(100) {
		files, views := visibility.Generate(seed)
		folder := t.TempDir()
		for path, content := range files {
			if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, path), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		read := &visibility.World{}
		readDocuments(t, folder, func(d node) { loadView(read, d) })
		for _, r := range views.Requests(50) {
			got, want := read.Decide(r), views.Decide(r)
			for i := range want.Matched {
				want.Matched[i].Source = "" // it reads no places
			}
			if text(got) != text(want) {
				t.Fatalf("seed %d: %s: got %s, want %s", seed, r.JSON(), text(got), text(want))
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nothing compared")
	}
}

func loadView(w *visibility.World, d node) {
	metadata, spec := d.object("metadata"), d.object("spec")
	namespace, name := metadata.text("namespace", ""), metadata.text("name", "")
	switch {
	case d.text("kind", "") == "List":
		for _, item := range d.list("items") {
			loadView(w, item.(map[string]any))
		}
	case d.text("apiVersion", "") != visibility.Version:
	case d.text("kind", "") == "MetricSource":
		w.Sources = append(w.Sources, metricSource(spec, namespace, name))
	default:
		w.Policies = append(w.Policies, viewPolicy(spec, namespace, name))
	}
}

func viewPolicy(spec node, namespace, name string) *visibility.Policy {
	identity, access, clusters := spec.object("identity"), spec.object("access"), spec.object("scope").object("clusters")
	validity, subjects := spec.object("lifecycle").object("validity"), identity.object("subjects")
	p := &visibility.Policy{
		Namespace: namespace, Name: name, Users: subjects.texts("users"), Groups: subjects.texts("groups"),
		Priority: identity.integer("priority"), Deny: access.text("effect", "") == "Deny", Disabled: access.get("enabled") == false,
		NotBefore: validity.text("notBefore", ""), NotAfter: validity.text("notAfter", ""), Default: clusters.text("default", ""),
	}
	for _, item := range subjects.list("serviceAccounts") {
		account := node(item.(map[string]any))
		p.Accounts = append(p.Accounts, visibility.Account{Namespace: account.text("namespace", ""), Name: account.text("name", "")})
	}
	for _, item := range clusters.list("rules") {
		rule := node(item.(map[string]any))
		selector, permissions := rule.object("selector"), rule.object("permissions")
		view, metrics := permissions.get("view"), permissions.get("viewMetrics")
		made := &visibility.Rule{
			Names: selector.texts("matchNames"), Pattern: selector.text("matchPattern", ""), Labels: selector.pairs("matchLabels"),
			View: view == true || view == nil && metrics == nil, ViewMetrics: metrics == true,
		}
		for _, item := range rule.list("resources") {
			entry := node(item.(map[string]any))
			made.Entries = append(made.Entries, viewEntry(entry, entry.text("type", "")))
		}
		for section, value := range rule.object("resources") {
			if section != "custom" {
				made.Entries = append(made.Entries, olderEntry(value.(map[string]any), section))
				continue
			}
			for name, entry := range value.(map[string]any) {
				made.Entries = append(made.Entries, viewEntry(entry.(map[string]any), name))
			}
		}
		p.Rules = append(p.Rules, made)
	}
	return p
}

func viewEntry(entry node, kind string) *visibility.Entry {
	filters, aggregations := entry.object("filters"), entry.object("aggregations")
	e := &visibility.Entry{
		Type: kind, Visibility: entry.text("visibility", ""), Labels: filters.pairs("labels"), Fields: map[string]visibility.Criteria{},
		Names: filters.object("names").criteria("allowed", "denied"), Namespaces: filters.object("namespaces").criteria("allowed", "denied"),
		Include: aggregations.texts("include"), Exclude: aggregations.texts("exclude"),
	}
	for field, criteria := range filters.object("fields") {
		e.Fields[field] = node(criteria.(map[string]any)).criteria("allowed", "denied")
	}
	return e
}

// olderEntry reads a section of the older form that is of a standard type.
func olderEntry(section node, kind string) *visibility.Entry {
	filters := section.object("filters")
	e := &visibility.Entry{Type: kind, Visibility: section.text("visibility", "")}
	switch kind {
	case "nodes":
		e.Labels, e.HideByLabels = filters.pairs("labelSelector"), filters.pairs("hideByLabels")
		e.HideMasters = filters.get("hideMasters") == true
	case "namespaces":
		e.Names = filters.criteria("allowed", "denied")
	default:
		e.Names = filters.criteria("allowedNames", "deniedNames")
		e.Namespaces = filters.criteria("allowedNamespaces", "deniedNamespaces")
	}
	return e
}

func metricSource(spec node, namespace, name string) *visibility.MetricSource {
	rbac := spec.object("rbac")
	s := &visibility.MetricSource{
		Namespace: namespace, Name: name, Type: rbac.text("resourceTypeName", ""), Filterable: rbac.texts("filterableFields"),
		NamespaceField: rbac.object("identifiers").text("namespace", ""), NameField: rbac.object("identifiers").text("name", ""),
		KeepTotals: rbac.get("filterAggregations") == false,
	}
	for _, item := range spec.list("fields") {
		s.Fields = append(s.Fields, node(item.(map[string]any)).text("name", ""))
	}
	for _, item := range spec.list("computed") {
		s.Computed = append(s.Computed, node(item.(map[string]any)).text("name", ""))
	}
	for _, item := range spec.list("aggregations") {
		a := node(item.(map[string]any))
		made := &visibility.Aggregation{
			Name: a.text("name", ""), Function: a.text("function", ""), Field: a.text("field", ""), GroupBy: a.text("groupBy", ""),
		}
		if percentile := a.integer("percentile"); percentile != nil {
			made.Percentile = *percentile
		}
		if f := a.object("filter"); f != nil {
			made.Filter = &visibility.AggregationFilter{Field: f.text("field", ""), Operator: f.text("operator", ""), Value: f.text("value", "")}
		}
		s.Aggregations = append(s.Aggregations, made)
	}
	return s
}

func (n node) criteria(allowed, denied string) visibility.Criteria {
	return visibility.Criteria{Allowed: n.texts(allowed), Denied: n.texts(denied)}
}

// pairs is nil for a missing object.
func (n node) pairs(key string) map[string]string {
	if n.get(key) == nil {
		return nil
	}
	pairs := map[string]string{}
	for name, value := range n.object(key) {
		pairs[name] = value.(string)
	}
	return pairs
}
