package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/tables"
)

// Terms that all inputs share.
var (
	keyUser            = ast.StringTerm("user")
	keyGroups          = ast.StringTerm("groups")
	keyExtra           = ast.StringTerm("extra")
	keyVerb            = ast.StringTerm("verb")
	keyAPIGroup        = ast.StringTerm("apiGroup")
	keyResource        = ast.StringTerm("resource")
	keySubresource     = ast.StringTerm("subresource")
	keyNamespace       = ast.StringTerm("namespace")
	keyName            = ast.StringTerm("name")
	keyPath            = ast.StringTerm("path")
	keyCluster         = ast.StringTerm("cluster")
	keysScope          = list(tables.ScopeKeys()).Value.(*ast.Array)
	keyFields          = ast.StringTerm("fields")
	keyLabels          = ast.StringTerm("labels")
	keyNamespaceLabels = ast.StringTerm("namespaceLabels")
	keyPod             = ast.StringTerm("pod")
	keyPodError        = ast.StringTerm("podError")
	keyAttributes      = ast.StringTerm("attributes")
	keyKind            = ast.StringTerm("kind")
	keyRule            = ast.StringTerm("rule")
	keyDeny            = ast.StringTerm("deny")
	keyRestrictions    = ast.StringTerm("restrictions")

	// keyEngine is the key of the engine's own input: null, which no JSON object can
	// have as a key.
	keyEngine = ast.NullTerm()
	keyHits   = ast.StringTerm("hits")
	keyForms  = ast.StringTerm("forms")
	keyWhoCan = ast.StringTerm("whoCan")
	empty     = ast.StringTerm("")
	noList    = ast.ArrayTerm()
	noObject  = ast.ObjectTerm()
	// freeHit stands for each hit without restrictions, which always holds.
	freeHit = ast.ArrayTerm(noObject, noObject, noObject)
)

// input returns OPA's input: the hits and, if a rule reads it, the request in its
// canonical form, which is whole.
func (v evaluation) input() (in ast.Value, whole bool, err error) {
	terms := make([]*ast.Term, len(v.hits))
	restricted := v.sendRequest
	for i, h := range v.hits {
		terms[i] = freeHit
		if h.Restrictions() != nil {
			restricted = true
			term, err := hitTerm(h)
			if err != nil {
				return nil, false, err
			}
			terms[i] = term
		}
	}
	found := [][2]*ast.Term{{keyHits, ast.ArrayTerm(terms...)}}
	if forms := formTerms(v.forms); forms != nil {
		found = append(found, [2]*ast.Term{keyForms, ast.ArrayTerm(forms...)})
	}
	if v.sendRequest && len(v.lent.valid) > 0 && !v.leaveSessions { // deny policies alone read them
		found = append(found, [2]*ast.Term{keySessions, sessionTerms(v.lent.valid)})
	}
	if v.request.IsAlone() && v.request.Pod == nil {
		found = append(found, [2]*ast.Term{keyWhoCan, ast.InternedTerm(true)})
	}
	pairs := [][2]*ast.Term{{keyEngine, ast.ObjectTerm(found...)}}
	if !restricted {
		return ast.NewObject(pairs...), false, nil
	}
	canonical, err := request(v.request)
	if err != nil {
		return nil, false, err
	}
	return ast.NewObject(append(pairs, canonical...)...), true, nil
}

// hitTerm returns [binding, role, rule] with the fields that Rego reads.
func hitTerm(h match.Hit) (*ast.Term, error) {
	text, err := json.Marshal(h.Restrictions())
	if err != nil {
		return nil, fmt.Errorf("read the restrictions of %s: %w", h.Role().Source, err)
	}
	restrictions, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the restrictions of %s: %w", h.Role().Source, err)
	}
	number, _ := h.Number()
	return ast.ArrayTerm(
		ast.ObjectTerm(
			[2]*ast.Term{keyKind, ast.StringTerm(h.Binding.Kind)},
			[2]*ast.Term{keyNamespace, ast.StringTerm(h.Binding.Namespace)},
			[2]*ast.Term{keyName, ast.StringTerm(h.Binding.Name)},
			[2]*ast.Term{keyAPIVersion, ast.StringTerm(h.Binding.APIVersion)},
			[2]*ast.Term{keyCluster, ast.InternedTerm(h.Binding.Cluster)},
		),
		noObject,
		ast.ObjectTerm(
			[2]*ast.Term{keyRule, ast.InternedTerm(number)},
			[2]*ast.Term{keyDeny, ast.InternedTerm(h.Deny())},
			[2]*ast.Term{keyRestrictions, ast.NewTerm(restrictions)},
		),
	), nil
}

// request returns the members of the canonical request, as writ.access.request defines
// it: all strings, groups, extra and attributes; other members if they are known.
func request(r *decision.Request) ([][2]*ast.Term, error) {
	pairs := [][2]*ast.Term{
		{keyUser, text(r.User)}, {keyVerb, text(r.Verb)}, {keyAPIGroup, text(r.APIGroup)},
		{keyResource, text(r.Resource)}, {keySubresource, text(r.Subresource)},
		{keyNamespace, text(r.Namespace)}, {keyName, text(r.Name)}, {keyPath, text(r.Path)},
		{keyPodError, text(r.PodError)}, {keyGroups, list(r.Groups)}, {keyExtra, object(r.Extra, list)},
	}
	scope := r.Scope()
	for i := range tables.ScopeAttributes {
		pairs = append(pairs, [2]*ast.Term{keysScope.Elem(i), text(*scope.At(i))})
	}
	if r.Fields != nil {
		pairs = append(pairs, [2]*ast.Term{keyFields, list(r.Fields)})
	}
	if r.Labels != nil {
		pairs = append(pairs, [2]*ast.Term{keyLabels, object(r.Labels, text)})
	}
	if r.NamespaceLabels != nil {
		pairs = append(pairs, [2]*ast.Term{keyNamespaceLabels, object(r.NamespaceLabels, text)})
	}
	if r.Pod != nil {
		pod, err := value(r.Pod)
		if err != nil {
			return nil, fmt.Errorf("read the pod: %w", err)
		}
		pairs = append(pairs, [2]*ast.Term{keyPod, pod})
	}
	attributes, err := value(r.Attributes)
	if err != nil {
		return nil, fmt.Errorf("read the attributes: %w", err)
	}
	return append(pairs, [2]*ast.Term{keyAttributes, attributes}), nil
}

func text(s string) *ast.Term {
	if s == "" {
		return empty
	}
	return ast.StringTerm(s)
}

func list(items []string) *ast.Term {
	if len(items) == 0 {
		return noList
	}
	terms := elements.Map(items, text)
	return ast.ArrayTerm(terms...)
}

func object[V any](entries map[string]V, term func(V) *ast.Term) *ast.Term {
	if len(entries) == 0 {
		return noObject
	}
	pairs := make([][2]*ast.Term, 0, len(entries))
	for key, value := range entries {
		pairs = append(pairs, [2]*ast.Term{text(key), term(value)})
	}
	return ast.ObjectTerm(pairs...)
}

// value converts a JSON object to a term. It returns an error if a value has a type
// that JSON does not have.
func value(entries map[string]any) (*ast.Term, error) {
	if len(entries) == 0 {
		return noObject, nil
	}
	v, err := ast.InterfaceToValue(entries)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(v), nil
}

// formTerms are the forms of a request except the request as written, as
// rego/writ/access/request/forms.rego defines them. Most requests have none.
func formTerms(f match.Forms) []*ast.Term {
	if len(f.Spellings)*len(f.Resources) <= 1 {
		return nil
	}
	var terms []*ast.Term
	for _, s := range f.Spellings {
		for _, resource := range f.Resources {
			terms = append(terms, ast.ArrayTerm(text(s.Verb), text(s.Subresource), text(resource)))
		}
	}
	return terms[1:] // the first one is as written
}
