package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// warnOfSlips warns about verbs and resources that are spelt almost like one that
// Kubernetes has. It cannot know custom ones, so words that are far from all are fine.
func warnOfSlips(d *syntax.Decoder, r *KubernetesRule, verbs, resources []*syntax.Node) {
	known := vocabulary.Verbs
	if len(r.Paths) > 0 {
		known = vocabulary.URLVerbs
	}
	for _, n := range verbs {
		d.Examples(n, vocabulary.URLVerbs)
		if strings.Contains(n.Value, "*") || slices.Contains(known, n.Value) {
			continue
		}
		if near := vocabulary.Near(n.Value, known); near != "" {
			d.Warn(n, diag.UnknownVerb, "did you mean "+syntax.Quote(near)+"?", "Kubernetes does not know the verb %s", syntax.Quote(n.Value))
		}
	}
	builtin := vocabulary.Served(r.Groups)
	for _, n := range resources {
		resource, _, _ := strings.Cut(n.Value, "/")
		if strings.Contains(resource, "*") || slices.Contains(builtin, resource) {
			continue
		}
		near := vocabulary.NearResource(resource, builtin)
		switch {
		case near != "":
			d.Warn(n, diag.UnknownResource, "did you mean "+syntax.Quote(near)+"?", "no API group of the rule has the resource %s in Kubernetes", syntax.Quote(resource))
		case resource != strings.ToLower(resource):
			d.Warn(n, diag.UnknownResource, "write the plural in lower case, as in the URL of the API",
				"resource %s has capitals: no request has it", syntax.Quote(resource))
		}
	}
}
