package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/lower"
)

// words are the keys of every input, made once.
type words struct {
	user, groups, extra, verb, apiGroup, resource, subresource, namespace, name, path,
	cluster, tenant, session, escalation, fields, labels, namespaceLabels, pod, podError, attributes *ast.Term
	keys, verbs, resources, originVerbs, originKinds, carried *ast.Term
	derived, star, empty, noList, noObject                    *ast.Term
	allOfIt                                                   *ast.Term
}

func newWords() *words {
	text := ast.StringTerm
	return &words{
		user: text("user"), groups: text("groups"), extra: text("extra"), verb: text("verb"),
		apiGroup: text("apiGroup"), resource: text("resource"), subresource: text("subresource"),
		namespace: text("namespace"), name: text("name"), path: text("path"), cluster: text("cluster"),
		tenant: text("tenant"), session: text("session"), escalation: text("escalation"),
		fields: text("fields"), labels: text("labels"), namespaceLabels: text("namespaceLabels"),
		pod: text("pod"), podError: text("podError"), attributes: text("attributes"),
		keys: text("keys"), verbs: text("verbs"), resources: text("resources"),
		originVerbs: text("originVerbs"), originKinds: text("originKinds"), carried: text("carried"),
		// A number as a key is what makes the derived input unforgeable.
		derived: ast.InternedTerm(0),
		star:    text("*"), empty: text(""), noList: ast.ArrayTerm(), noObject: ast.ObjectTerm(),
		allOfIt: ast.ArrayTerm(null),
	}
}

// input is the canonical request as OPA's value, with what the library would
// otherwise derive from it. It must agree with rego/writ/access/request.
func (w *words) input(r *decision.Request) (ast.Value, error) {
	pairs := make([][2]*ast.Term, 0, 21)
	add := func(key, value *ast.Term) { pairs = append(pairs, [2]*ast.Term{key, value}) }
	add(w.user, w.text(r.User))
	add(w.verb, w.text(r.Verb))
	add(w.apiGroup, w.text(r.APIGroup))
	add(w.resource, w.text(r.Resource))
	add(w.subresource, w.text(r.Subresource))
	add(w.namespace, w.text(r.Namespace))
	add(w.name, w.text(r.Name))
	add(w.path, w.text(r.Path))
	add(w.cluster, w.text(r.Cluster))
	add(w.tenant, w.text(r.Tenant))
	add(w.session, w.text(r.Session))
	add(w.escalation, w.text(r.Escalation))
	add(w.podError, w.text(r.PodError))
	add(w.groups, w.list(r.Groups))
	add(w.extra, w.lists(r.Extra))
	if r.Fields != nil {
		add(w.fields, w.list(r.Fields))
	}
	if r.Labels != nil {
		add(w.labels, w.object(r.Labels))
	}
	if r.NamespaceLabels != nil {
		add(w.namespaceLabels, w.object(r.NamespaceLabels))
	}
	if r.Pod != nil {
		pod, err := w.value(r.Pod)
		if err != nil {
			return nil, err
		}
		add(w.pod, pod)
	}
	attributes, err := w.value(r.Attributes)
	if err != nil {
		return nil, err
	}
	add(w.attributes, attributes)
	add(w.derived, w.lookup(r))
	return ast.NewObject(pairs...), nil
}

// lookup is what the rules look up for the request.
func (w *words) lookup(r *decision.Request) *ast.Term {
	verb := w.text(r.Verb)
	carried := lower.Carried(r.Verb, r.Subresource)
	return ast.ObjectTerm(
		[2]*ast.Term{w.keys, w.subjectKeys(r)},
		[2]*ast.Term{w.verbs, w.withStar(verb, r.Verb)},
		[2]*ast.Term{w.groups, w.withStar(w.text(r.APIGroup), r.APIGroup)},
		[2]*ast.Term{w.resources, w.resourceKeys(r)},
		[2]*ast.Term{w.carried, w.list(carried)},
		[2]*ast.Term{w.originVerbs, w.originVerbKeys(carried)},
		[2]*ast.Term{w.originKinds, w.originKindKeys(r)},
	)
}

// subjectKeys are [shard, scope, subject] for each place of the tree where the
// requester may be named.
func (w *words) subjectKeys(r *decision.Request) *ast.Term {
	keys := make([]*ast.Term, 0, 2*(len(r.Groups)+1))
	add := func(subject string) {
		text := ast.StringTerm(subject)
		keys = append(keys, ast.ArrayTerm(ast.InternedTerm(shardOf(clusterScope, subject)), null, text))
		if r.Namespace != "" {
			shard := ast.InternedTerm(shardOf(r.Namespace, subject))
			keys = append(keys, ast.ArrayTerm(shard, w.text(r.Namespace), text))
		}
	}
	if r.User != "" {
		add("user:" + r.User)
	}
	for _, group := range r.Groups {
		add("group:" + group)
	}
	return ast.ArrayTerm(keys...)
}

func (w *words) withStar(term *ast.Term, text string) *ast.Term {
	if text == "*" {
		return ast.ArrayTerm(w.star)
	}
	return ast.ArrayTerm(term, w.star)
}

// resourceKeys are the entries of Kubernetes rules that fit the resource, alone
// and, for rules with names, paired with the name.
func (w *words) resourceKeys(r *decision.Request) *ast.Term {
	entries := []*ast.Term{w.star}
	if full := fullResource(r); full != "*" {
		entries = append(entries, ast.StringTerm(full))
	}
	if r.Subresource != "" && r.Resource != "*" {
		entries = append(entries, ast.StringTerm("*/"+r.Subresource))
	}
	name := w.text(r.Name)
	for _, entry := range entries[:len(entries):len(entries)] {
		entries = append(entries, ast.ArrayTerm(entry, name))
	}
	return ast.ArrayTerm(entries...)
}

func fullResource(r *decision.Request) string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

func (w *words) originVerbKeys(carried []string) *ast.Term {
	if len(carried) == 1 && carried[0] == "*" {
		return w.allOfIt
	}
	return w.list(append(carried, "*"))
}

func (w *words) originKindKeys(r *decision.Request) *ast.Term {
	if r.Resource == "*" {
		return w.allOfIt
	}
	sub := strings.ToLower(r.Subresource)
	if verb := strings.ToLower(r.Verb); sub == "" && (verb == "exec" || verb == "proxy") {
		sub = verb
	}
	entries := []string{"*"}
	if sub != "" {
		entries = append(entries, "*/"+sub)
	}
	// A resource with a slash is no kind: it must not be taken for an entry's
	// subresource.
	if r.Resource != "" && !strings.Contains(r.Resource, "/") {
		for _, word := range lower.SameKinds(strings.ToLower(r.Resource)) {
			entries = append(entries, word)
			if sub != "" {
				entries = append(entries, word+"/"+sub)
			}
		}
	}
	return w.list(entries)
}

func (w *words) text(s string) *ast.Term {
	if s == "" {
		return w.empty
	}
	return ast.StringTerm(s)
}

func (w *words) list(items []string) *ast.Term {
	if len(items) == 0 {
		return w.noList
	}
	terms := make([]*ast.Term, len(items))
	for i, item := range items {
		terms[i] = w.text(item)
	}
	return ast.ArrayTerm(terms...)
}

func (w *words) lists(object map[string][]string) *ast.Term {
	if len(object) == 0 {
		return w.noObject
	}
	pairs := make([][2]*ast.Term, 0, len(object))
	for key, items := range object {
		pairs = append(pairs, [2]*ast.Term{w.text(key), w.list(items)})
	}
	return ast.ObjectTerm(pairs...)
}

func (w *words) object(object map[string]string) *ast.Term {
	if len(object) == 0 {
		return w.noObject
	}
	pairs := make([][2]*ast.Term, 0, len(object))
	for key, value := range object {
		pairs = append(pairs, [2]*ast.Term{w.text(key), w.text(value)})
	}
	return ast.ObjectTerm(pairs...)
}

// value is JSON's values as OPA's.
func (w *words) value(object map[string]any) (*ast.Term, error) {
	if len(object) == 0 {
		return w.noObject, nil
	}
	value, err := ast.InterfaceToValue(object)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(value), nil
}
