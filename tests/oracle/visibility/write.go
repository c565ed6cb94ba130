package visibility

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// viewWriter writes documents. It draws among all that means the same.
type writer struct {
	random.Source
	// older reports whether a rule that can be written in both forms is in the older.
	older func() bool
}

// Write lays the documents out as files and notes where each rule stands.
func (w *World) Write(r random.Source) map[string]string {
	g := &writer{r, func() bool { return r.Once(2) }}
	documents := g.documents(w)
	g.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	files := map[string]string{}
	for n := 0; len(documents) > 0; n++ {
		count := min(len(documents), 1+g.IntN(8))
		path, text := yaml.LayOut(r, n, documents[:count])
		files[path] = text
		documents = documents[count:]
	}
	return files
}

// unchanging is a source of randomness that has none: nothing optional happens.
type unchanging struct{}

func (unchanging) Uint64() uint64 { return math.MaxUint64 }

// WritePlain writes each document into a file of its own, on one line and
// without anything that may be left out, in one of the forms where both can say
// what a rule says.
func (w *World) WritePlain(older bool) map[string]string {
	g := &writer{random.Source{Rand: rand.New(unchanging{})}, func() bool { return older }}
	files := map[string]string{}
	for n, document := range g.documents(w) {
		p := &yaml.Printer{Source: g.Source, File: fmt.Sprintf("f%d.json", n)}
		p.JSON(document, 0, false)
		files[p.File] = p.Text.String()
	}
	return files
}

func (g *writer) documents(w *World) []yaml.Object {
	var documents []yaml.Object
	for _, p := range w.Policies {
		documents = append(documents, g.policy(p))
	}
	for _, s := range w.Sources {
		documents = append(documents, g.source(s))
	}
	return documents
}

func (g *writer) header(kind, namespace, name string, spec yaml.Object) yaml.Object {
	metadata := yaml.Object{{"name", name}}
	if namespace != "" || g.Once(4) {
		metadata = append(metadata, yaml.Member{"namespace", namespace})
	}
	if g.Once(4) {
		metadata = append(metadata, yaml.Member{"labels", yaml.Object{{"a", "b"}}}, yaml.Member{"generation", 3})
	}
	g.shuffle(spec)
	document := yaml.Object{{"apiVersion", Version}, {"kind", kind}, {"metadata", metadata}, {"spec", spec}}
	if g.Once(6) {
		document = append(document, yaml.Member{"status", yaml.Object{{"state", "Active"}, {"affectedUsers", 1}}})
	}
	return document
}

func (g *writer) shuffle(body yaml.Object) yaml.Object {
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

func (g *writer) policy(p *Policy) yaml.Object {
	var subjects yaml.Object
	subjects = g.list(subjects, "users", p.Users)
	subjects = g.list(subjects, "groups", p.Groups)
	var accounts yaml.List
	for _, a := range p.Accounts {
		account := yaml.Object{{"name", a.Name}}
		if a.Namespace != "" {
			account = append(account, yaml.Member{"namespace", a.Namespace})
		}
		accounts = append(accounts, account)
	}
	if accounts != nil {
		subjects = append(subjects, yaml.Member{"serviceAccounts", accounts})
	}
	identity := yaml.Object{{"subjects", g.shuffle(subjects)}}
	if p.Priority != nil {
		identity = append(identity, yaml.Member{"priority", *p.Priority})
	}
	access := yaml.Object{{"effect", map[bool]string{false: "Allow", true: "Deny"}[p.Deny]}}
	if p.Disabled || g.Once(4) {
		access = append(access, yaml.Member{"enabled", !p.Disabled})
	}
	var clusters yaml.Object
	if p.Default != "" {
		clusters = append(clusters, yaml.Member{"default", yaml.Mark(p.Default, &p.DefaultSource)})
	}
	rules := yaml.List{}
	for _, rule := range p.Rules {
		rules = append(rules, yaml.Mark(g.rule(rule), &rule.Source))
	}
	if len(rules) > 0 || g.Once(2) {
		clusters = append(clusters, yaml.Member{"rules", rules})
	}
	spec := yaml.Object{{"identity", identity}, {"access", access}, {"scope", yaml.Object{{"clusters", g.shuffle(clusters)}}}}
	if p.NotBefore != "" || p.NotAfter != "" || g.Once(8) {
		validity := g.time(nil, "notBefore", p.NotBefore)
		spec = append(spec, yaml.Member{"lifecycle", yaml.Object{{"validity", g.time(validity, "notAfter", p.NotAfter)}}})
	}
	if g.Once(8) {
		spec = append(spec, yaml.Member{"operations", yaml.Object{{"audit", yaml.Object{{"logAccess", true}}}}})
	}
	return g.header("MonitorAccessPolicy", p.Namespace, p.Name, spec)
}

// time adds a time; an empty one in one of the ways that documents have.
func (g *writer) time(body yaml.Object, key, text string) yaml.Object {
	switch {
	case text != "" && g.Once(2):
		return append(body, yaml.Member{key, yaml.Bare(text)})
	case text != "" || g.Once(6):
		return append(body, yaml.Member{key, text})
	}
	return body
}

// list adds a list; an empty one in one of the ways that documents have.
func (g *writer) list(body yaml.Object, key string, values []string) yaml.Object {
	if len(values) > 0 || g.Once(8) {
		return append(body, yaml.Member{key, yaml.Texts(values)})
	}
	return body
}

// pairs adds a map of texts; an empty one in one of the ways that documents have.
func (g *writer) pairs(body yaml.Object, key string, values map[string]string) yaml.Object {
	if len(values) > 0 || g.Once(8) {
		return append(body, yaml.Member{key, pairsOf(values)})
	}
	return body
}

func pairsOf(values map[string]string) yaml.Object {
	pairs := yaml.Object{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, yaml.Member{key, values[key]})
	}
	return pairs
}

func (g *writer) source(s *MetricSource) yaml.Object {
	from := yaml.Object{{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}}
	if g.Once(3) {
		from = append(from, yaml.Member{"scope", "Namespaced"}, yaml.Member{"namespaces", yaml.Object{{"include", yaml.List{"app-*"}}, {"exclude", yaml.List{"kube-*"}}}},
			yaml.Member{"labelSelector", yaml.Object{{"matchLabels", yaml.Object{{"a", "b"}}}}})
	}
	fields, computed, aggregations := yaml.List{}, yaml.List{}, yaml.List{}
	for _, name := range s.Fields {
		field := yaml.Object{{"name", name}, {"path", ".status." + name}}
		if g.Once(3) {
			field = append(field, yaml.Member{"type", g.One([]string{"string", "integer", "float", "boolean", "quantity", "timestamp", "arrayLength"})})
		}
		fields = append(fields, field)
	}
	for _, name := range s.Computed {
		computed = append(computed, yaml.Object{{"name", name}, {"expression", "a / b"}})
	}
	for _, a := range s.Aggregations {
		aggregations = append(aggregations, g.shuffle(aggregation(a)))
	}
	spec := yaml.Object{{"source", from}, {"fields", fields}}
	if len(computed) > 0 {
		spec = append(spec, yaml.Member{"computed", computed})
	}
	if len(aggregations) > 0 || g.Once(4) {
		spec = append(spec, yaml.Member{"aggregations", aggregations})
	}
	if g.Once(4) {
		spec = append(spec, yaml.Member{"collection", yaml.Object{{"intervalSeconds", 30}, {"batchSize", 10}}})
	}
	if s.Type != "" {
		spec = append(spec, yaml.Member{"rbac", g.shuffle(g.rbac(s))})
	}
	return g.header("MetricSource", s.Namespace, s.Name, spec)
}

func aggregation(a *Aggregation) yaml.Object {
	body := yaml.Object{{"name", a.Name}, {"function", a.Function}}
	if a.Field != "" {
		body = append(body, yaml.Member{"field", a.Field})
	}
	if a.Function == "percentile" {
		body = append(body, yaml.Member{"percentile", a.Percentile})
	}
	if a.GroupBy != "" {
		body = append(body, yaml.Member{"groupBy", a.GroupBy})
	}
	if f := a.Filter; f != nil {
		body = append(body, yaml.Member{"filter", yaml.Object{{"field", f.Field}, {"operator", f.Operator}, {"value", f.Value}}})
	}
	return body
}

func (g *writer) rbac(s *MetricSource) yaml.Object {
	body := yaml.Object{{"resourceTypeName", s.Type}, {"filterableFields", yaml.Texts(s.Filterable)}}
	var identifiers yaml.Object
	if s.NamespaceField != "" {
		identifiers = append(identifiers, yaml.Member{"namespace", s.NamespaceField})
	}
	if s.NameField != "" {
		identifiers = append(identifiers, yaml.Member{"name", s.NameField})
	}
	if identifiers != nil {
		body = append(body, yaml.Member{"identifiers", identifiers})
	}
	if s.KeepTotals || g.Once(4) {
		body = append(body, yaml.Member{"filterAggregations", !s.KeepTotals})
	}
	return body
}
