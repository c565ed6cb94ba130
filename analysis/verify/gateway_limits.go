package verify

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// limitedPath is a path with what limits its requests.
type limitedPath struct {
	target    string
	isLimited bool
	documents []Document
}

// proveLimited looks for a path of the class that no limit without a condition is in force
// on.
func (p *prover) proveLimited() (*proof, error) {
	before := make(map[string]bool) // the paths that the base does not limit
	if p.base != nil {
		for _, path := range p.base.limits() {
			before[path.target] = !path.isLimited
		}
	}
	for _, path := range p.limitedPaths(p.out) {
		if !path.isLimited && !before[path.target] {
			return &proof{witness: &Witness{In: inClass, Path: path.target, Requests: []WitnessRequest{}, responsible: path.documents}}, p.err
		}
	}
	return &proof{}, p.err
}

// limitedPaths returns the paths of the class, less some classes, in their order.
func (p *prover) limitedPaths(out []*assertion.Class) []limitedPath {
	reached := make(map[string]bool)
	if slices.ContainsFunc(slices.Concat(p.a.Of, out), func(c *assertion.Class) bool { return !isAboutPaths(c) }) {
		p.eachCrossing(out, func(x *crossing) bool {
			reached[x.targets[0]] = true
			return true
		})
	}
	return slices.DeleteFunc(p.all.limits(), func(path limitedPath) bool {
		listener, route, _ := strings.Cut(path.target, " > ")
		fits := func(c *assertion.Class) bool {
			return isAboutPaths(c) && fitsSection(c.Texts["gateway"], strings.TrimPrefix(listener, tables.KindGateway+"/")) && fitsSection(c.Texts["route"], route)
		}
		return !reached[path.target] && !slices.ContainsFunc(p.a.Of, fits) || slices.ContainsFunc(out, fits)
	})
}

// isAboutPaths reports whether a class has whole paths.
func isAboutPaths(c *assertion.Class) bool {
	for key := range c.Texts {
		if key != "gateway" && key != "route" {
			return false
		}
	}
	return len(c.Labels) == 0
}

// limits returns the paths of a world.
func (w *world) limits() []limitedPath {
	g := w.gateway()
	var out []limitedPath
	for _, path := range g.Paths {
		route := &g.Routes[path.Route]
		rule := &route.Rules[path.Rule]
		one := limitedPath{target: g.PathName(path)}
		one.documents = append(one.documents, Document{route.Kind, route.Namespace, route.Name, rule.Name, rule.Source})
		if e, ok := path.Effective[tables.KindRateLimitPolicy]; ok {
			one.isLimited = isLimited(g.Effective[e].Rules)
			for _, r := range g.Effective[e].Replaced {
				if strings.HasPrefix(r.Rule, limitPrefix) {
					place := (&tables.NamedRule{Policy: r.Policy, Key: r.Rule, Source: r.Source}).Place()
					one.documents = append(one.documents, Document{place.Kind, place.Namespace, place.Name, place.Rule, place.Source})
				}
			}
		}
		out = append(out, one)
	}
	return out
}

const limitPrefix = "limits."

// isLimited reports whether rules have a limit without a condition.
func isLimited(rules []tables.EffectiveRule) bool {
	has := false
	for i := range rules {
		value, _ := rules[i].Value.(map[string]any)
		when, _ := value["when"].([]any)
		switch {
		case rules[i].Key == "when":
			return false
		case strings.HasPrefix(rules[i].Key, limitPrefix):
			has = has || len(when) == 0
		}
	}
	return has
}
