package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
)

// askDenyResources are the resources that deny policies name, by the lower-case words
// for the same kind. The document is undefined if none is named.
const askDenyResources = "data.compiled.deny_resources.named"

// otherForms are the forms of a request except the request as written, as
// rego/writ/access/request/forms.rego defines them. Most requests have none.
func otherForms(r *decision.Request, named map[string][]string) []match.Form {
	if r.Path != "" {
		if verb := strings.ToLower(r.Verb); verb != r.Verb {
			return []match.Form{{Verb: verb}}
		}
		return nil
	}
	written := match.Form{Verb: r.Verb, Subresource: r.Subresource, Resource: r.Resource}
	var forms []match.Form
	add := func(verb, subresource string) {
		for _, resource := range append([]string{r.Resource}, named[strings.ToLower(r.Resource)]...) {
			f := match.Form{Verb: verb, Subresource: subresource, Resource: resource}
			if f != written && !slices.Contains(forms, f) {
				forms = append(forms, f)
			}
		}
	}
	verb, subresource := strings.ToLower(r.Verb), strings.ToLower(r.Subresource)
	add(r.Verb, r.Subresource)
	add(r.Verb, subresource)
	add(verb, r.Subresource)
	add(verb, subresource)
	if r.Subresource == "" && (verb == "exec" || verb == "proxy") {
		add(r.Verb, verb)
		add(verb, verb)
		if verb == "exec" {
			add("create", verb)
		}
	}
	return forms
}

// formTerms are forms as the library reads them.
func formTerms(forms []match.Form) *ast.Term {
	terms := make([]*ast.Term, len(forms))
	for i, f := range forms {
		terms[i] = ast.ArrayTerm(text(f.Verb), text(f.Subresource), text(f.Resource))
	}
	return ast.ArrayTerm(terms...)
}

// denyResources reads askDenyResources from compiled modules.
func denyResources(ctx context.Context, compiler *ast.Compiler) (map[string][]string, error) {
	result, err := rego.New(rego.Query(askDenyResources), rego.Compiler(compiler)).Eval(ctx)
	if err != nil || len(result) == 0 {
		return nil, err
	}
	value, err := ast.InterfaceToValue(result[0].Expressions[0].Value)
	if err != nil {
		return nil, err
	}
	var named map[string][]string
	if err := readTerm(value, &named); err != nil {
		return nil, fmt.Errorf("read %s: %w", askDenyResources, err)
	}
	return named, nil
}
