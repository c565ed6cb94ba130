package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// Forms are the request in every spelling that deny policies are matched against, the
// request as written first: all combinations of its verbs, resources and subresources.
func Forms(r oracle.Request) []oracle.Request {
	type action struct{ verb, subresource string }
	var actions []action
	for _, verb := range []string{r.Verb, strings.ToLower(r.Verb)} {
		for _, subresource := range []string{r.Subresource, strings.ToLower(r.Subresource)} {
			actions = append(actions, action{verb, subresource})
		}
	}
	if verb := strings.ToLower(r.Verb); r.Subresource == "" && (verb == "exec" || verb == "proxy") {
		actions = append(actions, action{r.Verb, verb}, action{verb, verb})
		if verb == "exec" {
			actions = append(actions, action{"create", verb})
		}
	}
	var forms []oracle.Request
	for _, a := range actions {
		for _, resource := range append([]string{r.Resource}, kinds(r.Resource)...) {
			form := r
			form.Verb, form.Subresource, form.Resource = a.verb, a.subresource, resource
			forms = append(forms, form)
		}
	}
	return forms
}

// kinds are the lower-case words of the same kind. A word that has this one as its
// plural is at most three letters shorter, and may end in y.
func kinds(resource string) []string {
	if resource == "" {
		return nil // of a path
	}
	word := strings.ToLower(resource)
	candidates := []string{word, oracle.Plural(word)}
	for cut := 1; cut <= 3 && cut < len(word); cut++ {
		candidates = append(candidates, word[:len(word)-cut], word[:len(word)-cut]+"y")
	}
	return slices.DeleteFunc(candidates, func(other string) bool { return !oracle.SameKind(word, other) })
}
