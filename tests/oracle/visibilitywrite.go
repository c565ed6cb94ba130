package oracle

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// viewWriter writes documents. It draws among all that means the same.
type viewWriter struct {
	random
	// older says whether a rule that can be written in both forms is in the older.
	older func() bool
}

// Write lays the documents out as files and notes where each rule stands.
func (w *Views) Write(r random) map[string]string {
	g := &viewWriter{r, func() bool { return r.once(2) }}
	documents := g.documents(w)
	g.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	files := map[string]string{}
	layout := &generator{random: r}
	for n := 0; len(documents) > 0; n++ {
		count := min(len(documents), 1+g.IntN(8))
		path, text := layout.file(n, documents[:count])
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
func (w *Views) WritePlain(older bool) map[string]string {
	g := &viewWriter{random{rand.New(unchanging{})}, func() bool { return older }}
	files := map[string]string{}
	for n, document := range g.documents(w) {
		p := &printer{random: g.random, file: fmt.Sprintf("f%d.json", n)}
		p.json(document, 0, false)
		files[p.file] = p.text.String()
	}
	return files
}

func (g *viewWriter) documents(w *Views) []object {
	var documents []object
	for _, p := range w.Policies {
		documents = append(documents, g.policy(p))
	}
	for _, s := range w.Sources {
		documents = append(documents, g.source(s))
	}
	return documents
}

func (g *viewWriter) header(kind, namespace, name string, spec object) object {
	metadata := object{{"name", name}}
	if namespace != "" || g.once(4) {
		metadata = append(metadata, member{"namespace", namespace})
	}
	if g.once(4) {
		metadata = append(metadata, member{"labels", object{{"a", "b"}}}, member{"generation", 3})
	}
	g.shuffle(spec)
	document := object{{"apiVersion", VisibilityVersion}, {"kind", kind}, {"metadata", metadata}, {"spec", spec}}
	if g.once(6) {
		document = append(document, member{"status", object{{"state", "Active"}, {"affectedUsers", 1}}})
	}
	return document
}

func (g *viewWriter) shuffle(body object) object {
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

func (g *viewWriter) policy(p *ViewPolicy) object {
	var subjects object
	subjects = g.list(subjects, "users", p.Users)
	subjects = g.list(subjects, "groups", p.Groups)
	var accounts list
	for _, a := range p.Accounts {
		account := object{{"name", a.Name}}
		if a.Namespace != "" {
			account = append(account, member{"namespace", a.Namespace})
		}
		accounts = append(accounts, account)
	}
	if accounts != nil {
		subjects = append(subjects, member{"serviceAccounts", accounts})
	}
	identity := object{{"subjects", g.shuffle(subjects)}}
	if p.Priority != nil {
		identity = append(identity, member{"priority", *p.Priority})
	}
	access := object{{"effect", map[bool]string{false: "Allow", true: "Deny"}[p.Deny]}}
	if p.Disabled || g.once(4) {
		access = append(access, member{"enabled", !p.Disabled})
	}
	var clusters object
	if p.Default != "" {
		clusters = append(clusters, member{"default", marked{p.Default, &p.DefaultSource}})
	}
	rules := list{}
	for _, rule := range p.Rules {
		rules = append(rules, marked{g.rule(rule), &rule.Source})
	}
	if len(rules) > 0 || g.once(2) {
		clusters = append(clusters, member{"rules", rules})
	}
	spec := object{{"identity", identity}, {"access", access}, {"scope", object{{"clusters", g.shuffle(clusters)}}}}
	if p.NotBefore != "" || p.NotAfter != "" || g.once(8) {
		validity := g.time(nil, "notBefore", p.NotBefore)
		spec = append(spec, member{"lifecycle", object{{"validity", g.time(validity, "notAfter", p.NotAfter)}}})
	}
	if g.once(8) {
		spec = append(spec, member{"operations", object{{"audit", object{{"logAccess", true}}}}})
	}
	return g.header("MonitorAccessPolicy", p.Namespace, p.Name, spec)
}

// time adds a time, or a way to say that there is none.
func (g *viewWriter) time(body object, key, text string) object {
	switch {
	case text != "" && g.once(2):
		return append(body, member{key, bare(text)})
	case text != "" || g.once(6):
		return append(body, member{key, text})
	}
	return body
}

// list adds a list, or a way to say that there is none.
func (g *viewWriter) list(body object, key string, values []string) object {
	if len(values) > 0 || g.once(8) {
		return append(body, member{key, texts(values)})
	}
	return body
}

// pairs adds a map of texts, or a way to say that there is none.
func (g *viewWriter) pairs(body object, key string, values map[string]string) object {
	if len(values) > 0 || g.once(8) {
		return append(body, member{key, pairsOf(values)})
	}
	return body
}

func pairsOf(values map[string]string) object {
	pairs := object{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, member{key, values[key]})
	}
	return pairs
}

func (g *viewWriter) source(s *MetricSource) object {
	from := object{{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}}
	if g.once(3) {
		from = append(from, member{"scope", "Namespaced"}, member{"namespaces", object{{"include", list{"app-*"}}, {"exclude", list{"kube-*"}}}},
			member{"labelSelector", object{{"matchLabels", object{{"a", "b"}}}}})
	}
	fields, computed, aggregations := list{}, list{}, list{}
	for _, name := range s.Fields {
		field := object{{"name", name}, {"path", ".status." + name}}
		if g.once(3) {
			field = append(field, member{"type", g.one([]string{"string", "integer", "float", "boolean", "quantity", "timestamp", "arrayLength"})})
		}
		fields = append(fields, field)
	}
	for _, name := range s.Computed {
		computed = append(computed, object{{"name", name}, {"expression", "a / b"}})
	}
	for _, a := range s.Aggregations {
		aggregations = append(aggregations, g.shuffle(aggregation(a)))
	}
	spec := object{{"source", from}, {"fields", fields}}
	if len(computed) > 0 {
		spec = append(spec, member{"computed", computed})
	}
	if len(aggregations) > 0 || g.once(4) {
		spec = append(spec, member{"aggregations", aggregations})
	}
	if g.once(4) {
		spec = append(spec, member{"collection", object{{"intervalSeconds", 30}, {"batchSize", 10}}})
	}
	if s.Type != "" {
		spec = append(spec, member{"rbac", g.shuffle(g.rbac(s))})
	}
	return g.header("MetricSource", s.Namespace, s.Name, spec)
}

func aggregation(a *Aggregation) object {
	body := object{{"name", a.Name}, {"function", a.Function}}
	if a.Field != "" {
		body = append(body, member{"field", a.Field})
	}
	if a.Function == "percentile" {
		body = append(body, member{"percentile", a.Percentile})
	}
	if a.GroupBy != "" {
		body = append(body, member{"groupBy", a.GroupBy})
	}
	if f := a.Filter; f != nil {
		body = append(body, member{"filter", object{{"field", f.Field}, {"operator", f.Operator}, {"value", f.Value}}})
	}
	return body
}

func (g *viewWriter) rbac(s *MetricSource) object {
	body := object{{"resourceTypeName", s.Type}, {"filterableFields", texts(s.Filterable)}}
	var identifiers object
	if s.NamespaceField != "" {
		identifiers = append(identifiers, member{"namespace", s.NamespaceField})
	}
	if s.NameField != "" {
		identifiers = append(identifiers, member{"name", s.NameField})
	}
	if identifiers != nil {
		body = append(body, member{"identifiers", identifiers})
	}
	if s.KeepTotals || g.once(4) {
		body = append(body, member{"filterAggregations", !s.KeepTotals})
	}
	return body
}
